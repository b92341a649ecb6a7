/**
 * What a refusal that was reported later says: why it came, and whether it is good enough a reason never to
 * write to the address again (docs/reference/suppressions.md#bounces). The rule: doubt never suppresses.
 */
import { ADDRESS_CODES, ADDRESS_HINT, GENERAL_CODE } from './address-evidence.ts'
import {
  type AddressSaying,
  readSentences,
  saysItPasses,
  speaksOfMore,
} from './address-sentence.ts'
import { isKnownWord } from './beside-address.ts'
import { type Classified, evidenceOf, wordsOf } from './classified.ts'
import { findCategory } from './classify-reply.ts'
import type { FailureCategory } from './failure-category.ts'
import { namesAnother } from './other-recipients.ts'
import { type ReplyFacts, readReply } from './reply-text.ts'

export interface Refusal {
  /** Whom it is about, where that is known. */
  readonly recipient: string | undefined
  /** Status of a delivery report (RFC 3464 §2.3.4), or what a provider gives for it. */
  readonly status: string | undefined
  /** The reply, with or without its code, or the words of the report. */
  readonly diagnostic: string
  /** A relay provider's own name for an address that is wrong, where it calls this one so. */
  readonly providerSays?: string | undefined
}

export interface BounceVerdict {
  /** For good, and about the address: it is to be suppressed. */
  readonly isOfAddress: boolean
  /** It says, or may say, that something else is wrong; false where it says nothing that is known. */
  readonly isOtherwise: boolean
  readonly classified: Classified
}

interface Read {
  readonly facts: ReplyFacts
  /** All that are of class 5 in status and text. */
  readonly codes: readonly string[]
  readonly isTemporary: boolean
  readonly category: FailureCategory
  /** What the words alone mean. */
  readonly byWords: FailureCategory
  readonly saying: AddressSaying | undefined
  readonly isContrary: boolean
  readonly providerSays: string | undefined
}

export interface EvidenceStep {
  readonly says: string
  readonly verdict: 'suppresses' | 'soft' | 'doubt'
  readonly source: string
  readonly find: (read: Read) => Classified | undefined
}

/** What decides on a suppression, the strongest first. docs/failed-reasons.md is made from it. */
export const EVIDENCE_ORDER: readonly EvidenceStep[] = [
  {
    says: 'A 4yz reply code or a 4.x.x enhanced code anywhere, or words that say that it is temporary',
    verdict: 'soft',
    source: 'RFC 5321 §4.2.1, RFC 3463 §2',
    find: (read) => (read.isTemporary ? otherwise(read) : undefined),
  },
  {
    says: 'A specific enhanced code about anything but the address, whatever the words say: 5.2.2, 5.3.4, 5.7.1, …',
    verdict: 'soft',
    source: 'RFC 3463 §3.3 to §3.8',
    find(read) {
      const isOther = read.codes.some((one) => isSpecific(one) && !isOfAddress(one))
      return isOther ? otherwise(read) : undefined
    },
  },
  {
    says: 'Words that are known for another cause: sender, IP address, content, policy, size, rate',
    verdict: 'soft',
    source: 'replies of real servers',
    find(read) {
      const hints = ADDRESS_HINT.test(read.facts.enhanced ?? '')
      return hints || OF_ADDRESS_OR_UNKNOWN.has(read.byWords)
        ? undefined
        : otherwise(read, read.byWords)
    },
  },
  {
    says: "Words about sender, IP address, content, policy, size, time or the state of a server. Or an address or a missing domain that is not the recipient's. Beside a code about the address, some broad words do not count",
    verdict: 'doubt',
    source: 'replies of real servers',
    find: (read) => (read.isContrary ? otherwise(read) : undefined),
  },
  {
    says: 'An enhanced code about the address',
    verdict: 'suppresses',
    source: 'the table below',
    find({ codes, category }) {
      const found = ADDRESS_CODES.find(({ code }) => codes.includes(code))
      if (found === undefined) return undefined
      return {
        category: OF_ADDRESS.has(category) ? category : found.is,
        by: 'enhanced_code',
        evidence: found.code,
      }
    },
  },
  {
    says: 'Words that say that the recipient is unknown or disabled, or that its domain does not exist, with no enhanced code or a general one (5.0.0, 5.1.0)',
    verdict: 'suppresses',
    source:
      'RFC 3464 §2.3.6, RFC 6522 §3; words of Gmail, Exchange Online, Yahoo, Postfix, Exim, qmail',
    find: ({ saying, category }) =>
      saying && {
        category: OF_ADDRESS.has(category) ? category : saying.is,
        by: 'words',
        evidence: saying.said,
      },
  },
  {
    says: 'The verdict "Invalid Recipient" (SparkPost) or "Invalid Address" (SendGrid) of a relay provider, if the meaning of the reply is unknown',
    verdict: 'suppresses',
    source: 'SparkPost bounce classification codes, SendGrid bounce classifications',
    find: ({ providerSays, category }) =>
      providerSays === undefined
        ? undefined
        : {
            category: OF_ADDRESS.has(category) ? category : 'invalid_recipient',
            by: 'words',
            evidence: providerSays,
          },
  },
  {
    says: 'Anything else: a reply code alone (550 means a missing mailbox or a policy), unknown words, no words',
    verdict: 'doubt',
    source: 'RFC 5321 §4.2.3',
    find: (read) => otherwise(read),
  },
]

const OF_ADDRESS: ReadonlySet<FailureCategory> = new Set([
  'invalid_recipient',
  'invalid_recipient_domain',
  'mailbox_disabled',
])
const OF_ADDRESS_OR_UNKNOWN: ReadonlySet<FailureCategory> = new Set([...OF_ADDRESS, 'unknown'])

export function judgeBounce(refusal: Refusal): BounceVerdict {
  const read = readRefusal(refusal)
  for (const { verdict, find } of EVIDENCE_ORDER) {
    const classified = find(read)
    if (classified !== undefined)
      return {
        isOfAddress: verdict === 'suppresses',
        isOtherwise: verdict === 'soft',
        classified,
      }
  }
  throw new Error('the last step decides on everything')
}

const ALL_CODES = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.]*\d)/g
const REPLY_CODE = /(?<![\w.[#])([45]\d\d)(?=$|[\s:-])/
/**
 * At the place of a code: `user 450 does not exist` and `see 4.1.2 of the guide` have none, and neither has the end of
 * Gmail's `17si5697335qks.415`.
 */
const TEMPORARY_CODE =
  /(?:^|[:;,([<"'|>=-]\s{0,3}|\.\s{1,3}|(?<=\b[a-z]{1,20})\.|\b(?:said|says|error|code|reply|response|replied|status|with|smtp|was|last|got|returned|and|or) )4\d\d(?=$|[\s,:;)-])|(?<![\d.]|\b(?:see|section|version|rfc|rule|chapter) )4\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/i
const TEXT_CHARS_MAX = 1_024
/** What the server that reports adds to the words of the one that refused. */
const ADDED = [
  /\bgiving up on \S{1,100}|\(in reply to [^()]{1,60}\)|\brelay=\S{1,100}|\brfc822;|\(delivery attempts: \d{1,9}\)/gi,
  /[([] ?(?:(?:session|transaction|message|request|queue|error) )?id ?[:=#] ?[\w.:=-]{1,80}(?: ?\([^()]{0,80}\))? ?[)\]]/gi,
  /\bthe mts-id of the original message is: [^()]{1,200}(?:\([\da-f]{8}\)(?: refused)?|$)|\bmsexch:im[sc]:[^()]{1,200}(?:\([\da-f]{8}\)(?: refused)?|$)|\bmsexch:\S{1,200} \d{1,3} \([\da-f]{8}\)(?: refused)?|\bmessage contains \[\d{1,6}\] file attachments/gi,
  /\b(?:smtp )?error from remote (?:mail )?server after rcpt (?:command|to)\b:?(?:<[^<>]{0,320}>:?)?/gi,
  /\b(?:host|(?<!\bname )server):? (?=[\w-]{0,63}\.)[\w.-]{1,255}(?: ?\[[\da-f.:]{2,45}\])?:?|(?<![\w.@-])(?:[\w-]{1,63}\.){1,8}[a-z][\w-]{1,62} ?\[[\da-f.:]{2,45}\]|(?<=\bhost )[\d.]{7,15}(?=:)|^\s{0,20}\[[\d.]{7,15}\],|[\d.]{7,15} (?:does not like recipient|failed after i sent the message)\.|\bfailed recipient\(s\):/gi,
]

function readRefusal({ recipient, status = '', diagnostic, providerSays }: Refusal): Read {
  const text = withRecipient(withoutAdded(diagnostic.slice(0, TEXT_CHARS_MAX)), recipient)
  const said = REPLY_CODE.exec(text)
  const code = Number(said?.[1] ?? 0)
  const words = said === null ? text : text.slice(said.index + 3)
  const given = {
    code,
    text: said === null ? text : `${code} ${words.replace(/^[\s#:-]+/, '')}`,
  }
  const reply = readReply(given)
  const inText = [...text.matchAll(ALL_CODES)].map(([one]) => one)
  const codes = [...inText, status].filter((one) => one.startsWith('5.'))
  // What is specific says more than what is general, and the reply is nearer to it than the status.
  const enhanced = codes.find(isSpecific) ?? reply.enhanced ?? codes[0]
  const isTemporary =
    status.startsWith('4') || TEMPORARY_CODE.test(text) || saysItPasses(reply.words)
  const facts = {
    ...reply,
    enhanced: isTemporary && status.startsWith('4') ? status : enhanced,
  }
  const ofAnother = namesAnother(text, recipient)
  const { saying: clean, ...sentences } = readSentences(reply)
  const saying = ofAnother ? undefined : clean
  const hasCode = codes.some(isOfAddress)
  const isContrary = ofAnother || (hasCode ? sentences.isContraryToCode : sentences.isContrary)
  const category = categoryOf(facts, isTemporary, saying)
  // Of the syntax of the address, where a code says so; 501 says only that there is something wrong with it.
  const ofWords = hasCode && code === SYNTAX_ERROR ? SOME_5YZ : code
  const byWords = categoryOf({ ...facts, code: ofWords, enhanced: undefined }, isTemporary, saying)
  return { facts, codes, isTemporary, category, byWords, saying, isContrary, providerSays }
}

/** `cy wasn't found at example.net` names its recipient in two words, `user cy unknown` in one. */
function withRecipient(text: string, recipient: string | undefined): string {
  const [, local, domain] = /^([^@]{1,64})@([^@]{1,255})$/.exec(recipient ?? '') ?? []
  if (recipient === undefined || local === undefined || domain === undefined) return text
  const [name, place] = [local, domain].map((one) => one.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&'))
  const named = `(?<![^\\s>"'(])${name}(?=\\s[^@]{0,40}[\\s(]${place}(?![\\w-]))`
  const called = `(?<=\\b(?:user|mail ?box|account|recipient|alias|user ?name)[ :]{1,2}["'(<]?)${name}(?=["')>]?(?:[\\s.,:;]|$))`
  const alone = isWord(local.toLowerCase())
    ? []
    : [
        `(?<=(?:^|[.;:!?>\\d] |\\b(?:for|to|of|by|called|named|know|who) )["'(<]?)${name}(?=["')>]?(?:$|[.,;:!?)]|\\s(?:is|was|has|does|did|cannot|can't|could|couldn't|isn't|doesn't|wasn't|left|moved|passed|died|retired|unknown|not|here|at|on|in|no)\\b))`,
      ]
  return text.replace(new RegExp([named, called, ...alone].join('|'), 'gi'), () => recipient)
}

/** Somebody who is called like a word of replies is not looked for in them: `sender@example.net`. */
function isWord(name: string): boolean {
  return isKnownWord(name) || speaksOfMore(name) || saysItPasses(name)
}

function withoutAdded(text: string): string {
  return ADDED.reduce((rest, added) => rest.replace(added, ' '), text)
}

/** Codes of no server, of a class each: words are told apart by it, and a code is never made up. */
const SOME_4YZ = 499
const SOME_5YZ = 599
/** RFC 5321 §4.2.3: in parameters. */
const SYNTAX_ERROR = 501

/** Without a reply code, what only sounds like an unknown recipient is not known. */
function categoryOf(
  facts: ReplyFacts,
  isTemporary: boolean,
  saying: AddressSaying | undefined,
): FailureCategory {
  if (facts.code !== 0) return findCategory(facts, 'rcpt')
  const givenUp = findCategory({ ...facts, code: SOME_5YZ }, 'rcpt')
  if (givenUp === 'expired') return givenUp
  const category = isTemporary ? findCategory({ ...facts, code: SOME_4YZ }, 'rcpt') : givenUp
  const isGuess = OF_ADDRESS.has(category) && saying === undefined && facts.enhanced === undefined
  return isGuess ? 'unknown' : category
}

function otherwise({ facts, isTemporary, ...read }: Read, category = read.category): Classified {
  if (facts.code !== 0) return evidenceOf(category, facts)
  const found = evidenceOf(category, { ...facts, code: isTemporary ? SOME_4YZ : SOME_5YZ })
  return found.by === 'reply_code' ? wordsOf(category, facts) : found
}

function isSpecific(code: string): boolean {
  return isOfAddress(code) || !GENERAL_CODE.test(code)
}

function isOfAddress(code: string): boolean {
  return ADDRESS_CODES.some((one) => one.code === code)
}

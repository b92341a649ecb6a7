/** Finds words that name the recipient as unknown or disabled, in a reply that is about nothing else. */
import { findAbsence } from './absence-sentence.ts'
import {
  ADDRESS_WORDS,
  AGAINST,
  AGAINST_WITHIN,
  HARMLESS,
  IP_ADDRESS,
  SAYS_DISABLED,
  WEAK_BESIDE_CODE,
  WILL_PASS,
} from './address-evidence.ts'
import { isPlainBeside } from './beside-address.ts'
import type { FailureCategory } from './failure-category.ts'
import type { ReplyFacts } from './reply-text.ts'

export interface AddressSaying {
  readonly is: FailureCategory
  readonly said: string
}

export interface ReadSentences {
  /** Undefined where there are no such words, and where anything in the reply makes them doubtful. */
  readonly saying: AddressSaying | undefined
  /** Something is said that speaks against the address as the cause. */
  readonly isContrary: boolean
  /** It speaks against a code about the address, too. */
  readonly isContraryToCode: boolean
}

const AGAINST_ANY = Object.values(AGAINST)
/** Their patterns are long: each is compiled once, for replacing and for finding. */
const ADDRESS_WORDS_ALL = ADDRESS_WORDS.map((one) => ({
  ...one,
  all: new RegExp(one.words, `${one.words.flags}g`),
}))
/** RFC 5321 §4.2.3: `exceeded storage allocation`. */
const MAILBOX_FULL = 552
/** RFC 5321 §4.2.3: in parameters. The domain may be the sender's, or the one of HELO. */
const SYNTAX_ERROR = 501
/** In the place of words about a recipient; no reply has a reason to have it. */
const MARK = '\u0001'
const LETTER = /\p{L}/u

export function readSentences({
  sentences,
  code,
}: Pick<ReplyFacts, 'sentences' | 'code'>): ReadSentences {
  const cleared = HARMLESS.reduce((rest, harmless) => rest.replace(harmless, ' '), sentences)
  const known = ADDRESS_WORDS_ALL.filter(({ is, needsReply, isReporters }) => {
    if (code === 0) return needsReply !== true
    if (code === SYNTAX_ERROR && is === 'invalid_recipient_domain') return false
    return isReporters !== true && !(needsReply && code === MAILBOX_FULL)
  })
  const rest = known.reduce((left, { all }) => left.replace(all, ' '), cleared)
  const withoutIp = rest.replace(IP_ADDRESS, ' ')
  const isWithin = AGAINST_WITHIN.test(cleared)
  const isContrary = isWithin || speaksOfMore(withoutIp)
  const isContraryToCode =
    isWithin ||
    (isContrary &&
      speaksOfMore(WEAK_BESIDE_CODE.reduce((left, weak) => left.replace(weak, ' '), withoutIp)))
  const isClean = !isContrary && !speaksOfMore(rest) && !isOfLogin(code)
  const isAlone = !LETTER.test(rest.replace(/\baddress\b/g, ' '))
  const isAny = rest !== cleared
  const isPlain = isClean && isAny && isPlainBeside(markedOf(cleared, known), MARK)
  for (const { is, all, isAll } of isPlain ? known : []) {
    const found = isAll === true && !isAlone ? null : findFirst(all, cleared)
    if (found !== null) {
      const said = found[0].trim()
      return { saying: { is: kindOf(is, said), said }, isContrary, isContraryToCode }
    }
  }
  const absence = isClean ? findAbsence(cleared) : undefined
  const saying =
    absence === undefined ? undefined : ({ is: 'invalid_recipient', said: absence } as const)
  return { saying, isContrary, isContraryToCode }
}

/** Not of what has to be alone. */
function markedOf(cleared: string, known: typeof ADDRESS_WORDS_ALL): string {
  return known.reduce(
    (left, { all, isAll }) =>
      left.replace(all, (words) => {
        if (isAll) return ' '
        return /\b(?:called|named)$/.test(words) ? ` ${MARK} named` : ` ${MARK} `
      }),
    cleared,
  )
}

/** Of a global pattern, which goes on where it last was. */
function findFirst(pattern: RegExp, text: string): RegExpExecArray | null {
  pattern.lastIndex = 0
  return pattern.exec(text)
}

function kindOf(is: FailureCategory, said: string): FailureCategory {
  return is === 'invalid_recipient' && SAYS_DISABLED.test(said) ? 'mailbox_disabled' : is
}

/** RFC 4954 §6: the account is the sender's. */
function isOfLogin(code: number): boolean {
  return code >= 530 && code <= 538
}

/** Of sender, IP address, content, policy, size, time or the state of a server. */
export function speaksOfMore(words: string): boolean {
  return AGAINST_ANY.some((against) => against.test(words))
}

export function saysItPasses(words: string): boolean {
  return WILL_PASS.test(words)
}

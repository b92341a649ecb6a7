/**
 * Turns a failed SMTP conversation into what it means and what may follow
 * (docs/reference/sending.md#retries).
 *
 * CATEGORY_ORDER says what counts more; without a reply the system's error decides. The class of the
 * reply decides on retrying (4yz yes, 5yz no) unless the category is known not to follow it. A reply that
 * nothing here knows is `unknown` and its own text is the reason.
 */
import { readSentences, speaksOfMore } from './address-sentence.ts'
import { isMatch } from './classified.ts'
import { FAILURES, type FailureCategory, failedReasonOf } from './failure-category.ts'
import { namedWaitMs } from './named-wait.ts'
import { AUTH_RULES, CODE_RULES, type ReplyRule, TEXT_RULES } from './reply-table.ts'
import { type ReplyFacts, readReply } from './reply-text.ts'
import type { SmtpFailure, SmtpReply, SmtpStage } from './smtp/failure.ts'
import { categoryOfSystemError, isOwnRefusal } from './system-errors.ts'

const PROVIDER_ERROR_CHARS_MAX = 4_096
const GREYLIST_WAIT_MS = 300_000

export interface Classification {
  readonly category: FailureCategory
  readonly retryable: boolean
  /**
   * The server rejected the mailer's own login, in answer to AUTH or by demanding one at MAIL:
   * grounds for deactivating it, once a second try has heard the same.
   */
  readonly authRejected: boolean
  /** A second try in a while would only hear the same: no need for one before deactivating. */
  readonly cannotHealByWaiting: boolean
  /** What the server asks for, or its kind of refusal. */
  readonly retryAfterMsMin?: number
  /** The category's sentence; for `unknown` the raw text. */
  readonly failedReason: string
  /** The server's reply as received, else the system's error text; fit to be stored. */
  readonly providerError: string
}

/** A failure as the session reports it; without a stage, one is derived from the reply. */
export type ClassifiableFailure = Omit<SmtpFailure, 'stage'> & { readonly stage?: SmtpStage }

export function classifyFailure(failure: ClassifiableFailure): Classification {
  const { reply } = failure
  const providerError = storable(reply?.text ?? failure.message ?? failure.systemCode ?? '')
  if (reply === undefined) {
    const category = categoryOfSystemError(failure)
    const isHopeless = category === 'host_not_found' && failure.hostEverWorked === false
    const retryable = !isHopeless && !isOwnRefusal(failure) && canRetry(category)
    return conclude(category, { retryable, providerError })
  }
  const facts = readReply(reply)
  const stage = stageOf(failure, facts)
  const found = findRule(facts, stage)
  const retryable = found.retry === undefined ? canRetry(found.is, reply) : found.retry === 'always'
  const cannotHealByWaiting = found.cannotHealByWaiting === true
  const authRejected = REJECTED_LOGIN.has(found.is) && isOfLogin(stage)
  const waitMs = namedWaitMs(facts.words)
  return conclude(found.is, {
    retryable,
    providerError,
    cannotHealByWaiting,
    authRejected,
    waitMs,
  })
}

function isOfLogin(stage: SmtpStage | undefined): boolean {
  return stage === undefined || stage === 'auth' || stage === 'mail'
}

function conclude(
  category: FailureCategory,
  o: {
    readonly retryable: boolean
    readonly providerError: string
    readonly cannotHealByWaiting?: boolean
    readonly waitMs?: number | undefined
    readonly authRejected?: boolean
  },
): Classification {
  const isUnknown = category === 'unknown' && o.providerError !== ''
  const waitMs = o.waitMs ?? (category === 'greylisted' ? GREYLIST_WAIT_MS : undefined)
  return {
    category,
    retryable: o.retryable,
    authRejected: o.authRejected === true,
    cannotHealByWaiting: o.cannotHealByWaiting === true,
    ...(waitMs !== undefined && o.retryable ? { retryAfterMsMin: waitMs } : {}),
    failedReason: isUnknown ? o.providerError : failedReasonOf(category),
    providerError: o.providerError,
  }
}

const REJECTED_LOGIN: ReadonlySet<FailureCategory> = new Set([
  'auth_rejected',
  'auth_required',
  'sender_not_authorized',
])

function canRetry(category: FailureCategory, reply?: SmtpReply): boolean {
  const { retry } = FAILURES[category]
  return retry === 'by-class' ? reply === undefined || reply.code < 500 : retry === 'always'
}

interface Asked {
  readonly facts: ReplyFacts
  readonly stage: SmtpStage | undefined
  readonly byText: ReplyRule | undefined
}

interface CategoryStep {
  readonly says: string
  readonly source: string
  readonly find: (asked: Asked) => ReplyRule | undefined
}

/** What decides on the category of a reply, the strongest first. docs/failed-reasons.md is made from it. */
export const CATEGORY_ORDER: readonly CategoryStep[] = [
  {
    says: 'In answer to a login: the words about logins, otherwise the class of the reply',
    source: 'RFC 4954 §6',
    find: ({ facts, stage }) =>
      stage === 'auth'
        ? (AUTH_RULES.find((rule) => isMatch(rule, facts)) ?? {
            is: facts.code < 500 ? 'auth_temporary' : 'auth_rejected',
          })
        : undefined,
  },
  {
    says: 'The step of the conversation, if it gives the words another meaning',
    source: 'RFC 5321 §4.3.2',
    find: ({ facts, stage, byText }) => byStage(facts, stage, byText),
  },
  {
    says: 'A specific enhanced code, if it contradicts words that blame the recipient. Many servers use 5.7.z for every refusal, so it counts only if the words also mention sender, IP address, content, policy, size or time',
    source: 'RFC 3463 §3.3 to §3.8',
    find: ({ facts, byText }) =>
      byText !== undefined && OF_RECIPIENT.has(byText.is)
        ? otherThanRecipient(facts, byText)
        : undefined,
  },
  {
    says: 'Known words, because servers use codes loosely. A sentence that would suppress the recipient in a bounce counts more than `refused`',
    source: 'replies of real servers',
    find: ({ byText }) => byText,
  },
  {
    says: 'The enhanced code, then the reply code',
    source: 'RFC 3463 §3, RFC 5321 §4.2.3',
    find: ({ facts }) => CODE_RULES.find((rule) => isMatch(rule, facts)),
  },
]

/** Of facts alone, for reports of what another server was told. */
export function findCategory(facts: ReplyFacts, stage: SmtpStage | undefined): FailureCategory {
  return findRule(facts, stage).is
}

function findRule(facts: ReplyFacts, stage: SmtpStage | undefined): ReplyRule {
  const byText = stage === 'auth' ? undefined : findByText(facts)
  for (const { find } of CATEGORY_ORDER) {
    const found = find({ facts, stage, byText })
    if (found !== undefined) return found
  }
  return { is: 'unknown' }
}

/** `refused` and `not accepted` say less than a sentence about the recipient and nothing else. */
function findByText(facts: ReplyFacts): ReplyRule | undefined {
  const found = TEXT_RULES.find((rule) => isMatch(rule, facts))
  if (found !== undefined && found.is !== 'blocked_policy') return found
  return readSentences(facts).saying ?? found
}

const OF_RECIPIENT: ReadonlySet<FailureCategory> = new Set([
  'invalid_recipient',
  'invalid_recipient_domain',
  'mailbox_disabled',
])

/** A permanent code only: after a 4yz reply the category changes nothing. */
function otherThanRecipient(facts: ReplyFacts, byText: ReplyRule): ReplyRule | undefined {
  const { enhanced } = facts
  if (enhanced === undefined || byText.enhanced !== undefined) return undefined
  if (!enhanced.startsWith('5.') || enhanced.endsWith('.0')) return undefined
  const byCode = CODE_RULES.find((rule) => rule.enhanced !== undefined && isMatch(rule, facts))
  if (byCode === undefined || OF_RECIPIENT.has(byCode.is)) return undefined
  const isClear = enhanced.startsWith('5.7.') && !speaksOfMore(facts.words)
  return isClear ? undefined : byCode
}

const ASKS_FOR_LOGIN =
  /auth\w* (is )?(required|first|needed)|(client|sender|you|user)( was| are| is|'re)? not (been )?(authenticated|logged in)|not authenticated|(must|need to|please|have to) (first )?(authenticate|log ?in|turn on smtp auth)|requires? (smtp )?auth/

/** Where the same words mean another thing at another step. */
function byStage(
  { code, words }: ReplyFacts,
  stage: SmtpStage | undefined,
  byText: ReplyRule | undefined,
): ReplyRule | undefined {
  const is = byText?.is
  const isAboutLogin = is === undefined || LOOKS_LIKE_LOGIN.has(is)
  if (code === 530 && (isAboutLogin || is === 'relay_denied'))
    return { is: 'auth_required', ...heals(words) }
  const isAtMail = stage === 'mail' || stage === undefined
  const asksForLogin = ASKS_FOR_LOGIN.test(words) && !/\bdomains?\b/.test(words)
  if (isAboutLogin && isAtMail && code >= 500 && asksForLogin)
    return { is: 'auth_required', ...heals(words) }
  if (stage === 'rcpt' && isAboutLogin && ASKS_FOR_LOGIN.test(words)) return { is: 'relay_denied' }
  if (stage === 'starttls' && (is === undefined || is === 'protocol_error' || is === 'temporary'))
    return { is: 'tls_unavailable' }
  if (
    stage === 'greeting' &&
    (is === undefined || (is === 'blocked_policy' && !/ptr|dns/.test(words)))
  )
    return { is: code < 500 ? 'temporary' : 'blocked_reputation' }
  if (stage === 'mail' && (is === 'invalid_recipient' || is === 'mailbox_disabled'))
    return { is: 'sender_not_allowed' }
  if (stage === 'mail' && (is === 'invalid_recipient_domain' || is === 'recipient_domain_dns'))
    return { is: 'sender_domain_dns' }
  return undefined
}

const LOOKS_LIKE_LOGIN: ReadonlySet<FailureCategory> = new Set([
  'blocked_policy',
  'protocol_error',
  'temporary',
  'invalid_recipient',
])

function heals(words: string): { readonly cannotHealByWaiting?: true } {
  return /auth\w* is disabled/.test(words) ? { cannotHealByWaiting: true } : {}
}

/** Some servers put off the answer to AUTH until MAIL. */
function stageOf({ stage }: ClassifiableFailure, facts: ReplyFacts): SmtpStage | undefined {
  if (stage !== undefined && stage !== 'mail') return stage
  return likelyStage(facts) ?? stage
}

/** For a reply of which only the text is known: these codes answer AUTH and little else. */
function likelyStage({ code, enhanced, words }: ReplyFacts): SmtpStage | undefined {
  switch (code) {
    case 534:
    case 535:
    case 538:
      return 'auth'
    case 525:
      return /recipient|protocol/.test(words) ? undefined : 'auth'
    case 432:
      return enhanced === '4.7.12' ? 'auth' : undefined
    case 504:
      return /auth|mechanism/.test(words) ? 'auth' : undefined
    case 421:
    case 451:
    case 454:
      return ABOUT_LOGGING_IN.test(words) ? 'auth' : undefined
    default:
      return undefined
  }
}

const ABOUT_LOGGING_IN =
  /^(temporary )?authentication (fail|temp|not|service)|cannot authenticate|too many (failed )?(login|auth\w*) |temporary (authentication|login)/

/** Fit for a PostgreSQL text column and for JSON. */
function storable(text: string): string {
  return text.slice(0, PROVIDER_ERROR_CHARS_MAX).toWellFormed().replaceAll('\u0000', '\ufffd')
}

/**
 * What a refusal of SparkPost means (its "Extended Error Codes" and "Sending Limits"), as data: first
 * the codes that say more than their HTTP status or other than it, then the status.
 */
import type { FailureCategory } from '@postrider/mail'
import { relayFailure, retryAfterMsOf } from '../failure.ts'
import type { RelayAnswer, RelayFailure } from '../relay.ts'
import { readErrors, type SparkPostError, sentenceOf } from './read-errors.ts'

export interface Verdict {
  readonly is: FailureCategory
  readonly retryable: boolean
  /** It refuses the account's key. */
  readonly authRejected?: true
  /** Where the answer does not name a wait. */
  readonly waitMs?: number
}

const final = (is: FailureCategory): Verdict => ({ is, retryable: false })
const passing = (is: FailureCategory, waitMs?: number): Verdict => ({
  is,
  retryable: true,
  ...(waitMs === undefined ? {} : { waitMs }),
})

/** "Wait 1 to 5 seconds"; an hourly limit is over within the hour, at a time that it does not tell. */
const RATE_WAIT_MS = 5_000
const HOURLY_WAIT_MS = 300_000

const KEY_REFUSED: Verdict = { ...final('auth_rejected'), authRejected: true }
const TEMPORARY = passing('temporary')
const QUOTA = final('sender_quota_exhausted')

export const VERDICTS: Readonly<Record<string, Verdict>> = {
  // the key and the account
  1303: KEY_REFUSED,
  1304: KEY_REFUSED,
  2101: passing('sender_rate_limited', HOURLY_WAIT_MS),
  2102: QUOTA,
  2103: QUOTA,
  2105: QUOTA,
  // the sender: domain blacklisted, not configured or not verified, in use by another account; no local part
  7000: final('sender_not_allowed'),
  7001: final('sender_not_allowed'),
  7004: final('sender_not_allowed'),
  2008: final('sender_not_allowed'),
  // the recipient: none of the list is valid
  5002: final('invalid_recipient'),
  // the message: not UTF-8, not generated, headers or MIME that cannot be built
  1305: final('content_rejected'),
  1901: final('content_rejected'),
  1902: final('content_rejected'),
  3000: final('content_rejected'),
  3001: final('content_rejected'),
  3002: final('content_rejected'),
  3010: final('content_rejected'),
  3020: final('content_rejected'),
  3040: final('content_rejected'),
  3050: final('content_rejected'),
  2002: final('message_too_large'),
  2007: final('message_too_large'),
  // itself; "server resources unavailable" comes as a 400
  1500: TEMPORARY,
  1501: TEMPORARY,
  1502: TEMPORARY,
  1900: TEMPORARY,
  // DNS did not answer what it needs
  1404: passing('sender_domain_dns'),
}

/** Of 403: the key lacks a permission, or the account a licence. Of others it says no code. */
const KEY_CODES: ReadonlySet<string> = new Set(['1100', '1601'])
const ABOUT_KEY = /\b(forbidden|unauthori[sz]ed|not authori[sz]ed|permissions?|api[ -]?key)\b/i
const ABOUT_ACCOUNT = /\b(suspended|terminated|blocked|compliance)\b/i
const TOO_LARGE =
  /\b(too large|too big|exceeds? (the )?(maximum|max|size|limit)\b.*\b(size|bytes|mb)|size limit)\b/i

export function failureOf(answer: RelayAnswer): RelayFailure {
  const errors = readErrors(answer.body)
  return failureBy(verdictOf(answer.status, errors), answer, errors)
}

export function failureBy(
  { is, retryable, authRejected, waitMs }: Verdict,
  answer: RelayAnswer,
  errors: readonly SparkPostError[] | undefined,
): RelayFailure {
  return relayFailure(is, {
    retryable,
    words: errors && sentenceOf(errors),
    answer,
    authRejected: authRejected === true,
    retryAfterMsMin: retryable ? (retryAfterMsOf(answer) ?? waitMs) : undefined,
  })
}

function verdictOf(status: number, errors: readonly SparkPostError[] | undefined): Verdict {
  // Whatever else it says: nothing is sent with this key.
  if (status === 401) return KEY_REFUSED
  const said = errors ?? []
  if (status === 403 && errors !== undefined) return ofForbidden(said)
  const known = said.flatMap(({ code }) => verdictOfCode(code) ?? [])
  if (known[0] !== undefined) return known[0]
  if (status === 413 || said.some(({ words }) => TOO_LARGE.test(words)))
    return final('message_too_large')
  if (status === 420) return ofLimit(said)
  if (status === 429) return passing('sender_rate_limited', RATE_WAIT_MS)
  if (status >= 500 || status === 408) return TEMPORARY
  // What is not of its API may be gone in a moment, and has not sent anything.
  return errors === undefined ? TEMPORARY : final('unknown')
}

export function verdictOfCode(code: string): Verdict | undefined {
  return Object.hasOwn(VERDICTS, code) ? VERDICTS[code] : undefined
}

function ofForbidden(errors: readonly SparkPostError[]): Verdict {
  const words = sentenceOf(errors)
  if (ABOUT_ACCOUNT.test(words)) return final('sender_blocked')
  const isAboutKey = errors.some(({ code }) => KEY_CODES.has(code)) || ABOUT_KEY.test(words)
  return isAboutKey ? KEY_REFUSED : final('unknown')
}

function ofLimit(errors: readonly SparkPostError[]): Verdict {
  const isHourly = /\bhour/i.test(sentenceOf(errors))
  return isHourly ? passing('sender_rate_limited', HOURLY_WAIT_MS) : QUOTA
}

/** What the adapters have in common where a provider did not take a mail. */
import { type FailureCategory, failedReasonOf } from '@postrider/mail'
import { parseJson } from '../platform/values/json.ts'
import { storable } from './callbacks/report-fields.ts'
import type { RelayAnswer, RelayFailure } from './relay.ts'

const RETRY_AFTER_MS_MAX = 24 * 3_600_000

export function relayFailure(
  category: FailureCategory,
  o: {
    readonly retryable: boolean
    /** The provider's words: undefined where what answered was no API, but some page on the way. */
    readonly words: string | undefined
    readonly answer: RelayAnswer
    readonly authRejected?: boolean
    readonly retryAfterMsMin?: number | undefined
  },
): RelayFailure {
  const { answer, words, retryAfterMsMin } = o
  const status = `HTTP status ${answer.status}`
  return {
    category,
    retryable: o.retryable,
    failedReason:
      category === 'unknown' ? storable(words ?? status) || status : failedReasonOf(category),
    providerError:
      words === undefined ? status : storable(`${answer.status} ${answer.body.trim()}`),
    ...(retryAfterMsMin === undefined ? {} : { retryAfterMsMin }),
    authRejected: o.authRejected ?? false,
    cannotHealByWaiting: false,
  }
}

/** What it says without the HTTP status in front, which looks like the code of an SMTP reply and is none. */
export function withoutStatus(providerError: string): string {
  return providerError.replace(/^\d{3} /, '')
}

/** Of a mail that the provider is not even asked to take. */
export function refusedUnasked(category: FailureCategory, words: string): RelayFailure {
  return {
    category,
    retryable: false,
    failedReason: failedReasonOf(category),
    providerError: words,
    authRejected: false,
    cannotHealByWaiting: false,
  }
}

/** By a gateway that got no answer itself: the provider may have taken the mail. */
export function isUnanswered({ status, body }: RelayAnswer): boolean {
  return (status === 502 || status === 504) && parseJson(body) === undefined
}

export function uncertain(answer: RelayAnswer): RelayFailure {
  return relayFailure('uncertain', { retryable: true, words: undefined, answer })
}

export function headerOf({ headers }: RelayAnswer, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value : value?.[0]
}

/** Of `Retry-After`: seconds, or a time, which is compared with the answer's own `Date`. */
export function retryAfterMsOf(answer: RelayAnswer): number | undefined {
  const value = headerOf(answer, 'retry-after')
  if (value === undefined) return undefined
  if (/^\d{1,9}$/.test(value)) return waitOf(Number(value) * 1_000)
  return waitUntil(answer, Date.parse(value))
}

/** Clocks differ: only the answer's own says how far off it is. */
export function waitUntil(answer: RelayAnswer, timeMs: number): number | undefined {
  return waitOf(timeMs - Date.parse(headerOf(answer, 'date') ?? ''))
}

function waitOf(ms: number): number | undefined {
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MS_MAX) : undefined
}

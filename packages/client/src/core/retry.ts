/**
 * Decides whether a failed attempt is followed by another, and after how long.
 *
 * What was refused before any work (429, a 503 of the service or one that says when to come back, a
 * connection that never was) is asked again whatever the operation. What may have been carried out,
 * which a 503 with `outcome: "unknown"` says, too, is repeated only where twice is as good as once: by
 * the method, or under one `Idempotency-Key`.
 *
 * The wait doubles from 0.5 s to 8 s, less up to half by chance, and is never shorter than
 * `Retry-After`. A wait that is not worth it (longer than `maxRetryAfter`, or past the time of the
 * whole operation) is not begun: the caller gets the error, with `retryAfter`, at once.
 */
import { type PostriderError, systemCodeOf } from './errors.ts'

export const waitMsMin = 500
export const waitMsMax = 8_000

const passingStatuses: ReadonlySet<number> = new Set([408, 500, 502, 503, 504])
const passingCodes: ReadonlySet<string> = new Set([
  'connection_error',
  'timeout',
  // The attempt before this one is still being worked on.
  'idempotency_in_progress',
])

export interface RetryQuestion {
  readonly error: PostriderError
  /** Attempts made so far. */
  readonly attempts: number
  readonly retriesMax: number
  readonly isRepeatable: boolean
  /** The longest `Retry-After` that is waited for. */
  readonly retryAfterMsMax: number
  /** What is left for the whole operation. */
  readonly remainingMs: number
  /** From 0 to 1. */
  readonly random: number
}

/** Milliseconds to wait before the next attempt; undefined: give up. */
export function decideRetry(question: RetryQuestion): number | undefined {
  const { error, attempts, random } = question
  if (attempts > question.retriesMax) return undefined
  const isWorthIt = isRefusedBeforeWork(error) || (question.isRepeatable && isPassing(error))
  if (!isWorthIt) return undefined
  const askedMs = (error.retryAfter ?? 0) * 1_000
  if (askedMs > question.retryAfterMsMax) return undefined
  const backoffMs = Math.min(waitMsMax, waitMsMin * 2 ** (attempts - 1)) * (0.5 + random / 2)
  const waitMs = Math.max(askedMs, backoffMs)
  return waitMs < question.remainingMs ? waitMs : undefined
}

/** A proxy says 503 also of a request that it has passed on; then it does not say when to come back. */
function isRefusedBeforeWork(error: PostriderError): boolean {
  const { status, code, retryAfter } = error
  if (error.outcome === 'unknown') return false
  if (status === 429 || unconnectedCodes.has(systemCodeOf(error))) return true
  return status === 503 && (code !== 'unexpected_response' || retryAfter !== undefined)
}

/** Of Node.js and Bun. Other runtimes do not say how far they came. */
const unconnectedCodes: ReadonlySet<unknown> = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT', 'ConnectionRefused'],
])

export function isPassing({ status, code }: PostriderError): boolean {
  // From 520: what content delivery networks say of a server that they cannot hear.
  return passingCodes.has(code) || passingStatuses.has(status) || (status >= 520 && status <= 530)
}

/** Seconds of a `Retry-After` header: a number of them or an HTTP date. */
export function parseRetryAfter(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  const text = value.trim()
  if (/^\d{1,9}$/.test(text)) return Number(text)
  if (!/^[A-Z][a-z]{2}, /.test(text)) return undefined
  const atMs = Date.parse(text)
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - nowMs) / 1_000))
}

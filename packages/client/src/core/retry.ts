/**
 * Decides whether a failed attempt is followed by another, and after how long.
 *
 * Only operations that may be repeated are: reading, replacing, deleting, whether an address is sent
 * to, and sending under one `Idempotency-Key`. The wait doubles from 0.5 s to 8 s, halved at most by chance, and is never
 * shorter than the service's `Retry-After`. A wait that is not worth it (longer than a minute, or
 * past the deadline of the whole operation) is not begun: the caller gets the error, with
 * `retryAfter`, at once.
 */
import type { PostriderError } from './errors.ts'

export const waitMsMin = 500
export const waitMsMax = 8_000
export const retryAfterMsMax = 60_000

const retryableStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504])
const retryableCodes: ReadonlySet<string> = new Set([
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
  /** What is left for the whole operation. */
  readonly remainingMs: number
  /** From 0 to 1. */
  readonly random: number
}

/** Milliseconds to wait before the next attempt; undefined: give up. */
export function decideRetry(question: RetryQuestion): number | undefined {
  const { error, attempts, random } = question
  if (!question.isRepeatable || attempts > question.retriesMax) return undefined
  if (!retryableStatuses.has(error.status) && !retryableCodes.has(error.code)) return undefined
  const askedMs = (error.retryAfter ?? 0) * 1_000
  if (askedMs > retryAfterMsMax) return undefined
  const backoffMs = Math.min(waitMsMax, waitMsMin * 2 ** (attempts - 1)) * (0.5 + random / 2)
  const waitMs = Math.max(askedMs, backoffMs)
  return waitMs < question.remainingMs ? waitMs : undefined
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

import { describe, expect, it } from 'vitest'
import { connectionFailed, PostriderError } from './errors.ts'
import { decideRetry, parseRetryAfter, type RetryQuestion } from './retry.ts'

const failure = (status: number, code = 'some_code', retryAfter?: number) =>
  new PostriderError('m', { status, code, retryAfter })

/** As `fetch` of Node.js tells it. */
const unreached = (code: string) =>
  connectionFailed(new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) }))

const question = (change: Partial<RetryQuestion>): RetryQuestion => ({
  error: failure(503),
  attempts: 1,
  retriesMax: 3,
  isRepeatable: true,
  retryAfterMsMax: 60_000,
  remainingMs: 100_000,
  random: 1,
  ...change,
})

describe('decideRetry', () => {
  it.each([408, 429, 500, 502, 503, 504, 520, 524])('retries after status %i', (status) => {
    expect(decideRetry(question({ error: failure(status) }))).toBe(500)
  })

  it.each(['connection_error', 'timeout'])('retries after %s', (code) => {
    expect(decideRetry(question({ error: failure(0, code) }))).toBe(500)
  })

  it('retries while the first request with the key is still in progress', () => {
    const error = failure(409, 'idempotency_in_progress', 1)
    expect(decideRetry(question({ error }))).toBe(1_000)
  })

  it.each([200, 301, 400, 401, 403, 404, 409, 413, 415, 422, 501, 505])(
    'gives up after status %i',
    (status) => {
      expect(decideRetry(question({ error: failure(status) }))).toBeUndefined()
    },
  )

  it.each(['aborted', 'invalid_argument', 'unexpected_response'])('gives up after %s', (code) => {
    expect(decideRetry(question({ error: failure(0, code) }))).toBeUndefined()
  })

  it.each([0, 408, 500, 502, 504, 524])(
    'never retries a request with effects after status %i, as it may have been carried out',
    (status) => {
      const error = failure(status, status === 0 ? 'connection_error' : 'some_code')
      expect(decideRetry(question({ error, isRepeatable: false }))).toBeUndefined()
    },
  )

  it.each<[string, PostriderError, number | undefined]>([
    ['429', failure(429, 'rate_limited'), 500],
    ["a proxy's 429", failure(429, 'unexpected_response'), 500],
    ["the service's 503", failure(503, 'unavailable'), 500],
    ["a proxy's 503 with Retry-After", failure(503, 'unexpected_response', 1), 1_000],
    ['a connection that never was', unreached('ECONNREFUSED'), 500],
    ['a connection that broke', unreached('ECONNRESET'), undefined],
    ["a proxy's 503 without", failure(503, 'unexpected_response'), undefined],
  ])('recognises a request that was refused before any work: %s', (_, error, waitMs) => {
    expect(decideRetry(question({ error, isRepeatable: false }))).toBe(waitMs)
  })

  it('does not retry a 503 to a request that may have been carried out', () => {
    const error = new PostriderError('m', {
      ...{ status: 503, code: 'unavailable', retryAfter: 1, outcome: 'unknown' },
    })
    expect(decideRetry(question({ error, isRepeatable: false }))).toBeUndefined()
    expect(decideRetry(question({ error }))).toBe(1_000)
  })

  it('gives up when the retries are used up', () => {
    expect(decideRetry(question({ attempts: 3 }))).toBeDefined()
    expect(decideRetry(question({ attempts: 4 }))).toBeUndefined()
    expect(decideRetry(question({ retriesMax: 0 }))).toBeUndefined()
  })

  it('doubles the wait up to 8 s, minus up to half of it at random', () => {
    const waits = (random: number) =>
      [1, 2, 3, 4, 5, 6].map((attempts) =>
        decideRetry(question({ attempts, retriesMax: 9, random })),
      )
    expect(waits(1)).toStrictEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000])
    expect(waits(0)).toStrictEqual([250, 500, 1_000, 2_000, 4_000, 4_000])
  })

  it('waits at least for Retry-After, and for its own time when that is longer', () => {
    expect(decideRetry(question({ error: failure(429, 'c', 7) }))).toBe(7_000)
    expect(decideRetry(question({ error: failure(429, 'c', 0) }))).toBe(500)
  })

  it('gives up at once when Retry-After is longer than a minute', () => {
    expect(decideRetry(question({ error: failure(429, 'c', 60) }))).toBe(60_000)
    expect(decideRetry(question({ error: failure(429, 'c', 61) }))).toBeUndefined()
  })

  it('accepts another longest Retry-After', () => {
    const error = failure(503, 'unavailable', 2)
    expect(decideRetry(question({ error, retryAfterMsMax: 2_000 }))).toBe(2_000)
    expect(decideRetry(question({ error, retryAfterMsMax: 1_999 }))).toBeUndefined()
  })

  it('gives up at once when the wait would exceed the total time', () => {
    expect(decideRetry(question({ remainingMs: 501 }))).toBe(500)
    expect(decideRetry(question({ remainingMs: 500 }))).toBeUndefined()
  })
})

describe('parseRetryAfter', () => {
  const nowMs = Date.parse('2026-11-20T13:00:00Z')

  it('reads seconds and HTTP dates', () => {
    expect(parseRetryAfter('120', nowMs)).toBe(120)
    expect(parseRetryAfter(' 0 ', nowMs)).toBe(0)
    expect(parseRetryAfter('Fri, 20 Nov 2026 13:00:30 GMT', nowMs)).toBe(30)
    expect(parseRetryAfter('Fri, 20 Nov 2026 12:00:00 GMT', nowMs)).toBe(0)
  })

  it.each([null, '', '-1', '1.5', 'soon', '1e3', 'Fri, soon', '99999999999'])(
    'ignores %j',
    (value) => {
      expect(parseRetryAfter(value, nowMs)).toBeUndefined()
    },
  )
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decideDelivery, parseRetryAfter } from './decide-delivery.ts'

const policy = { retryScheduleMs: [5_000, 30_000, 120_000], retryForMs: 3_600_000 }
const fresh = { failCount: 0, ageMs: 10, random: 0.5 }

describe('what follows a webhook request', () => {
  it('[6.2.6] is nothing after any 2xx', () => {
    for (const status of [200, 201, 202, 204, 299])
      expect(decideDelivery({ kind: 'answered', status }, fresh, policy)).toEqual({
        kind: 'delivered',
      })
  })

  it('[6.2.6] is a retry after everything else, redirects and 410 included', () => {
    for (const status of [101, 301, 302, 307, 308, 400, 401, 404, 410, 413, 429, 500, 503])
      expect(decideDelivery({ kind: 'answered', status }, fresh, policy).kind).toBe('retry')
    expect(decideDelivery({ kind: 'failed' }, fresh, policy).kind).toBe('retry')
  })

  it('waits by the schedule, whose last entry repeats, with 20 % jitter', () => {
    fc.assert(
      fc.property(
        fc.nat(20),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failCount, random) => {
          const step = decideDelivery({ kind: 'failed' }, { failCount, ageMs: 0, random }, policy)
          const base = policy.retryScheduleMs[failCount] ?? 120_000
          if (step.kind !== 'retry') throw new Error(step.kind)
          expect(step.waitMs).toBeGreaterThanOrEqual(base * 0.8 - 1)
          expect(step.waitMs).toBeLessThanOrEqual(base * 1.2 + 1)
        },
      ),
    )
  })

  it('honours Retry-After between the current wait and the longest', () => {
    const wait = (retryAfterMs: number) =>
      decideDelivery({ kind: 'answered', status: 429, retryAfterMs }, fresh, policy)
    expect(wait(1)).toEqual({ kind: 'retry', waitMs: 5_000 })
    expect(wait(60_000)).toEqual({ kind: 'retry', waitMs: 60_000 })
    expect(wait(86_400_000)).toEqual({ kind: 'retry', waitMs: 120_000 })
  })

  it('is exhausted when the time for retries is over, with the last attempt at its end', () => {
    const late = { failCount: 2, ageMs: 3_590_000, random: 0.5 }
    expect(decideDelivery({ kind: 'failed' }, late, policy)).toEqual({
      kind: 'retry',
      waitMs: 10_000,
    })
    const over = { ...late, ageMs: 3_600_000 }
    expect(decideDelivery({ kind: 'failed' }, over, policy).kind).toBe('exhausted')
  })
})

describe('Retry-After', () => {
  const now = new Date('2026-01-02T03:04:05Z')
  it('is seconds or a date', () => {
    expect(parseRetryAfter('120', now)).toBe(120_000)
    expect(parseRetryAfter('Fri, 02 Jan 2026 03:05:05 GMT', now)).toBe(60_000)
    expect(parseRetryAfter('Fri, 02 Jan 2026 03:00:00 GMT', now)).toBe(0)
  })
  it('reads as absent when it is neither', () => {
    for (const header of [undefined, '', '-1', '1.5', 'soon', '99999999999', 'abc, def'])
      expect(parseRetryAfter(header, now)).toBeUndefined()
  })
})

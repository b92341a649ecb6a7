/** How much work one peer may cause. */
import { expect, it } from 'vitest'
import { createWorkLimiter } from './work-limiter.ts'

const limiterAt = (time: { ms: number }, o = {}) =>
  createWorkLimiter({ burstMicros: 1_000, microsPerSecond: 100, monotonicMs: () => time.ms, ...o })

it('allows a burst at once, and makes the peer wait then', () => {
  const limiter = limiterAt({ ms: 0 })
  expect([limiter.spend(600), limiter.spend(400)]).toEqual([0, 0])
  expect(limiter.spend(1)).toBeGreaterThanOrEqual(10)
})

it('allows more after the time that it asked for', () => {
  const time = { ms: 0 }
  const limiter = limiterAt(time)
  const waitMs = limiter.spend(1_500)
  expect(waitMs).toBeGreaterThanOrEqual(5_000)
  time.ms += waitMs
  expect(limiter.spend(1)).toBe(0)
})

it('keeps no more than a burst for a quiet peer', () => {
  const time = { ms: 0 }
  const limiter = limiterAt(time)
  time.ms = 3_600_000
  expect(limiter.spend(1_000)).toBe(0)
  expect(limiter.spend(1)).toBeGreaterThan(0)
})

import { expect, it } from 'vitest'
import { isRateRefusal, slowDown, speedUp } from './decide-throttle.ts'

const max = { connectionsMax: 8 }

it('halves the connections and pauses at a refusal, and longer at each further one', () => {
  const first = slowDown(undefined, { ...max, begunMs: 0, nowMs: 100 })
  expect(first).toEqual({ connections: 4, pauseMs: 2_000, sinceMs: 100 })
  const second = slowDown(first, { ...max, begunMs: 3_000, nowMs: 3_100 })
  expect(second).toEqual({ connections: 2, pauseMs: 4_000, sinceMs: 3_100 })
  let slowing = second
  for (let nowMs = 10_000; nowMs < 2_000_000; nowMs += 200_000)
    slowing = slowDown(slowing, { ...max, begunMs: nowMs, nowMs })
  expect(slowing).toMatchObject({ connections: 1, pauseMs: 120_000 })
})

it('counts attempts that were under way together once', () => {
  const first = slowDown(undefined, { ...max, begunMs: 0, nowMs: 100 })
  expect(slowDown(first, { ...max, begunMs: 50, nowMs: 150 })).toEqual(first)
})

it('obeys a wait that the server asks for, also of a refusal that does not count', () => {
  const first = slowDown(undefined, { ...max, begunMs: 0, nowMs: 100, askedMs: 60_000 })
  expect(first.pauseMs).toBe(60_000)
  const later = slowDown(first, { ...max, begunMs: 50, nowMs: 150, askedMs: 90_000 })
  expect(later).toEqual({ connections: 4, pauseMs: 90_000, sinceMs: 150 })
  const absurd = slowDown(undefined, { ...max, begunMs: 0, nowMs: 0, askedMs: 10 ** 9 })
  expect(absurd.pauseMs).toBe(3_600_000)
})

it('raises the connections step by step, and forgets the throttle at the end', () => {
  const slow = { connections: 6, pauseMs: 8_000, sinceMs: 0 }
  expect(speedUp(slow, { ...max, nowMs: 30_000 })).toEqual(slow)
  const faster = speedUp(slow, { ...max, nowMs: 38_000 })
  expect(faster).toEqual({ connections: 7, pauseMs: 4_000, sinceMs: 38_000 })
  expect(faster && speedUp(faster, { ...max, nowMs: 80_000 })).toBeUndefined()
})

it.each([
  ['sender_rate_limited', true],
  ['sender_concurrency_limited', true],
  ['blocked_rate', true],
  ['recipient_rate_limited', false],
  ['greylisted', false],
  ['sender_quota_exhausted', false],
] as const)('tells whether %s is a refusal of the rate: %s', (category, expected) => {
  expect(isRateRefusal(category)).toBe(expected)
})

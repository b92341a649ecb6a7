import { expect, it } from 'vitest'
import { createBackoffCache } from './backoff-cache.ts'

it('ends a back-off after a second, or when the database says so', () => {
  let nowMs = 0
  const backoffs = createBackoffCache(() => nowMs)
  backoffs.backOff('a')
  nowMs = 999
  expect(backoffs.isBackingOff('a')).toBe(true)
  nowMs = 1_000
  expect(backoffs.isBackingOff('a')).toBe(false)
  backoffs.backOff('a')
  backoffs.endBackOff('a')
  expect(backoffs.isBackingOff('a')).toBe(false)
})

it('ends the back-off of a fault only after a good step', () => {
  const backoffs = createBackoffCache(() => 0)
  backoffs.fault('a', false)
  backoffs.endBackOff('a')
  expect(backoffs.isBackingOff('a')).toBe(true)
  backoffs.forget('a')
  expect(backoffs.isBackingOff('a')).toBe(false)
})

it('backs off for a second at a database outage, and does not count it as a fault', () => {
  let nowMs = 0
  const backoffs = createBackoffCache(() => nowMs)
  /** How long it backs off from now on. */
  const restMs = () => {
    const startMs = nowMs
    while (backoffs.isBackingOff('a')) nowMs += 100
    return nowMs - startMs
  }
  const faults = [true, false, false, true, true, false].map((isOutage) => {
    backoffs.fault('a', isOutage)
    return restMs()
  })
  expect(faults).toEqual([1_000, 1_000, 2_000, 1_000, 1_000, 4_000])
})

it('keeps a bounded number of entries', () => {
  const backoffs = createBackoffCache(() => 0, 3)
  for (let i = 0; i < 10; i += 1) backoffs.fault(`deleted_${i}`, false)
  const isKept = (i: number) => backoffs.isBackingOff(`deleted_${i}`)
  expect([0, 6, 7, 8, 9].filter(isKept)).toEqual([7, 8, 9])
})

import { expect, it } from 'vitest'
import { createRests } from './backoff-cache.ts'

it('a back-off ends after a second, or when the database says so', () => {
  let nowMs = 0
  const rests = createRests(() => nowMs)
  rests.backOff('a')
  nowMs = 999
  expect(rests.isResting('a')).toBe(true)
  nowMs = 1_000
  expect(rests.isResting('a')).toBe(false)
  rests.backOff('a')
  rests.endBackOff('a')
  expect(rests.isResting('a')).toBe(false)
})

it('a fault is not ended by the database; it is forgotten after a step that went well', () => {
  const rests = createRests(() => 0)
  rests.fault('a', false)
  rests.endBackOff('a')
  expect(rests.isResting('a')).toBe(true)
  rests.forget('a')
  expect(rests.isResting('a')).toBe(false)
})

it('an outage rests for a second, whatever faults there were, and is none of them', () => {
  let nowMs = 0
  const rests = createRests(() => nowMs)
  /** How long it rests from now on. */
  const restMs = () => {
    const startMs = nowMs
    while (rests.isResting('a')) nowMs += 100
    return nowMs - startMs
  }
  const faults = [true, false, false, true, true, false].map((isOutage) => {
    rests.fault('a', isOutage)
    return restMs()
  })
  expect(faults).toEqual([1_000, 1_000, 2_000, 1_000, 1_000, 4_000])
})

it('streams that are never asked for again leave no more than so many entries', () => {
  const rests = createRests(() => 0, 3)
  for (let i = 0; i < 10; i += 1) rests.fault(`deleted_${i}`, false)
  const isKept = (i: number) => rests.isResting(`deleted_${i}`)
  expect([0, 6, 7, 8, 9].filter(isKept)).toEqual([7, 8, 9])
})

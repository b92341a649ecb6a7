import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createClock } from './now.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

it('tells the time at the first subscription, however long nobody listened', () => {
  const clock = createClock(10_000)
  vi.advanceTimersByTime(14_000)
  const leave = clock.subscribe(() => undefined)
  expect(clock.nowMs()).toBe(14_000)
  leave()
  vi.advanceTimersByTime(60_000)
  clock.subscribe(() => undefined)
  expect(clock.nowMs()).toBe(74_000)
})

it('ticks for all listeners at the same moments, and for nobody afterwards', () => {
  const clock = createClock(10_000)
  const heard: string[] = []
  const leave = clock.subscribe(() => heard.push('a'))
  vi.advanceTimersByTime(5_000)
  const leaveToo = clock.subscribe(() => heard.push('b'))
  // A later one does not move the time of those that are shown.
  expect(clock.nowMs()).toBe(0)
  vi.advanceTimersByTime(5_000)
  expect(heard).toEqual(['a', 'b'])
  expect(clock.nowMs()).toBe(10_000)
  leave()
  leaveToo()
  expect(vi.getTimerCount()).toBe(0)
})

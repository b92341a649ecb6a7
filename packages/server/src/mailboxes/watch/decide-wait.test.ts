import { expect, it } from 'vitest'
import { decideWaitMs } from './decide-wait.ts'

it('[contract 5] begins with a second, doubles, and ends at a minute', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 1_000].map((n) => decideWaitMs(n, 0))
  expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000])
})

it('shortens a wait by up to a fifth, at random', () => {
  expect(decideWaitMs(7, 0.999)).toBeGreaterThanOrEqual(48_000)
  expect(decideWaitMs(7, 0.5)).toBe(54_000)
})

import { expect, it } from 'vitest'
import { isSpent, nextTryMs } from './decide-copy.ts'

it('retries a copy after 1 m, 5 m, 30 m, 2 h, 6 h, 12 h and 24 h, and then gives it up', () => {
  const waits = Array.from({ length: 8 }, (_, i) => nextTryMs({ tries: i + 1 }))
  expect(waits.map((ms) => ms && ms / 60_000)).toEqual([1, 5, 30, 120, 360, 720, 1440, undefined])
  expect(isSpent({ tries: 8 })).toBe(false)
  expect(isSpent({ tries: 9 })).toBe(true)
})

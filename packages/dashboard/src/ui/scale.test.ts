import { expect, it } from 'vitest'
import { axisTicks } from './scale.ts'

it.each([
  [0, [0, 1]],
  [1, [0, 1]],
  [3, [0, 1, 2, 3]],
  [7, [0, 5, 10]],
  [100, [0, 50, 100]],
  [1_234, [0, 500, 1_000, 1_500]],
])('goes to %i in round steps', (max, ticks) => {
  expect(axisTicks(max, 3)).toEqual(ticks)
})

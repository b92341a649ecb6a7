import { describe, expect, it } from 'vitest'
import { describeDuration, parseDuration } from './duration.ts'

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
    ['0s', 0],
  ])('reads %s as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', '5', 's', '-1s', '1.5h', '5 s', '5S', '1h30m', '9999999999s', '٣s'])(
    'refuses %j',
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )

  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [119_999, '1m'],
    [7_200_000, '2h'],
    [40 * 86_400_000, '40d'],
  ])('writes %d ms as %s', (ms, text) => {
    expect(describeDuration(ms)).toBe(text)
  })
})

import { describe, expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['5s', 5_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['3d', 259_200_000],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', '5', 's', '-1s', '1.5h', '5 s', '5S', '1h30m', '9999999999s', '٣s'])(
    '%j is none',
    (text) => {
      expect(parseDuration(text)).toBeUndefined()
    },
  )
})

import { expect, it } from 'vitest'
import { readLimits } from './limits.ts'

it('leaves out limits whose fields are empty', () => {
  expect(readLimits({ per_second: '', per_minute: ' 30 ', per_day: ' ' })).toEqual({
    per_minute: 30,
  })
  expect(readLimits({})).toEqual({})
})

it.each(['1.5', '-1', 'many', '1e3', '30 a minute'])('reads no limits where one is %s', (value) => {
  expect(readLimits({ per_minute: value, connections: '5' })).toBeUndefined()
})

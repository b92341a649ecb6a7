import { expect, it } from 'vitest'
import { readOverviewSearch, spanOf } from './range.ts'

it('reads a range from the address, and leaves what is no range', () => {
  expect(readOverviewSearch({ range: '7d', other: 1 })).toEqual({ range: '7d' })
  expect(readOverviewSearch({ range: '24h' })).toEqual({})
  expect(readOverviewSearch({ range: '5y' })).toEqual({})
})

it('asks for hours of a day, and for days of more', () => {
  const now = new Date('2026-03-29T12:30:00Z')
  expect(spanOf('24h', now)).toEqual({ start: '2026-03-28T12:30:00.000Z', interval: 'hour' })
  expect(spanOf('30d', now)).toEqual({ start: '2026-02-27T12:30:00.000Z', interval: 'day' })
})

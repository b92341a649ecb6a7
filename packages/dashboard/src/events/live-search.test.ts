import { expect, it } from 'vitest'
import { readLiveSearch } from './live-search.ts'

it.each([
  [{}, {}],
  [{ event: 'MAIL_DELIVERED', other: 1 }, { event: 'MAIL_DELIVERED' }],
  [{ event: 'MAIL_EATEN' }, {}],
  [{ email: ' ada@example.com ' }, { email: 'ada@example.com' }],
  [{ email: ' ' }, {}],
  [{ email: ['ada@example.com'] }, {}],
])('reads %j from the address of Live', (given, search) => {
  expect(readLiveSearch(given)).toEqual(search)
})

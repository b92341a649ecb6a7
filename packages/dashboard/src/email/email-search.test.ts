import { expect, it } from 'vitest'
import { readEmailSearch } from './email-search.ts'

it.each([
  [{}, {}],
  [
    { tab: 'preview', width: 'phone' },
    { tab: 'preview', width: 'phone' },
  ],
  [{ tab: 'timeline' }, {}],
  [{ tab: 'nothing', width: 'watch' }, {}],
  [{ recipient: 'ada@example.com' }, { recipient: 'ada@example.com' }],
  [{ recipient: '' }, {}],
  [{ recipient: 7 }, {}],
])('reads %j from the address of an email', (given, search) => {
  expect(readEmailSearch(given)).toEqual(search)
})

it('reads no recipient that is longer than an address', () => {
  expect(readEmailSearch({ recipient: 'a'.repeat(1_000) }).recipient).toHaveLength(320)
})

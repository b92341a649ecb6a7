import { expect, it } from 'vitest'
import { readDomainSearch } from './domain-search.ts'

it('reads the relay of a domain that is to be added, and no other word', () => {
  expect(readDomainSearch({ relay: 'simulator', page: 2 })).toEqual({ relay: 'simulator' })
  for (const relay of ['owl', '', 3, undefined]) expect(readDomainSearch({ relay })).toEqual({})
})

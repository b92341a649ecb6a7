import { describe, expect, it } from 'vitest'
import { readSettingsSearch } from './settings-search.ts'

describe('readSettingsSearch', () => {
  it.each([
    [{}, {}],
    [{ tab: 'members' }, { tab: 'members' }],
    [{ tab: 'usage', operation: 'createKey' }, { tab: 'usage' }],
    [
      { tab: 'audit', operation: 'createKey' },
      { tab: 'audit', operation: 'createKey' },
    ],
    [{ tab: 'toString' }, {}],
    [{ tab: ['usage'] }, {}],
    [{ operation: 'createKey' }, {}],
  ])('reads %j', (given, search) => {
    expect(readSettingsSearch(given)).toEqual(search)
  })
})

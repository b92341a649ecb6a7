import { expect, it } from 'vitest'
import { readDevelopersSearch } from './developers-search.ts'

it('reads the scope of a key that is to be made, and no other word', () => {
  expect(readDevelopersSearch({ scope: 'webhooks', page: 2 })).toEqual({ scope: 'webhooks' })
  expect(readDevelopersSearch({ scope: 'all' })).toEqual({ scope: 'all' })
  for (const scope of ['everything', '', 3, undefined])
    expect(readDevelopersSearch({ scope })).toEqual({})
})

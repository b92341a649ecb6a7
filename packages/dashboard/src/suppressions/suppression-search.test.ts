import { expect, it } from 'vitest'
import { readSuppressionSearch } from './suppression-search.ts'

it('reads filters from the address, and leaves what is none', () => {
  expect(readSuppressionSearch({ email: ' ada@example.com ', reason: 'bounced' })).toEqual({
    email: 'ada@example.com',
    reason: 'bounced',
  })
  expect(readSuppressionSearch({ email: ' ', reason: 'x' })).toEqual({})
})

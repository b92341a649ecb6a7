import { expect, it } from 'vitest'
import { decideBlame } from './decide-blame.ts'

it.each([
  ['the first', 1, 0, 'mailbox'],
  ['a few', 5, 0, 'mailbox'],
  ['many at once, and none that works', 6, 0, 'app'],
  ['many, and as many that work', 6, 6, 'mailbox'],
  ['most of a large number', 500, 40, 'app'],
  ['some of a large number', 40, 500, 'mailbox'],
] as const)('%s: %i refused, %i refreshed', (_, refused, refreshed, expected) => {
  expect(decideBlame({ refused, refreshed })).toBe(expected)
})

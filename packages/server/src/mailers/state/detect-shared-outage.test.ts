import { expect, it } from 'vitest'
import { detectSharedOutage } from './detect-shared-outage.ts'

it.each([
  ['the first', 1, 0, 'own'],
  ['a few', 5, 0, 'own'],
  ['many at once, and none that works', 6, 0, 'shared'],
  ['many, and as many that work', 6, 6, 'own'],
  ['most of a large number', 500, 40, 'shared'],
  ['some of a large number', 40, 500, 'own'],
] as const)(
  'decides by how many were refused: %s: %i refused, %i worked',
  (_, refused, worked, expected) => {
    expect(detectSharedOutage({ refused, worked })).toBe(expected)
  },
)

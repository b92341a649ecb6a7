import { expect, it } from 'vitest'
import { nearestName } from './nearest-name.ts'

const known = ['refId', 'email', 'startCreatedAt', 'pageSize']

it.each([
  ['ref_id', 'refId'],
  ['REFID', 'refId'],
  ['ref-id', 'refId'],
  ['emial', 'email'],
  ['startCreateAt', 'startCreatedAt'],
  ['mailer', undefined],
  ['x', undefined],
  ['', undefined],
  [`${'_'.repeat(100)}email`, undefined],
])('suggests for %j the name %j', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant)
})

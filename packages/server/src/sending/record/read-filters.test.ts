/** Reasons in the words of servers are compared in pieces: others have their turns of the event loop. */
import { expect, it } from 'vitest'
import { havingReason, readEmailFilters } from './read-filters.ts'

const soughtBy = (failedReason?: string) =>
  readEmailFilters(failedReason === undefined ? {} : { failedReason }, '', [])

it('compares 2,000 unlike reasons in pieces, and keeps those that fit in their order', async () => {
  const all = Array.from({ length: 2_000 }, (_, n) => ({
    email: `to${n}@example.com`,
    failedReason:
      n % 3 === 0 ? `554 no ${n + 1_000} <to${n}@example.com>` : `554 ${'x'.repeat(n % 300)}`,
  }))
  let turns = 0
  const again = () => {
    turns += 1
    next = setImmediate(again)
  }
  let next = setImmediate(again)
  const found = await havingReason(all, soughtBy('554 no # <address>'))
  clearImmediate(next)
  expect(found).toEqual(all.filter((_, n) => n % 3 === 0))
  expect(turns).toBeGreaterThanOrEqual(3)
})

it('finds by the words, by the group, by words of the same group, and by a part of an address that is hidden', async () => {
  const one = { email: 'ada@example.com', failedReason: '554 no box ada, id 77' }
  const none = { ...one, failedReason: '' }
  for (const sought of [
    one.failedReason,
    '554 no box <address>, id #',
    '554 no box <address>, id 5',
  ])
    expect([sought, await havingReason([one, none], soughtBy(sought))]).toEqual([sought, [one]])
  expect(await havingReason([one, none], soughtBy('554 no box'))).toEqual([])
  expect(await havingReason([one, none], soughtBy())).toEqual([one, none])
})

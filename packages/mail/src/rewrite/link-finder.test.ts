import type { ThreadOutcome } from '@postrider/runtime/thread-pool'
import { afterAll, expect, it } from 'vitest'
import { findLinkOffsets, type LinkOffsets } from './find-link-offsets.ts'
import { createLinkFinder } from './link-finder.ts'

const finder = createLinkFinder()
afterAll(() => finder.stop())

const link = '<a href="https://a.example/">x</a>'
const long = link + 'x'.repeat(70_000)

/** A pool that answers in this order, and how often it was asked. */
function createScriptedFinder(outcomes: readonly ThreadOutcome<LinkOffsets>[]) {
  const asked: string[] = []
  const pool = {
    name: 'scripted',
    start: async () => undefined,
    stop: async () => undefined,
    async run(caller: string) {
      asked.push(caller)
      return outcomes[asked.length - 1] ?? { kind: 'overran' as const, limit: 'time' as const }
    },
  }
  return { asked, ...createLinkFinder({ pool }) }
}

it.each([
  ['short', link],
  ['long', long],
  ['very long', `${'<td>'.repeat(1_000_000)}${link}`],
])('finds the same in %s HTML in place and in a thread', async (_, html) => {
  expect(await finder.find('tn_a', html)).toEqual(findLinkOffsets(html))
})

it('reads short HTML without a thread', async () => {
  const { asked, find } = createScriptedFinder([])
  expect(await find('tn_a', link)).toEqual(findLinkOffsets(link))
  expect(asked).toEqual([])
})

it('tries HTML once more after the time limit, as the machine may have been suspended', async () => {
  const found = findLinkOffsets(long)
  const slow = createScriptedFinder([
    { kind: 'overran', limit: 'time' },
    { kind: 'done', output: found },
  ])
  expect(await slow.find('tn_a', long)).toBe(found)
  const hostile = createScriptedFinder([])
  expect(await hostile.find('tn_a', long)).toBeUndefined()
  expect(hostile.asked).toEqual(['tn_a', 'tn_a'])
  const spinning = createScriptedFinder([{ kind: 'overran', limit: 'cpu' }])
  expect(await spinning.find('tn_a', long)).toBeUndefined()
  expect(spinning.asked).toEqual(['tn_a'])
})

import { expect, it } from 'vitest'
import type { Queryable } from '../../platform/db/index.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import { createKnownCopies, type KeyedHit } from './known-links.ts'

it('a delivered copy is known for a minute, and then only if it is still there', async () => {
  let nowMs = 0
  let rows: object[] = [{ i: 1, deliveredAt: new Date(), hasOwn: null }]
  let reads = 0
  const q: Queryable = {
    query: async () => {
      reads += 1
      return { rows: rows as never[], rowCount: rows.length }
    },
  }
  const known = createKnownCopies(() => nowMs)
  const hit = { tenantId: newId('tn'), refId: newUlid(), n: 0 } as KeyedHit['hit']
  const look = async () => (await known.copiesOf(q, [{ hit, key: 'k' }]))[0]
  expect(await look()).toBeDefined()
  // Its tenant is deleted.
  rows = []
  nowMs = 59_000
  expect(await look()).toBeDefined()
  expect(reads).toBe(1)
  nowMs = 60_000
  expect(await look()).toBeUndefined()
  expect(reads).toBe(2)
})

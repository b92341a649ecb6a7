/** Keys of groups that are committed at once. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { newUlid } from '../../platform/ids.ts'
import { keepKeys, type NewKey } from './key-store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 4 })
})
afterAll(() => database.close())

const keysOf = (count: number): NewKey[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ tenantId: 'tn_a', key: `key ${i}`, bodyHash: Buffer.alloc(32), refId: newUlid() },
  }))

it('are kept once where two groups share them in opposite orders, and neither group fails', async () => {
  const count = 5_000
  const keep = (keys: readonly NewKey[]) => database.db.transaction((tx) => keepKeys(tx, keys))
  const [one, other] = await Promise.all([keep(keysOf(count)), keep(keysOf(count).reverse())])
  const refsOf = (kept: typeof one) => [...kept.values()].map(({ refId }) => refId).toSorted()
  expect(one.size).toBe(count)
  expect(refsOf(other)).toEqual(refsOf(one))
})

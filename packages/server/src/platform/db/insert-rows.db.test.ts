import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { insertRows } from './insert-rows.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
  await database.db.query(`create table item (
    id bigint primary key, at timestamptz, is_new boolean, data jsonb, label text collate "C", note bytea
  )`)
})
afterAll(() => database.close())

const input = {
  name: 'insert_item',
  into: 'item',
  columns: ['id', 'at', 'is_new', 'data', 'label', 'note'],
}
const at = new Date('2026-11-20T13:01:02.123Z')
const rowOf = (id: number) => [
  id,
  at,
  id % 2 === 0,
  { id },
  id % 3 === 0 ? null : `n${id}`,
  Buffer.from([id % 256]),
]

it('inserts any number of rows, and returns them in order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 200 }), async (count) => {
      await database.db.query('truncate item')
      const rows = Array.from({ length: count }, (_, id) => rowOf(id))
      const result = await database.db.transaction((tx) =>
        insertRows<{ id: string }>(tx, { ...input, rows, suffix: 'returning id' }),
      )
      expect(result.rows.map((row) => row.id)).toEqual(rows.map(([id]) => String(id)))
    }),
    { numRuns: 30 },
  )
})

it('gives each value the type of its column', async () => {
  await database.db.query('truncate item')
  await insertRows(database.db, { ...input, name: 'insert_typed', rows: [rowOf(3), rowOf(4)] })
  const { rows } = await database.db.query('select * from item order by id')
  expect(rows).toEqual([
    { id: '3', at, is_new: false, data: { id: 3 }, label: null, note: Buffer.from([3]) },
    { id: '4', at, is_new: true, data: { id: 4 }, label: 'n4', note: Buffer.from([4]) },
  ])
})

it('returns only new rows with "on conflict do nothing returning"', async () => {
  await database.db.query('truncate item')
  const suffix = 'on conflict do nothing returning id'
  await insertRows(database.db, { ...input, name: 'insert_new', suffix, rows: [rowOf(1)] })
  const again = await insertRows(database.db, {
    ...input,
    name: 'insert_new',
    suffix,
    rows: [rowOf(1), rowOf(2)],
  })
  expect(again.rows).toEqual([{ id: '2' }])
})

it('refuses a row with too few values', async () => {
  const rows = [rowOf(1), [2]]
  await expect(insertRows(database.db, { ...input, rows })).rejects.toThrow('values')
})

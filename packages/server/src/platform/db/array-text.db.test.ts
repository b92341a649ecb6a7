import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  arrayText,
  bytesArray,
  nullableArrayText,
  plainArrayText,
  textArray,
} from './array-text.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ isMigrated: false })
})
afterAll(() => database.close())

it.each<[string, readonly (string | number | boolean)[]]>([
  ['text', ['tn_1', '', 'null', 'NULL', '(0,1)', '{a,b}', ' ', 'ä😀']],
  ['text', []],
  ['integer', [1, -2, 0]],
  ['boolean', [true, false]],
  ['tid', ['(0,1)', '(17,3)']],
  ['date', ['2026-01-02']],
])('writes %s as PostgreSQL reads them: %j', async (type, values) => {
  const { rows } = await database.db.query<{ value: unknown }>(
    `select to_json($1::${type}[]) as value`,
    [arrayText(values)],
  )
  expect(rows).toEqual([{ value: values }])
})

it('writes nested arrays that PostgreSQL reads one by one', async () => {
  const lists = [['evt_1', 'evt_2'], [], ['evt_3']]
  const { rows } = await database.db.query<{ value: unknown }>(
    'select v::text[] as value from unnest($1::text[]) v',
    [arrayText(lists.map(plainArrayText))],
  )
  expect(rows.map((row) => row.value)).toEqual(lists)
})

it.each<[string, readonly (string | number | boolean | null)[]]>([
  ['integer', [1, null, -3]],
  ['boolean', [true, null, false]],
  ['date', ['2026-01-02', null]],
  ['integer', []],
])('writes %s with nulls: %j', async (type, values) => {
  const { rows } = await database.db.query<{ value: unknown }>(
    `select to_json($1::${type}[]) as value`,
    [nullableArrayText(values)],
  )
  expect(rows).toEqual([{ value: values }])
})

it('writes any texts so that PostgreSQL reads the same', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', 'NULL', '{"a":"\\\\"}', ' '),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(text), { maxLength: 20 }), async (texts) => {
      // PostgreSQL stores no NUL.
      const values = texts.map((one) => one?.replaceAll('\0', '') ?? null)
      const { rows } = await database.db.query<{ value: unknown }>(
        'select to_json($1::text[]) as value',
        [textArray(values)],
      )
      expect(rows).toEqual([{ value: values }])
    }),
  )
})

it('writes any bytes so that PostgreSQL reads the same', async () => {
  const bytes = fc.uint8Array({ maxLength: 50 }).map((octets) => Buffer.from(octets))
  await fc.assert(
    fc.asyncProperty(fc.array(fc.option(bytes), { maxLength: 20 }), async (values) => {
      const { rows } = await database.db.query<{ value: unknown }>(
        'select value from unnest($1::bytea[]) as value',
        [bytesArray(values)],
      )
      expect(rows).toEqual(values.map((value) => ({ value })))
    }),
  )
})

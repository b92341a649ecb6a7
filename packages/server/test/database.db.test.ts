import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from './database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

it('gives each test a migrated and empty database', async () => {
  const { rows } = await database.db.query<{ count: string }>('select count(*) from platform_lease')
  expect(rows).toEqual([{ count: '0' }])
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { planOnceByIndex } from './plan-by-index.ts'
import { statement } from './statement.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

it('plans a statement over arrays once, whatever arrays it gets', async () => {
  const counted = statement(
    'test.counted',
    'select t.tenant_id from unnest($1::text[]) as k (id) join tenants_tenant t on t.tenant_id = k.id',
  )
  const plans = await database.db.transaction(async (tx) => {
    await planOnceByIndex(tx)
    for (let n = 0; n < 7; n++) await tx.query(counted, [['tn_a']])
    const { rows } = await tx.query(
      `select generic_plans::int as once, custom_plans::int as anew
         from pg_prepared_statements where name = 'test.counted'`,
    )
    return rows
  })
  expect(plans).toEqual([{ once: 7, anew: 0 }])
})

it('sets it for the transaction alone', async () => {
  await database.db.transaction(planOnceByIndex)
  const { rows } = await database.db.query(`select current_setting('plan_cache_mode') as mode`)
  expect(rows).toEqual([{ mode: 'auto' }])
})

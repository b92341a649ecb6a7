/**
 * What quotas cost is decided by their plans: the rows of a million other tenants (in `npm test` a
 * tenth) are not looked at.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, type SeenPlan } from '../../../test/explain.ts'
import { chargeQuotas, lockUsage } from './quota-store.ts'
import { readSenders } from './sender-store.ts'

const TENANTS = casesOf(100_000, 1_000_000)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await db.query(
    `insert into tenants_tenant (tenant_id, name, emails_per_day)
     select 'tn_' || i, 'Acme', 1000000 from generate_series(1, ${TENANTS}) i`,
  )
  await db.query('insert into tenants_usage (tenant_id) select tenant_id from tenants_tenant')
  await db.query('analyze tenants_tenant, tenants_usage')
}, 300_000)
afterAll(() => database.close())

describe.each<PlanMode>(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
  it('usage is read and charged by index', async () => {
    const plans: SeenPlan[] = []
    const ids = ['tn_7', 'tn_8', 'tn_none']
    await database.db
      .transaction(async (tx) => {
        const seen = explaining(tx, plans, mode)
        expect((await readSenders(seen, ids)).limited.size).toBe(2)
        await lockUsage(seen, ids)
        const charges = ids.slice(0, 2).map((tenantId) => ({ tenantId, emails: 1, bytes: 9 }))
        expect(await chargeQuotas(seen, charges, new Date())).toBe(true)
        throw new Error('taken back')
      })
      .catch((error: Error) => expect(error.message).toBe('taken back'))
    const scans = plans.flatMap(({ name, nodes }) =>
      nodes.flatMap((node) =>
        /Seq Scan/.test(node['Node Type']) ? [`${name}: ${node['Relation Name']}`] : [],
      ),
    )
    expect(scans).toEqual([])
    expect(plans).toHaveLength(3)
  }, 60_000)
})

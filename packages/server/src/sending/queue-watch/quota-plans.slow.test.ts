/** What quotas cost is decided by their plans: a million waiting recipients of others are not looked at. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, type SeenPlan } from '../../../test/explain.ts'
import { chargeQuotas, lockUsage } from '../../tenants/quotas/quota-store.ts'
import { readSenders } from '../../tenants/quotas/sender-store.ts'
import { countQueued } from './tenant-store.ts'

const ROWS = 1_000_000
const TENANTS = 10_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await db.query(
    `insert into tenants_tenant (tenant_id, name, emails_per_day)
     select 'tn_' || i, 'Acme', 1000000 from generate_series(1, ${TENANTS}) i`,
  )
  await db.query('insert into tenants_usage (tenant_id) select tenant_id from tenants_tenant')
  await db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
                                expires_at, content_bytes)
     select 'tn_' || i % ${TENANTS}, 'r' || i, 0, 'smtp_' || i % ${TENANTS}, i % 64, now(), 5, now(), 100
       from generate_series(1, ${ROWS}) i`,
  )
  await db.query('analyze tenants_tenant, tenants_usage, sending_queue, sending_scheduled')
}, 300_000)
afterAll(() => database.close())

describe.each<PlanMode>(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
  it('usage is read, charged and counted by index', async () => {
    const plans: SeenPlan[] = []
    const ids = ['tn_7', 'tn_8', 'tn_none']
    await database.db
      .transaction(async (tx) => {
        const seen = explaining(tx, plans, mode)
        expect((await readSenders(seen, ids)).limited.size).toBe(2)
        await lockUsage(seen, ids)
        const charges = ids.slice(0, 2).map((tenantId) => ({ tenantId, emails: 1, bytes: 9 }))
        expect(await chargeQuotas(seen, charges, new Date())).toBe(true)
        expect(await countQueued(seen, 'tn_7', 50)).toBe(50)
        throw new Error('taken back')
      })
      .catch((error: Error) => expect(error.message).toBe('taken back'))
    const scans = plans.flatMap(({ name, nodes }) =>
      nodes.flatMap((node) =>
        /Seq Scan/.test(node['Node Type']) ? [`${name}: ${node['Relation Name']}`] : [],
      ),
    )
    // The table is empty.
    expect(scans.filter((scan) => !scan.endsWith(': sending_scheduled'))).toEqual([])
    expect(plans).toHaveLength(4)
  }, 60_000)
})

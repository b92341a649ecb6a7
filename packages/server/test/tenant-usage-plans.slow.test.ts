/**
 * What the list of tenants costs is decided by its plans: with 10,000 tenants (in `npm test` a fifth) it reads the
 * counts of the tenants on its page, and those by index.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countQueued } from '../src/sending/index.ts'
import { pageOfTenantsWithUsage } from '../src/tenants/get-tenant.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { explaining, type SeenPlan } from './explain.ts'

const TENANTS = casesOf(2_000, 10_000)
const HOURS = 48
const DAY_MS = 86_400_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await db.query(
    `insert into tenants_tenant (tenant_id, name)
     select 'tn_' || lpad(n::text, 26, '0'), 'Acme' from generate_series(1, ${TENANTS}) n`,
  )
  for (let part = 0; part < 10; part += 1)
    await db.query(
      `insert into platform_counter (tenant_id, subject, span, at, name, n)
       select 'tn_' || lpad(n::text, 26, '0'), '', 'hour', date_trunc('hour', now()) - h * interval '1 hour',
              name, 7
         from generate_series($1::int + 1, $1::int + ${TENANTS / 10}) n, generate_series(0, ${HOURS - 1}) h,
              unnest(array['recipients', 'stored_bytes']) name`,
      [(part * TENANTS) / 10],
    )
  await db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at, max_attempts, expires_at,
                                content_bytes)
     select 'tn_' || lpad((n % ${TENANTS} + 1)::text, 26, '0'), 'r' || n, 0, 'smtp_1', 1, false, now(), 5, now(), 1
       from generate_series(1, ${20 * TENANTS}) n`,
  )
}, 240_000)
afterAll(() => database.close())

it('lists tenants with their usage by index, in as many statements for 500 as for one', async () => {
  for (const statistics of ['without', 'with']) {
    if (statistics === 'with')
      await database.db.query('analyze tenants_tenant, platform_counter, sending_queue')
    const plans: SeenPlan[] = []
    const { tenants } = await database.db.transaction((tx) => {
      const { query } = explaining(tx, plans, 'auto')
      const deps = {
        db: { ...database.db, query },
        countQueued,
        ...{ retentionMs: 30 * DAY_MS, contentRetentionMs: 30 * DAY_MS },
      }
      return pageOfTenantsWithUsage(deps, { pageSize: 500 })
    })
    expect(tenants.length).toBe(500)
    for (const { usage } of tenants) {
      expect(usage).toMatchObject({ queued: 20, storage_bytes: 7 * HOURS })
      expect(usage.emails_today).toBeGreaterThan(0)
    }
    expect(plans.length).toBe(3)
    // Changes that are not in the sums yet are few: all of them may be read.
    const scans = plans.flatMap(({ name, nodes }) =>
      nodes
        .filter((node) => /^(platform_counter|sending_queue)$/.test(node['Relation Name'] ?? ''))
        .filter((node) => !/Index/.test(node['Node Type']))
        .map((node) => `${name}: ${node['Node Type']} ${node['Relation Name']}`),
    )
    expect(scans).toEqual([])
  }
}, 120_000)

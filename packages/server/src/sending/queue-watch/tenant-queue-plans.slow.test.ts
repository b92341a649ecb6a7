/**
 * What an overview costs is decided by its plans, not measured: with a million recipients waiting (in `npm test`
 * a fifth), rows of one tenant are reached by an index, or by the page, and a bounded number of them is read.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, type SeenPlan } from '../../../test/explain.ts'
import { readInOrder } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { listFailingOf } from '../../webhooks/index.ts'
import { measureMailerQueue, measureTenantQueue } from './measure-tenant-queue.ts'
import { countQueued } from './tenant-store.ts'

const ROWS = casesOf(200_000, 1_000_000)
const MAILERS = 20
const EXACT_MAX = 500

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  // Of ten tenants, each with mailers of its own: half of it due.
  const buckets = Array.from({ length: 10 * MAILERS }, (_, i) => bucketOf(`smtp_${i}`))
  const rows = (
    count: number,
  ) => `select 'tn_' || n % 10, 'r' || n, 0, 'smtp_' || n % ${10 * MAILERS},
            ($1::int[])[n % ${10 * MAILERS} + 1], n % 3 = 0,
            now() + case when n / 1000 % 2 = 0 then -1 else 1 end * n % 600 * interval '1 s', 5,
            now() + interval '3 days', 100
       from generate_series(1, ${count}) n`
  const columns =
    'tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at, max_attempts, expires_at, content_bytes'
  await database.fill(`insert into sending_queue (${columns}) ${rows(ROWS)}`, [buckets])
  await database.fill(`insert into sending_scheduled (${columns}) ${rows(ROWS / 10)}`, [buckets])
  await database.fill(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, first_failure_at, delivery_id)
     select 'tn_' || n % 10, 'wh_' || n, n % 64, 'array', case when n % 1000 < 10 then now() end, 'd'
       from generate_series(1, 100000) n`,
  )
}, 180_000)
afterAll(() => database.close())

async function look(mode: PlanMode): Promise<SeenPlan[]> {
  const plans: SeenPlan[] = []
  await readInOrder(database.db, async (tx) => {
    const seen = explaining(tx, plans, mode)
    const found = await measureTenantQueue(seen, 'tn_7', EXACT_MAX)
    // A sample is off by a few per cent.
    expect(found.waiting).toBeGreaterThan(ROWS / 10 / 2)
    expect(found.due).toBeGreaterThan(ROWS / 20 / 2)
    expect(found.scheduled).toBeGreaterThan(ROWS / 100 / 2)
    const mailer = { tenantId: 'tn_7', mailerId: 'smtp_7' }
    const counted = await measureMailerQueue(seen, mailer, EXACT_MAX)
    expect(counted.waiting).toBeGreaterThan(EXACT_MAX)
    expect((await listFailingOf(seen, 'tn_7', 50)).length).toBe(50)
    expect((await countQueued(seen, ['tn_7'], EXACT_MAX)).get('tn_7')).toBe(EXACT_MAX)
  })
  return plans
}

it.each(['force_custom_plan', 'force_generic_plan'] as const)(
  'reads the queue of a tenant by index or by page, %s',
  async (mode) => {
    for (const statistics of ['without', 'with']) {
      if (statistics === 'with')
        await database.db.query('analyze sending_queue, sending_scheduled, webhooks_stream')
      const plans = await look(mode)
      const scans = plans.flatMap(({ name, nodes }) =>
        nodes
          .filter((node) => /^(sending|webhooks)_/.test(node['Relation Name'] ?? ''))
          .map((node) => `${name}: ${node['Node Type']}`),
      )
      expect(new Set(plans.map(({ name }) => name)).size).toBeGreaterThanOrEqual(9)
      const isByIndex = (scan: string) => /: (Index (Only )?Scan|Tid Range Scan)$/.test(scan)
      expect([...new Set(scans.filter((scan) => !isByIndex(scan)))]).toEqual([])
    }
  },
  120_000,
)

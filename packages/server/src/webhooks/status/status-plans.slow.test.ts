/** The status of one webhook reads a bounded number of rows, whatever waits for it and for others. */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, planOf, type SeenPlan } from '../../../test/explain.ts'
import { makeDays } from '../../../test/webhook-record.ts'
import { planByIndex, type Tx } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { readDurations, readStatus } from './status-store.ts'

const ROWS = casesOf(100_000, 1_000_000)
const DELIVERIES = casesOf(20_000, 200_000)
const WEBHOOKS = 50
const KEY = { tenantId: 'tn_a', webhookId: 'wh_7' }
const LIMITS = { openMax: 1_000, pendingMax: 10_000, replayedMax: 100_000 }

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 })
  const { db } = database
  await makeDays(db)
  await db.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, owner, url, method, headers_sealed, header_names)
     select 'tn_a', 'wh_' || n, 'INCOMING', 'imap_' || n, '', 'POST', '', '{}'
       from generate_series(0, $1::integer - 1) n`,
    [WEBHOOKS],
  )
  await db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, state)
     select 'tn_a', 'wh_' || n, n % 64, 'single', 'active' from generate_series(0, $1::integer - 1) n`,
    [WEBHOOKS],
  )
  await db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes)
     select 'tn_a', 'wh_' || n % $2::integer, 'evt_' || lpad(n::text, 20, '0'), current_date, 1
       from generate_series(1, $1::integer) n`,
    [ROWS, WEBHOOKS],
  )
  await db.query(
    `insert into webhooks_delivery (tenant_id, delivery_id, day, webhook_id, status, mode,
            event_ids, event_days, traceparent, attempts, last_attempt)
     select 'tn_a', $3 || lpad(n::text, 16, '0'), current_date, 'wh_' || n % $2::integer, 'delivered',
            'single', '{}', '{}', '', 1, '{"duration_ms":5}'
       from generate_series(1, $1::integer) n`,
    [DELIVERIES, WEBHOOKS, `dlv_${ulidAtTime(Date.now()).slice(0, 10)}`],
  )
  await db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation, status,
            event_ids, event_days, traceparent, due_at)
     select 'tn_a', 'dlv_' || lpad(n::text, 26, '0'), current_date, 'wh_' || n % $2::integer, 1, 0,
            'parked', '{a}', '{2026-01-01}', '', now() + interval '1 hour'
       from generate_series(1, $1::integer) n`,
    [DELIVERIES, WEBHOOKS],
  )
}, 180_000)
afterAll(() => database.close())

async function readAll(tx: Tx): Promise<void> {
  await planByIndex(tx)
  await readStatus(tx, KEY, LIMITS)
  const deliveryId = `dlv_${ulidAtTime(Date.now() - 3_600_000)}`
  const day = new Date(Date.now() - 3_600_000).toISOString().slice(0, 10)
  await readDurations(tx, KEY, { deliveryId, day, deliveriesMax: 2_000 })
}

const LARGE = /^webhooks_(?:pending|open|attempt|delivery)/
/** Counting stops at its limit; that of deliveries is looked at once for all webhooks. */
const ROWS_MAX = 10_000

it.each<[PlanMode, string]>([
  ['force_generic_plan', 'without statistics'],
  ['force_generic_plan', 'with statistics'],
  ['force_custom_plan', 'with statistics'],
])('reads no whole table, and counts no further than it says, with %s, %s', async (mode, when) => {
  if (when === 'with statistics') await database.db.query('analyze')
  const plans: SeenPlan[] = []
  const most = await database.db.transaction(async (tx) => {
    await readAll(explaining(tx, plans, mode))
    const rows: string[] = []
    for (const { name, values } of plans) {
      if (!name.startsWith('webhooks.')) continue
      const nodes = await planOf(tx, name, values, 'analyze, timing off, format json')
      for (const node of nodes) {
        const read = (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0)
        const removed = Number(Reflect.get(node, 'Rows Removed by Filter') ?? 0)
        if (read + removed > ROWS_MAX) rows.push(`${name}: ${node['Node Type']} ${read + removed}`)
      }
    }
    return rows
  })
  const scans = plans.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && LARGE.test(node['Relation Name'] ?? ''))
      .map((node) => `${name}: ${node['Relation Name']}`),
  )
  expect([scans, most]).toEqual([[], []])
  expect(plans.map(({ name }) => name)).toContain('webhooks.request_durations')
})

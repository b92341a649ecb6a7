/**
 * The figures stay cheap at any backlog: pointers are reached through their index, stream by stream,
 * and no more of them are read than are counted.
 */

import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { explaining, type PlanMode, planOf, type SeenPlan } from '../../../../test/explain.ts'
import { planByIndex } from '../../../platform/db/index.ts'
import { countOpen, countPending, listDormant, observeStreams } from './observe-store.ts'

const BUCKETS = [1, 2, 3]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 })
  const { db } = database
  // Plans made while there was nothing.
  await db.transaction((tx) => observe(explaining(tx, [], 'force_generic_plan')))
  await db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, state)
     select 'tn_' || n, 'wh_' || n, n % 64, 'array', 'active' from generate_series(0, 1999) n`,
  )
  await db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes)
     select 'tn_' || n % 2000, 'wh_' || n % 2000, 'evt_' || lpad(n::text, 20, '0'), current_date, 1
       from generate_series(0, 99999) n`,
  )
})
afterAll(() => database.close())

async function observe(tx: Parameters<typeof planByIndex>[0]): Promise<void> {
  await planByIndex(tx)
  await observeStreams(tx, BUCKETS)
  await countPending(tx, BUCKETS, 1_000)
  await countOpen(tx, BUCKETS, 1_000)
  await listDormant(tx, BUCKETS, 100)
}

const LARGE = /^webhooks_(pending|stream)$/

it.each<[PlanMode, string]>([
  ['force_generic_plan', 'as they were made before'],
  ['force_generic_plan', 'after an analyze'],
  ['force_custom_plan', 'after an analyze'],
])('reads no whole table with %s, %s', async (mode, when) => {
  if (when === 'after an analyze') await database.db.query('analyze')
  const plans: SeenPlan[] = []
  await database.db.transaction((tx) => observe(explaining(tx, plans, mode)))
  expect(plans.map((plan) => plan.name)).toEqual([
    'platform.plan_by_index',
    'webhooks.observe_streams',
    'webhooks.count_pending',
    'webhooks.count_open',
    'webhooks.list_dormant',
  ])
  const scans = plans.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => node['Node Type'] === 'Seq Scan' && LARGE.test(node['Relation Name'] ?? ''))
      .map((node) => `${name}: ${node['Relation Name']}`),
  )
  expect(scans).toEqual([])
})

it('stops counting at its bound', async () => {
  const nodes = await database.db.transaction(async (tx) => {
    await planByIndex(tx)
    await countPending(tx, BUCKETS, 1_000)
    const values = [BUCKETS, 1_000]
    return await planOf(tx, 'webhooks.count_pending', values, 'analyze, timing off, format json')
  })
  const read = nodes
    .filter((node) => node['Relation Name'] === 'webhooks_pending')
    .map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0))
  expect(read).toHaveLength(1)
  expect(Math.round(read[0] ?? 0)).toBeLessThanOrEqual(1_000)
})

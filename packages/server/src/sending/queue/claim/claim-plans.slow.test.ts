/**
 * What claims cost in a deep queue is decided by their plans, not measured: rows are reached through
 * the index that leads to them, however old the plan is.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import {
  explaining,
  type PlanMode,
  type PlanNode,
  type SeenPlan,
} from '../../../../test/explain.ts'
import type { Tx } from '../../../platform/db/index.ts'
import { claimDue, claimExpired, claimSuspect, discoverQueues } from './claim-store.ts'

const BUCKETS = Array.from({ length: 64 }, (_, i) => i)
const leaseMs = 60_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

/** A queue with many rows. */
async function fill(first: number, last: number): Promise<void> {
  await database.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_a', 'r' || n, 0, 'smtp_a', 7, n % 10 > 0, now() - n % 10 * interval '1 s', 5,
            now() + interval '3 days', 100
       from generate_series($1::integer, $2::integer) n`,
    [first, last],
  )
}

/** Ten thousand queues with a row each that is due in an hour. */
async function addOthers(): Promise<void> {
  await database.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_' || n % 100, 'o' || n, 0, 'smtp_' || n, n % 64, false, now() + interval '1 hour', 5,
            now() + interval '3 days', 100
       from generate_series(1, 10000) n`,
  )
}

async function useAll(plans: SeenPlan[] | undefined, mode: PlanMode): Promise<void> {
  const queue = { tenantId: 'tn_a', mailerId: 'smtp_a', bucket: 7 }
  const counted = async (tx: Tx) => {
    for (const isBulk of [false, true])
      expect(await claimDue(tx, queue, { isBulk, limit: 20, leaseMs })).toHaveLength(20)
    expect(await discoverQueues(tx, BUCKETS, 2_000)).toHaveLength(2)
    expect(await claimExpired(tx, BUCKETS, { limit: 100, leaseMs })).toEqual([])
    await tx.query(
      `update sending_queue set expires_at = now(), interrupted = 2, phase = 'sending'
        where ref_id = 'r1'`,
    )
    await claimSuspect(tx, BUCKETS, leaseMs)
    await tx.query(`update sending_queue set due_at = now() where ref_id = 'r1'`)
    expect(await claimExpired(tx, BUCKETS, { limit: 100, leaseMs })).toHaveLength(1)
    await tx.query(
      `update sending_queue set expires_at = now() + interval '1 day' where ref_id = 'r1'`,
    )
  }
  await database.db.transaction((tx) =>
    counted(plans === undefined ? tx : explaining(tx, plans, mode)),
  )
}

/** Each with what it must be entered by. */
const INDEXES: readonly (readonly [name: RegExp, condition: RegExp])[] = [
  [/^sending_queue_due$/, /bucket/],
  [/^sending_queue_expires$/, /bucket.*expires_at/],
  [/^sending_queue_interrupted$/, /bucket/],
  [/^sending_queue_pkey$/, /tenant_id.*ref_id/],
]

function isFine(node: PlanNode): boolean {
  const type = node['Node Type']
  if (/Hash Join|Merge Join|Bitmap|Incremental Sort/.test(type)) return false
  if (node['Relation Name'] !== 'sending_queue' || type === 'ModifyTable') return true
  const { 'Index Name': index = '', 'Index Cond': condition = '' } = node
  return (
    /^Index (Only )?Scan$/.test(type) &&
    INDEXES.some(([name, columns]) => name.test(index) && columns.test(condition))
  )
}

it.each<PlanMode>(['force_custom_plan', 'force_generic_plan', 'auto'])(
  'claims rows by index, with %s and plans of an empty table',
  async (mode) => {
    await database.db.query('truncate sending_queue')
    if (mode === 'auto') {
      await fill(1, 3_000)
      // Often enough that the server keeps its plans.
      for (let round = 0; round < 7; round++) await useAll(undefined, mode)
    }
    await fill(3_001, 100_000)
    if (mode !== 'auto') await fill(1, 3_000)
    await addOthers()
    if (mode !== 'auto') await database.db.query('analyze sending_queue')
    const plans: SeenPlan[] = []
    await useAll(plans, mode)
    const bad = plans.flatMap(({ name, nodes }) =>
      nodes.filter((node) => !isFine(node)).map((node) => ({ name, node: { ...node, Plans: 0 } })),
    )
    expect(bad).toEqual([])
  },
  60_000,
)

/**
 * What the engine's statements do at a million queued events (in `npm test` at a fifth) is decided by their
 * plans, not measured: rows of large tables are reached through an index or by their place, however old the
 * plan is.
 */
import { casesOf } from '@postrider/testkit'
import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, type PlanNode, type SeenPlan } from '../../../test/explain.ts'
import { queueBacklog } from '../../../test/webhook-backlog.ts'
import { createDayPartitions, type Tx } from '../../platform/db/index.ts'
import { clearStream } from './operate/clear-stream.ts'
import { type Settlement, settleDeliveries } from './settle/settle-deliveries.ts'
import { idleStreams, type StreamKey } from './stream-store.ts'
import { divideDelivery } from './take/divide-delivery.ts'
import { type ReadyDelivery, takeDeliveries } from './take/take-deliveries.ts'

const limits = { batchEventsMax: 500, batchBytesMax: 1_000_000, policy: { retryForMs: 3_600_000 } }
const STATEMENTS = [
  'platform.plan_by_index',
  'webhooks.lock_streams',
  'webhooks.load_targets',
  'webhooks.existing_streams',
  'webhooks.have_pending',
  'webhooks.peek_pending',
  'webhooks.load_open',
  'webhooks.load_events',
  'webhooks.delete_pointers',
  'webhooks.delete_read_pointers',
  'webhooks.hold_delivery',
  'webhooks.call_up_open',
  'webhooks.settle_delivered',
  'webhooks.settle_refused',
  'webhooks.lock_for_rest',
  'webhooks.look_for_rest',
  'webhooks.go_idle',
  'webhooks.delete_streams',
  'webhooks.has_overdue',
  'webhooks.clearable_pointers',
  'webhooks.waiting_open',
  'webhooks.close_open',
  'webhooks.release_stream',
]
const LARGE = /^webhooks_(pending|open|stream|subscription|event)/
/** Each with the column without which it leads to more rows than are wanted. */
const INDEXES: readonly (readonly [name: RegExp, column: RegExp])[] = [
  [/^webhooks_pending_pkey$/, /webhook_id/],
  [/^webhooks_open_pkey$/, /delivery_id/],
  [/^webhooks_open_stream$/, /webhook_id/],
  [/^webhooks_stream_pkey$/, /webhook_id/],
  [/^webhooks_subscription_pkey$/, /webhook_id/],
  [/^webhooks_event_\d+_pkey$/, /event_id/],
]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 })
  const log = pino({ level: 'silent' })
  const tables = ['webhooks_event', 'webhooks_delivery', 'webhooks_attempt']
  await createDayPartitions({ db: database.db, tables, log }).runOnce()
})
afterAll(() => database.close())
beforeEach(() =>
  database.db.query(
    `truncate webhooks_event, webhooks_delivery, webhooks_attempt, webhooks_open,
              webhooks_stream, webhooks_pending, webhooks_subscription`,
  ),
)

const keyOf = (n: number): StreamKey => ({ tenantId: `tn_${n}`, webhookId: `wh_${n}` })

async function addStreams(count: number): Promise<void> {
  await database.db.query(
    `insert into webhooks_subscription (tenant_id, webhook_id, event, url, method, headers_sealed,
                                        header_names)
     select 'tn_' || n, 'wh_' || n, 'EMAIL_EVENT', 'https://hooks.example.test/', 'POST', '', '{}'
       from generate_series(0, $1::integer - 1) n`,
    [count],
  )
  await database.db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode, state)
     select 'tn_' || n, 'wh_' || n, n % 64, 'array', 'active'
       from generate_series(0, $1::integer - 1) n`,
    [count],
  )
}

/** Without the checks of foreign keys, which would take most of the time. */
async function bulk(work: () => Promise<unknown>): Promise<void> {
  await database.db.query(`set session_replication_role = replica`)
  await work()
  await database.db.query(`set session_replication_role = origin`)
}

/** Pointers and open deliveries of others, so that no table is small. */
async function fillPending(streams: number, each: number): Promise<void> {
  const total = streams * each
  await bulk(async () => {
    // No statement may take long on a machine that has other things to do.
    for (let from = 0; from < total; from += 50_000)
      await database.db.query(
        `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes)
         select 'tn_' || n / $3::integer, 'wh_' || n / $3::integer,
                'evt_02' || lpad((n % $3::integer)::text, 24, '0'), current_date, 100
           from generate_series($1::integer, $2::integer) n`,
        [from, Math.min(from + 50_000, total) - 1, each],
      )
  })
  await database.db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation, event_ids,
                                event_days, traceparent, due_at)
     select 'tn_x', 'dlv_' || n, current_date, 'wh_x' || n, n % 64, 0, '{e}', array[current_date], 't',
            now()
       from generate_series(1, 20000) n`,
  )
}

/** Everything that the engine does, on the streams from `first` to `first + 9`. */
async function useAll(first: number, inTx: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>) {
  const keys = Array.from({ length: 10 }, (_, i) => keyOf(first + i))
  const setStream = (n: number, columns: string) =>
    database.db.query(`update webhooks_stream set ${columns} where webhook_id = 'wh_${first + n}'`)
  for (const [i, key] of keys.entries())
    if (i < 8) await queueBacklog(database.db, key, { count: i === 7 ? 600 : 3 })
  const take = (of: readonly StreamKey[]) =>
    inTx((tx) =>
      takeDeliveries(
        tx,
        of.map((key) => ({ ...key, low: ['', ''], limits, random: 0, canKeepAhead: true })),
      ),
    )
  const settle = (settlements: Settlement[]) => inTx((tx) => settleDeliveries(tx, settlements))

  const taken = await take([...keys, keyOf(999_999)])
  const ready = taken.filter((one): one is ReadyDelivery => one.kind === 'ready')
  expect(ready).toHaveLength(8)
  const steps = [
    { kind: 'delivered', endsProbe: true },
    { kind: 'retry', waitMs: 0 },
    { kind: 'divided' },
    { kind: 'parked', waitMs: 0 },
    { kind: 'exhausted', isReceiverUp: true, waitMs: 0 },
  ] as const
  const settlements = ready.map((one, i): Settlement => {
    const step = steps[i] ?? steps[0]
    return {
      ...one.delivery,
      failCount: 0,
      epoch: 0,
      attempt: '{"at":"2026-01-02T03:04:05Z","duration_ms":1,"header_names":[]}',
      step,
      halves: step.kind === 'divided' ? divideDelivery(one) : [],
    }
  })
  expect(await settle(settlements)).toEqual(settlements.map(() => true))
  await setStream(1, `first_failure_at = now() - interval '2 hours'`)
  await setStream(2, 'parked_in_row = 10')
  // What was read with a first event, where each travels alone.
  const alone = { ...limits, batchEventsMax: 1 }
  const key = keyOf(first + 9)
  await queueBacklog(database.db, key, { count: 3 })
  const [next] = await inTx((tx) =>
    takeDeliveries(tx, [{ ...key, low: ['', ''], limits: alone, random: 0, canKeepAhead: true }]),
  )
  if (next?.kind !== 'ready') throw new Error(next?.kind)
  await setStream(9, 'delivery_id = null')
  const [ahead] = next.ahead
  const [following] = await inTx((tx) =>
    takeDeliveries(tx, [
      { ...key, low: ['', ''], limits: alone, random: 0, canKeepAhead: true, ahead },
    ]),
  )
  expect(following?.kind).toBe('ready')
  // The second to fourth have open deliveries now: the current one, halves, a parked one.
  const again = await take(keys.slice(1, 4))
  expect(again.map((one) => one.kind)).toEqual(['ready', 'ready', 'ready'])

  // Of the last ones: webhooks that are gone or off, and one that fails for too long.
  const { db } = database
  await db.query(`delete from webhooks_subscription where webhook_id = any($1)`, [
    [2, 8].map((i) => keyOf(first + i).webhookId),
  ])
  await queueBacklog(db, keyOf(first + 6), { count: 3, from: 100, queuedAgoMs: 7_200_000 })
  await setStream(6, `first_failure_at = now() - interval '2 hours'`)
  for (const i of [2, 6]) {
    const { discarded, exhausted } = await inTx((tx) =>
      clearStream(tx, {
        ...keyOf(first + i),
        low: ['', ''],
        limits,
        random: 0,
        canKeepAhead: true,
      }),
    )
    expect(discarded.length + exhausted.length).toBeGreaterThan(0)
  }
  await inTx((tx) => idleStreams(tx, keys))
}

const inPlainTx = <T>(work: (tx: Tx) => Promise<T>) => database.db.transaction(work)
const inExplainedTx =
  (plans: SeenPlan[], mode: PlanMode) =>
  <T>(work: (tx: Tx) => Promise<T>) =>
    database.db.transaction((tx) => work(explaining(tx, plans, mode)))

function isFine(node: PlanNode): boolean {
  const type = node['Node Type']
  if (/Hash Join|Merge Join|Bitmap/.test(type)) return false
  if (!LARGE.test(node['Relation Name'] ?? '')) return true
  if (type === 'ModifyTable' || type === 'Tid Scan') return true
  const { 'Index Name': index = '', 'Index Cond': condition = '' } = node
  return (
    /^Index (Only )?Scan$/.test(type) &&
    INDEXES.some(([name, column]) => name.test(index) && column.test(condition))
  )
}

function expectIndexesOnly(plans: readonly SeenPlan[]): void {
  const names = new Set(plans.map((plan) => plan.name))
  expect(STATEMENTS.filter((name) => !names.has(name))).toEqual([])
  const bad = plans.flatMap(({ name, nodes }) =>
    nodes.filter((node) => !isFine(node)).map((node) => ({ name, node: { ...node, Plans: 0 } })),
  )
  expect(bad).toEqual([])
}

it.each<[string, number, number]>([
  ['one stream', 1, casesOf(200_000, 1_000_000)],
  ['ten thousand streams', 10_000, casesOf(20, 100)],
])(
  'runs every statement by index or row position at a table full of queued events of %s',
  async (_what, streams, each) => {
    await addStreams(10_100)
    await fillPending(streams, each)
    for (const table of ['pending', 'open', 'stream', 'subscription'])
      await database.db.query(`analyze webhooks_${table}`)
    const plans: SeenPlan[] = []
    await useAll(10_000, inExplainedTx(plans, 'force_custom_plan'))
    expectIndexesOnly(plans.splice(0))
    await useAll(10_050, inExplainedTx(plans, 'force_generic_plan'))
    expectIndexesOnly(plans)
  },
  120_000,
)

it('runs every statement by index without statistics, and with plans of empty tables', async () => {
  await addStreams(200)
  // Often enough that the server keeps its plans.
  for (let round = 0; round < 7; round += 1) await useAll(round * 10, inPlainTx)
  await fillPending(100, 1_000)
  await queueBacklog(database.db, keyOf(190), { count: 20_000, from: 1_000 })
  for (const [first, mode] of [
    [100, 'auto'],
    [110, 'force_generic_plan'],
    [120, 'force_custom_plan'],
  ] as const) {
    const plans: SeenPlan[] = []
    await useAll(first, inExplainedTx(plans, mode))
    expectIndexesOnly(plans)
    await database.db.query('discard plans')
  }
}, 120_000)

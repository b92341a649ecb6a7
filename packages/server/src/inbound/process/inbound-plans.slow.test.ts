/**
 * What reporting costs is decided by its plans, not measured: every row is reached through an index,
 * also with plans that were made while the tables were empty, and whatever the statistics say.
 */
import { expect, it } from 'vitest'
import {
  expectPlans,
  explaining,
  type PlanMode,
  type PlanNode,
  type SeenPlan,
} from '../../../test/explain.ts'
import { rawMail, routeOf } from '../../../test/inbound.ts'
import { useInbound } from '../../../test/inbound-worker.ts'
import { testLimiter } from '../../../test/webhook-api.ts'
import { type Db, transactByIndex } from '../../platform/db/index.ts'
import { newUlid } from '../../platform/ids.ts'
import { partitionedTables } from '../../retention-days.ts'
import { listInboundMessages } from '../messages/list-messages.ts'
import { openRaw } from '../messages/open-raw.ts'
import { putOffMessages } from './queue-store.ts'

const world = useInbound()

const STATEMENTS = [
  'inbound.find_due',
  'inbound.claim',
  'inbound.load_messages',
  'inbound.hold',
  'inbound.mark_reported',
  'inbound.end',
  'inbound.put_off',
  'inbound.find_message',
  'inbound.list_messages',
  'inbound.read_piece',
]
const ROUNDS = 7
const DAYS = 20
const shown = { publicUrl: 'https://post.example.com', mayReadContent: true }

async function useAll(plans: SeenPlan[] | undefined, mode: PlanMode): Promise<void> {
  const { db } = world
  const on: Db =
    plans === undefined
      ? db
      : {
          ...db,
          transaction: (work, o) => db.transaction((tx) => work(explaining(tx, plans, mode)), o),
        }
  const tenantId = 'tn_1'
  const route = routeOf({ tenantId })
  const raw = rawMail({ messageId: `<${newUlid()}@x>`, body: 'x'.repeat(600_000) })
  const [id = ''] = await world.receive({ raw, routes: [[route, 'a@in.example.com']] })
  expect(await world.worker({ db: on }).runOnce()).toBe(1)
  const unknown = { tenantId, inboundId: id, fence: '99', waitMs: 0, isTry: false }
  await transactByIndex(on, (tx) => putOffMessages(tx, [unknown]))
  const list = await listInboundMessages({ db: on, ...shown }, tenantId, { pageSize: 1 })
  expect(list.inbound_messages).toMatchObject([{ inbound_id: id }])
  const one = await listInboundMessages({ db: on, ...shown }, tenantId, { inbound_id: id })
  expect(one.inbound_messages).toMatchObject([{ inbound_id: id }])
  const { stream } = await openRaw({ db: on, limiter: testLimiter }, tenantId, id)
  expect(Buffer.concat(await stream.toArray())).toEqual(raw)
}

/** As weeks of use leave it. */
async function fill(): Promise<void> {
  const { db } = world
  await db.query(
    `insert into inbound_queue (tenant_id, inbound_id, bytes, due_at)
     select 'tn_' || i % 50, 'in_' || i, 1, now() + interval '1 hour' from generate_series(1, 20000) i`,
  )
  await db.query(
    `insert into inbound_raw (tenant_id, raw_id, day, raw)
     select 'tn_' || i % 50, 'in_' || i, current_date - i % ${DAYS}, '\\x00' from generate_series(1, 20000) i`,
  )
  await db.query(
    `insert into inbound_message (tenant_id, inbound_id, day, raw_id, source, owner, received_at, bytes)
     select 'tn_' || i % 50, 'in_' || i, current_date - i % ${DAYS}, 'in_' || i, 'imap', '', now(), 1
       from generate_series(1, 20000) i`,
  )
}

function isFine(node: PlanNode): boolean {
  const type = node['Node Type']
  if (/Hash Join|Merge Join/.test(type)) return false
  return type !== 'Seq Scan' || !/^inbound_/.test(node['Relation Name'] ?? '')
}

it.each<PlanMode>(['auto', 'force_generic_plan', 'force_custom_plan'])(
  'runs every statement by index, with %s and plans of empty tables',
  async (mode) => {
    const { db } = world
    for (const table of partitionedTables)
      await db.query('select platform_ensure_day_partitions($1, $2)', [table, DAYS])
    await db.query(`set plan_cache_mode = ${mode}`)
    for (let round = 0; round < ROUNDS; round++) await useAll(undefined, mode)
    await fill()
    const plans: SeenPlan[] = []
    await useAll(plans, mode)
    expectPlans(plans, STATEMENTS, isFine)
  },
  60_000,
)

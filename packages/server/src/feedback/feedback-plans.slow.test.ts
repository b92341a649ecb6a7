/**
 * What applying costs is decided by its plans, not measured: every row is reached through an index,
 * also with plans that were made while the tables were empty, and whatever the statistics say.
 */
import { expect, it } from 'vitest'
import {
  expectPlans,
  explaining,
  type PlanMode,
  type PlanNode,
  type SeenPlan,
} from '../../test/explain.ts'
import { bodyOf, useFeedback } from '../../test/feedback.ts'
import type { Db } from '../platform/db/index.ts'
import { partitionedTables } from '../retention-days.ts'
import { reviewSuppressions } from './review/review-suppressions.ts'

const world = useFeedback()

const STATEMENTS = [
  'feedback.find_waiting',
  'feedback.take_callbacks',
  'feedback.delete_callbacks',
  'feedback.find_messages',
  'feedback.count_facts',
  'feedback.mark_unsubscribed',
  'feedback.mark_complained',
  'feedback.wake_unmatched',
  'feedback.drop_excess',
  'feedback.take_unmatched',
  'feedback.delete_unmatched',
  'feedback.postpone_unmatched',
  'feedback.find_bounces_of',
  'sending.find_by_message_id',
  'sending.find_sent_to',
  'sending.lock_reported',
  'sending.read_reported',
  'sending.settle_reported',
  'sending.report_status',
]
const ROUNDS = 7
const DAYS = 20
const LARGE = /^(sending|feedback)_/

async function applyAll(plans: SeenPlan[] | undefined, mode: PlanMode): Promise<void> {
  const { db } = world
  const on: Db =
    plans === undefined
      ? db
      : {
          ...db,
          transaction: (work, o) => db.transaction((tx) => work(explaining(tx, plans, mode)), o),
        }
  const account = await world.account('sparkpost')
  const to = [1, 2, 3].map((i) => ({ email: `user${i}@example.com` }))
  const { tenantId } = account
  const mail = await world.send({ tenantId, email: { to } })
  const waiting = await world.send({ tenantId, status: 'deferred' })
  const { feedback } = await world.another({ db: on })
  const key = mail.refId
  const callbacks = [
    bodyOf('sparkpost', [
      { type: 'bounced', messageId: key, email: 'user1@example.com' },
      { type: 'bounced', email: 'user1@example.com', fields: { transmission_id: 'unknown' } },
    ]),
    bodyOf('sparkpost', [
      { type: 'delivered', mail, n: 0, messageId: key },
      { type: 'bounced', mail, n: 1, messageId: `${key}1` },
      { type: 'unsubscribed', mail, n: 2 },
      { type: 'complained', mail, n: 2 },
      { type: 'delivered', mail: waiting },
      { type: 'bounced', messageId: `${key}x`, email: 'user1@example.com' },
    ]),
  ]
  for (const body of callbacks) {
    expect((await world.post(account, body)).statusCode).toBe(200)
    await feedback.callbacks.runOnce()
    await world.db.query('update feedback_unmatched set due_at = now() where tenant_id = $1', [
      tenantId,
    ])
    await feedback.worker.runOnce()
  }
  expect(await world.statuses(mail)).toEqual(['bounced', 'bounced', 'sent'])
  expect(await world.statuses(waiting)).toEqual(['delivered'])
  const review = { tenantId, before: undefined }
  const { reviewed } = await reviewSuppressions({ db: on }, review)
  expect(reviewed.map(({ verdict }) => verdict)).toEqual(['unknown', 'unknown'])
}

/** As weeks of use leave it. */
async function fill(): Promise<void> {
  await world.db.query(
    `insert into feedback_inbox (tenant_id, inbox_id, kind, received_at, body, bytes, due_at)
     select 'tn_' || i % 50, 'i' || i, 'sparkpost', now(), '[]', 2, now() + interval '1 hour'
       from generate_series(1, 20000) i`,
  )
  await world.db.query(
    `insert into feedback_unmatched (tenant_id, relay, fact_id, kind, message_key, fact, received_at, due_at)
     select 'tn_' || i % 50, 'sparkpost', 'f' || i, 'bounced', 'k' || i, '{}', now(), now() + interval '1 hour'
       from generate_series(1, 20000) i`,
  )
  await world.db.query(
    `insert into feedback_fact (tenant_id, ref_id, n, fact_id, day, kind, type, reported_at, received_at, reason, message_key)
     select 'tn_' || i % 50, 'r' || i, 0, 'f' || i, current_date - i % ${DAYS}, 'delivered', 'delivery', now(), now(), '', 'k' || i
       from generate_series(1, 20000) i`,
  )
  await world.db.query(
    `insert into feedback_recipient (tenant_id, ref_id, n, day, complained_at)
     select 'tn_' || i % 50, 'r' || i, 0, current_date, now() from generate_series(1, 20000) i`,
  )
}

function isFine(node: PlanNode): boolean {
  const type = node['Node Type']
  if (/Hash Join|Merge Join/.test(type)) return false
  return type !== 'Seq Scan' || !LARGE.test(node['Relation Name'] ?? '')
}

it.each<PlanMode>(['auto', 'force_generic_plan', 'force_custom_plan'])(
  'runs every statement by index, with %s and plans of empty tables',
  async (mode) => {
    const { db } = world
    for (const table of partitionedTables)
      await db.query('select platform_ensure_day_partitions($1, $2)', [table, DAYS])
    await db.query('truncate feedback_fact, feedback_recipient')
    await db.query(`set plan_cache_mode = ${mode}`)
    for (let round = 0; round < ROUNDS; round++) await applyAll(undefined, mode)
    await fill()
    const plans: SeenPlan[] = []
    await applyAll(plans, mode)
    expectPlans(plans, STATEMENTS, isFine)
  },
  60_000,
)

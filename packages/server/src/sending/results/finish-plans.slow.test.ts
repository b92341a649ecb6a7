/**
 * What it costs to end attempts is decided by the plans, not measured: rows of large tables are
 * reached through an index, also by plans that were made while there were no rows and no statistics.
 */
import { casesOf } from '@postrider/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import {
  expectPlans,
  explaining,
  type PlanMode,
  type PlanNode,
  type SeenPlan,
} from '../../../test/explain.ts'
import { TRACEPARENT } from '../../../test/sender.ts'
import { createSendingDatabase } from '../../../test/sending.ts'
import { createClock } from '../../platform/clock.ts'
import { type Db, planByIndex } from '../../platform/db/index.ts'
import { dayOfUlid, ulidAtTime } from '../../platform/ids.ts'
import { createWakeups } from '../../webhooks/index.ts'
import type { AttemptFailed, Claim } from '../attempt/attempt.ts'
import { markCommitted } from '../queue/queue-store.ts'
import { lockReported, reportStatuses, settleReported } from '../record/report-store.ts'
import { deliveredEvent, smtpErrorEvent } from './attempt-events.ts'
import type { Ending } from './ending.ts'
import { createFinishAttempts } from './finish-attempts.ts'

const STATEMENTS = [
  'sending.mark_dot',
  'sending.finish_claims',
  'sending.postpone_claims',
  'sending.undo_claims',
  'sending.set_status',
  'sending.insert_sent_copies',
  'sending.hold_claims',
  'sending.lock_settled',
  'sending.lock_reported',
  'sending.read_reported',
  'sending.settle_reported',
  'sending.report_status',
]
const DAY_MS = 86_400_000
const DAYS = 30
const ROWS_A_DAY = casesOf(5_000, 10_000)
const GROUP = 126
/** Often enough that the server keeps its plans. */
const ROUNDS = 8

let database: TestDatabase
beforeEach(async () => {
  // Of one session, which has all the plans.
  database = await createSendingDatabase({ poolMax: 1 })
})
afterEach(() => database.close())

const dayAgo = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10)
const days = Array.from({ length: DAYS }, (_, i) => dayAgo(i))

async function makeDays(): Promise<void> {
  for (const day of days)
    for (const table of ['sending_recipient', 'sending_attempt'])
      await database.db.query(
        `create table if not exists ${table}_${day.replaceAll('-', '')} partition of ${table}
           for values from ('${day}') to (date '${day}' + 1)`,
      )
}

/** A month of mail, of which nothing is known. */
async function fill(): Promise<void> {
  await database.fill(
    `insert into sending_recipient (tenant_id, ref_id, n, day, email, type, status, message_id, created_at)
     select 'tn_a', '0' || md5(day || ' ' || g), 0, day, 'a@example.com', 'to', 'queued', '', now()
       from unnest($1::date[]) as day, generate_series(1, ${ROWS_A_DAY}) g`,
    [days],
  )
  await database.fill(
    `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
                                  started_at, finished_at, outcome, retry_scheduled)
     select 'tn_a', '0' || md5(day || ' ' || g), 0, 1, day, 'smtp_x', 5, now(), now(), 'accepted', false
       from unnest($1::date[]) as day, generate_series(1, ${ROWS_A_DAY}) g`,
    [days],
  )
  await database.fill(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_a', 'Z' || n, 0, 'smtp_x', 7, false, now() + interval '1 day', 5,
            now() + interval '3 days', 100
       from generate_series(1, ${10 * ROWS_A_DAY}) n`,
  )
}

/** Claimed rows, of three days. */
async function claimed(round: number): Promise<Claim[]> {
  const claims = Array.from({ length: GROUP }, (_, i): Claim => {
    const noonMs = Date.parse(days[i % 3] ?? '') + DAY_MS / 2
    const refId = ulidAtTime(noonMs).slice(0, 18) + String(round * GROUP + i).padStart(8, '0')
    return {
      tenantId: 'tn_a',
      mailerId: 'smtp_a',
      refId,
      n: 0,
      isBulk: false,
      attempt: 1,
      maxAttempts: 5,
      fence: '1',
      interrupted: 0,
      isExpired: false,
      contentBytes: 100,
      was: 'waiting',
    }
  })
  const refIds = claims.map(({ refId }) => refId)
  await database.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at, phase, fence,
                                started_at, max_attempts, expires_at, content_bytes)
     select 'tn_a', id, 0, 'smtp_a', 7, false, now() + interval '1 hour', 'sending', 1, now(), 5,
            now() + interval '3 days', 100 from unnest($1::text[]) id`,
    [refIds],
  )
  await database.db.query(
    `insert into sending_recipient (tenant_id, ref_id, n, day, email, type, status, message_id, created_at)
     select 'tn_a', id, 0, day, 'a@example.com', 'to', 'queued', '', now()
       from unnest($1::text[], $2::date[]) as r (id, day)`,
    [refIds, refIds.map(dayOfUlid)],
  )
  return claims
}

/** A third each is delivered, deferred and undone, in one group. */
function endingOf(claim: Claim, i: number): Ending {
  if (i % 3 === 0) return { kind: 'undone', claim, undo: { kind: 'undone', waitMs: 0 } }
  const subject = {
    claim,
    email: 'a@example.com',
    messageId: '<m@example.com>',
    customArgs: null,
    traceparent: TRACEPARENT,
    atMicros: createClock().nowMicros(),
  }
  const finish = { kind: 'finished', traceparent: TRACEPARENT } as const
  if (i % 3 === 1)
    return {
      ...finish,
      claim,
      result: { kind: 'accepted' },
      event: deliveredEvent(subject),
      sentCopyId: subject.messageId,
    }
  const failed: AttemptFailed = {
    kind: 'failed',
    category: 'network',
    retryable: true,
    isUncertain: false,
    failedReason: '',
    providerError: '',
    isBeforeMessage: false,
  }
  return {
    ...finish,
    // What a relay may have reported meanwhile is looked for.
    claim: { ...claim, mailerId: 'domain_a' },
    result: failed,
    next: { kind: 'retry', waitMs: 1_000 },
    event: smtpErrorEvent(subject, failed, true),
  }
}

async function endAll(round: number, plans: SeenPlan[] | undefined, mode: PlanMode): Promise<void> {
  const { db } = database
  const on: Db =
    plans === undefined
      ? db
      : {
          ...db,
          transaction: (work, o) => db.transaction((tx) => work(explaining(tx, plans, mode)), o),
        }
  const claims = await claimed(round)
  const marked = await on.transaction((tx) => markCommitted(tx, claims))
  expect(marked.every(Boolean)).toBe(true)
  const finishes = createFinishAttempts({
    db: on,
    clock: createClock(),
    wakeups: createWakeups(),
    noteDeactivated: () => undefined,
  })
  const ended = await Promise.all(claims.map((claim, i) => finishes.end(endingOf(claim, i))))
  expect(ended.some(({ isLost }) => isLost)).toBe(false)
  await on.transaction(async (tx) => {
    await planByIndex(tx)
    await lockReported(tx, 'tn_a', claims)
    await settleReported(tx, 'tn_a', claims)
    const change = { status: 'delivered', failedReason: '' } as const
    await reportStatuses(
      tx,
      'tn_a',
      claims.map(({ refId, n }) => ({ refId, n, ...change })),
    )
  })
}

const LARGE = /^sending_(recipient|queue|attempt)/

function isFine(node: PlanNode): boolean {
  const type = node['Node Type']
  if (/Hash Join|Merge Join/.test(type)) return false
  return type !== 'Seq Scan' || !LARGE.test(node['Relation Name'] ?? '')
}

it.each<PlanMode>(['auto', 'force_generic_plan', 'force_custom_plan'])(
  'finishes by index, with %s and plans of empty tables',
  async (mode) => {
    await makeDays()
    await database.db.query(`set plan_cache_mode = ${mode}`)
    for (let round = 0; round < ROUNDS; round++) {
      await endAll(round, undefined, mode)
      await database.db.query('delete from sending_queue')
    }
    await fill()
    const plans: SeenPlan[] = []
    await endAll(ROUNDS, plans, mode)
    expectPlans(plans, STATEMENTS, isFine)
  },
  60_000,
)

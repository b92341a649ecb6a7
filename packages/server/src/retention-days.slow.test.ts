import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../test/database.ts'
import { createSendingDatabase, silent } from '../test/sending.ts'
import { createClock } from './platform/clock.ts'
import { createRetention } from './platform/db/partitions/retention.ts'
import { ulidAtTime } from './platform/ids.ts'
import { createMetrics } from './platform/metrics.ts'
import {
  partitionedTables,
  retentionDays,
  tablesOfContent,
  tablesOfRetention,
  UNSUBSCRIBABLE_MS,
} from './retention-days.ts'

const DAY_MS = 86_400_000
const EMAILS = [
  'sending_content',
  'sending_email',
  'sending_recipient',
  'sending_attempt',
  'sending_link',
  'sending_own',
  'sending_rendering',
  'tracking_recipient',
  'tracking_hit',
  'sending_stopped',
  'feedback_fact',
  'feedback_recipient',
]

let database: TestDatabase

beforeAll(async () => {
  database = await createSendingDatabase()
})
afterAll(() => database.close())

const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)
const dayOf = (at: Date) => at.toISOString().slice(0, 10)

/** Makes days of tables, from the first to the last, so many days ago. */
async function makeDays(tables: readonly string[], first: number, last: number): Promise<void> {
  for (const table of tables)
    await database.db.query('select platform_ensure_day_partitions($1, $2, $3)', [
      ...[table, first, -last],
    ])
}

/** Makes the days on both sides of 30 days, and of 7 for content, again. Lets retention drop what is older. */
async function dropOld(
  retentionMs = 30 * DAY_MS,
  contentRetentionMs = retentionMs,
): Promise<{ dropped: readonly string[]; needed: readonly string[] }> {
  const { db } = database
  await makeDays(partitionedTables, 33, 29)
  await makeDays(tablesOfContent, 10, 6)
  const retention = createRetention({
    databaseUrl: database.url,
    retentionMs,
    groups: retentionDays({ db, webhookRetryForMs: 3 * DAY_MS, retentionMs, contentRetentionMs }),
    clock: createClock(),
    log: silent,
    metrics: createMetrics(),
  })
  const round = await retention.runOnce()
  if (round === 'busy') throw new Error('nobody else is at it')
  return round
}

const named = (tables: readonly string[], at: Date) =>
  tables.map((table) => `${table}_${dayOf(at).replaceAll('-', '')}`).sort()

it('[contract 1] removes every partitioned table by day', async () => {
  const { rows } = await database.db.query<{ name: string }>(
    `select relname as name from pg_class where relkind = 'p' order by 1`,
  )
  expect(rows.map((row) => row.name)).toEqual([...partitionedTables].sort())
  const { dropped, needed } = await dropOld()
  const old = [31, 32, 33].flatMap((days) => named(tablesOfRetention, daysAgo(days)))
  expect([...dropped].sort()).toEqual(old.sort())
  expect(needed).toEqual([])
})

it('keeps the recipients of unsubscribe links for 400 days, or as long as emails', async () => {
  const table = 'sending_unsubscribable'
  const keptDaysMin = UNSUBSCRIBABLE_MS / DAY_MS
  await makeDays([table], keptDaysMin + 2, keptDaysMin - 1)
  const old = [1, 2].flatMap((days) => named([table], daysAgo(keptDaysMin + days)))
  expect((await dropOld((keptDaysMin + 9) * DAY_MS)).dropped).not.toContain(old[0])
  const { dropped } = await dropOld()
  expect(dropped.filter((name) => name.startsWith(table)).sort()).toEqual(old.sort())
})

it('keeps an email whole while one of its recipients is in the queue', async () => {
  const { db } = database
  const at = daysAgo(32)
  const refIds = [ulidAtTime(Date.parse(dayOf(at))), ulidAtTime(Date.now())]
  for (const [n, refId] of refIds.entries())
    for (const tenant of ['tn_a', 'tn_b', 'tn_c'])
      if (n === 1 || tenant === 'tn_b')
        await db.query(
          `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
             expires_at, content_bytes) values ($1, $2, 0, 'smtp_1', 0, now(), 5, now(), 1)`,
          [tenant, refId],
        )
  const round = await dropOld()
  const emails = named(EMAILS, at)
  expect([...round.needed].sort()).toEqual(emails)
  expect(round.dropped).not.toContain(emails[0])
  expect(round.dropped).toContain(named(['webhooks_event'], at)[0])
  await db.query('delete from sending_queue where ref_id = $1', [refIds[0]])
  expect(await dropOld()).toMatchObject({ needed: [] })
})

it('removes content by days of its own, and keeps that of an email that waits', async () => {
  const { db } = database
  const at = daysAgo(9)
  const content = named(['sending_content'], at)
  const refId = ulidAtTime(Date.parse(dayOf(at)))
  await db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
       expires_at, content_bytes) values ('tn_a', $1, 0, 'smtp_1', 0, now(), 5, now(), 1)`,
    [refId],
  )
  const waits = await dropOld(30 * DAY_MS, 7 * DAY_MS)
  expect(waits.needed).toEqual(content)
  const old = [8, 9, 10, 30].flatMap((days) => named(tablesOfContent, daysAgo(days)))
  for (const name of old) if (name !== content[0]) expect(waits.dropped).toContain(name)
  const young = [0, 1, 6, 7].flatMap((days) => named(tablesOfContent, daysAgo(days)))
  const facts = tablesOfRetention.filter((table) => !tablesOfContent.includes(table))
  const kept = [...young, ...[8, 9, 10, 30].flatMap((days) => named(facts, daysAgo(days)))]
  for (const name of kept) expect(waits.dropped).not.toContain(name)
  await db.query('delete from sending_queue')
  expect((await dropOld(30 * DAY_MS, 7 * DAY_MS)).dropped).toContain(content[0])
})

it('keeps the content of an email from its time of sending', async () => {
  const { db } = database
  const at = daysAgo(9)
  await makeDays(['sending_email', 'sending_content'], 10, 6)
  await db.query(
    `insert into sending_email (tenant_id, ref_id, day, mailer_id, from_email, subject, max_attempts,
       expires_at, traceparent, created_at, queued_at)
     values ('tn_a', '1', $1, 'smtp_1', 'a@example.com', '', 5, now(), '', $2, $3)`,
    [dayOf(at), at, daysAgo(6)],
  )
  const content = named(['sending_content'], at)
  expect((await dropOld(30 * DAY_MS, 7 * DAY_MS)).needed).toEqual(content)
  await db.query('update sending_email set queued_at = $1', [daysAgo(8)])
  expect((await dropOld(30 * DAY_MS, 7 * DAY_MS)).dropped).toContain(content[0])
  await db.query('delete from sending_email')
})

it('removes the content that a process had taken out when it was killed', async () => {
  const { db } = database
  const [content = ''] = named(['sending_content'], daysAgo(9))
  await makeDays(['sending_content'], 10, 6)
  // A reader of that day alone lets it be taken out, and not be dropped: so far a process came.
  const cut = await db.transaction(async (tx) => {
    await tx.query(`select from ${content}`)
    return await dropOld(30 * DAY_MS, 7 * DAY_MS)
  })
  expect(cut.dropped).not.toContain(content)
  await db.query(`alter table sending_content detach partition ${content} finalize`)
  expect((await dropOld(30 * DAY_MS, 7 * DAY_MS)).dropped).toContain(content)
})

it('keeps received bytes while one of their messages is unreported, also one of the next day', async () => {
  const { db } = database
  const inboundId = `in_${ulidAtTime(Date.parse(dayOf(daysAgo(8))))}`
  await db.query(
    `insert into inbound_queue (tenant_id, inbound_id, bytes) values ('tn_a', $1, 1)`,
    [inboundId],
  )
  const raws = [8, 9].flatMap((days) => named(['inbound_raw'], daysAgo(days)))
  const waits = await dropOld(30 * DAY_MS, 7 * DAY_MS)
  expect([...waits.needed].sort()).toEqual(raws.sort())
  await db.query('delete from inbound_queue')
  expect((await dropOld(30 * DAY_MS, 7 * DAY_MS)).dropped).toEqual(expect.arrayContaining(raws))
})

it('keeps the received mail of a day while one of its messages is unreported', async () => {
  const { db } = database
  const old = daysAgo(31)
  const inboundId = `in_${ulidAtTime(old.getTime())}`
  await db.query(
    `insert into inbound_queue (tenant_id, inbound_id, bytes) values ('tn_a', $1, 1)`,
    [inboundId],
  )
  const received = named(['inbound_message', 'inbound_raw'], old)
  const kept = await dropOld()
  expect(kept.dropped).not.toEqual(expect.arrayContaining(received))
  expect(kept.needed).toEqual(expect.arrayContaining(received))
  await db.query('delete from inbound_queue')
  expect((await dropOld()).dropped).toEqual(expect.arrayContaining(received))
})

it('accepts writes to the record of a delivery that is still open', async () => {
  const { db } = database
  const at = daysAgo(31)
  await db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
       event_ids, event_days, traceparent, created_at)
     values ('tn_a', 'dlv_1', $1, 'wh_1', 0, 0, array['evt_1'], array[$1::date], '', $2)`,
    [dayOf(at), at],
  )
  const round = await dropOld()
  const deliveries = named(['webhooks_delivery', 'webhooks_attempt'], at)
  expect([...round.needed].sort()).toEqual(deliveries)
  // Its time is over: what it carried leaves with its day.
  expect(round.dropped).toContain(named(['webhooks_event'], at)[0])
  await db.query('delete from webhooks_open')
  expect(await dropOld()).toMatchObject({ needed: [] })
})

it('delivers a late event of an old day before its day is removed', async () => {
  const { db } = database
  const at = daysAgo(31)
  const event = named(['webhooks_event'], at)[0] ?? ''
  await db.query(
    `insert into webhooks_stream (tenant_id, webhook_id, bucket, mode) values ('tn_a', 'wh_1', 0, 'array')`,
  )
  const queue = (queuedAt: Date) =>
    db.query(
      `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes, queued_at)
       values ('tn_a', 'wh_1', 'evt_1', $1, 1, $2)`,
      [dayOf(at), queuedAt],
    )
  await queue(daysAgo(1))
  expect((await dropOld()).needed).toEqual([event])
  await db.query('delete from webhooks_pending')
  await db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
       event_ids, event_days, traceparent)
     values ('tn_a', 'dlv_2', current_date, 'wh_1', 0, 0, array['evt_0', 'evt_1'],
             array[current_date, $1::date], '')`,
    [dayOf(at)],
  )
  expect((await dropOld()).needed).toEqual([event])
  await db.query('delete from webhooks_open')
  // Behind a paused webhook: as long as retention keeps it, and no longer.
  await queue(daysAgo(4))
  expect((await dropOld()).dropped).toContain(event)
})

it('[contract 5] keeps a scheduled email that was accepted up to 30 days ago', async () => {
  const { db } = database
  const at = daysAgo(31)
  await db.query(
    `insert into sending_scheduled (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
       expires_at, content_bytes) values ('tn_a', $1, 0, 'smtp_1', 0, now(), 5, now(), 1)`,
    [ulidAtTime(Date.parse(dayOf(at)))],
  )
  const emails = named(EMAILS, at)
  expect([...(await dropOld()).needed].sort()).toEqual(emails)
  await db.query('delete from sending_scheduled')
  expect(await dropOld()).toMatchObject({ needed: [] })
})

it('[contract 1] counts the retention of a scheduled email from its time of sending', async () => {
  const { db } = database
  const at = daysAgo(31)
  await makeDays(['sending_email'], 33, 29)
  const accept = (refId: string, queuedAt: Date | null) =>
    db.query(
      `insert into sending_email (tenant_id, ref_id, day, mailer_id, from_email, subject,
         max_attempts, expires_at, traceparent, created_at, queued_at)
       values ('tn_a', $1, $2, 'smtp_1', 'a@example.com', '', 5, now(), '', $3, $4)`,
      [refId, dayOf(at), at, queuedAt],
    )
  await accept('1', null)
  await accept('2', daysAgo(29))
  expect([...(await dropOld()).needed].sort()).toEqual(named(EMAILS, at))
  await db.query('update sending_email set queued_at = $1', [daysAgo(31)])
  expect((await dropOld()).dropped).toContain(named(['sending_email'], at)[0])
})

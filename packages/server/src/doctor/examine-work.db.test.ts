import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { createDayPartitions } from '../platform/db/index.ts'
import { partitionedTables } from '../retention-days.ts'
import { examineWork, type Finding } from './examine-work.ts'

const DAY_MS = 86_400_000

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  await emptyTables(database.db, 'webhooks_stream', 'webhooks_pending', 'webhooks_open')
})

async function finding(
  check: string,
  retentionDays = 30,
  contentDays = retentionDays,
): Promise<Finding | undefined> {
  const findings = await examineWork({
    db: database.db,
    retentionMs: retentionDays * DAY_MS,
    contentRetentionMs: contentDays * DAY_MS,
  })
  return findings.find((one) => one.check === check)
}

async function addStream(
  id: string,
  failingFor: string | null,
  o: { isPaused?: boolean; isGivenUp?: boolean } = {},
): Promise<void> {
  const deliveryId = failingFor === null || o.isGivenUp === true ? null : `dlv_of_${id}`
  await database.db.query(
    `insert into webhooks_stream
       (tenant_id, webhook_id, bucket, mode, state, first_failure_at, paused_at, delivery_id)
     values ('tn_a', $1, 5, 'array', 'active', now() - $2::interval,
             case when $3::boolean then now() end, $4)`,
    [id, failingFor, o.isPaused ?? false, deliveryId],
  )
}

async function addPending(webhookId: string, count: number, age: string): Promise<void> {
  await database.db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, event_id, day, bytes, queued_at)
     select 'tn_a', $1, 'evt_' || n, current_date, 1, now() - $3::interval
       from generate_series(1, $2::int) n`,
    [webhookId, count, age],
  )
}

describe('webhooks', () => {
  it('are failing when they refuse one event after the other', async () => {
    await addStream('wh_1', null)
    await database.db.query('update webhooks_stream set parked_in_row = 10')
    await database.db.query(
      `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
         status, event_ids, event_days, traceparent, due_at, created_at)
       values ('tn_a', 'dlv_1', current_date, 'wh_1', 5, 0, 'parked', '{}', '{}', '', now(),
               now() - interval '2 days')`,
    )
    expect(await finding('webhooks')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^1 fail, the longest wh_1 of tn_a for 2d/),
    })
  })

  it('are fine when none fails, with the number of paused ones', async () => {
    await addStream('wh_1', null)
    expect(await finding('webhooks')).toEqual({
      ...{ check: 'webhooks', state: 'ok', detail: 'none fails' },
    })
    await addStream('wh_2', '3 days', { isPaused: true })
    expect(await finding('webhooks')).toMatchObject({ state: 'ok', detail: 'none fails, 1 paused' })
  })

  it('have a warning with the longest failure when they fail for over an hour', async () => {
    await addStream('wh_1', '59 minutes')
    expect(await finding('webhooks')).toMatchObject({ state: 'ok' })
    await addStream('wh_2', '61 minutes')
    await addStream('wh_3', '6 days')
    await addStream('wh_4', '9 days', { isGivenUp: true })
    expect(await finding('webhooks')).toMatchObject({
      state: 'warning',
      detail: '3 fail, the longest wh_3 of tn_a for 6d: see postrider webhook list --failing',
    })
  })
})

it('warns of single events that receivers refuse', async () => {
  expect(await finding('parked events')).toMatchObject({ state: 'ok', detail: 'none' })
  await database.db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation, status,
       event_ids, event_days, traceparent)
     select 'tn_a', 'dlv_' || n, current_date, 'wh_1', 63, 0,
            case when n > 2 then 'retrying' else 'parked' end, '{}', '{}', ''
       from generate_series(1, 3) n`,
  )
  const parked = await finding('parked events')
  expect(parked).toMatchObject({ state: 'warning', detail: expect.stringMatching(/^2 refused/) })
})

it('warns of callbacks that nobody applies, and of those that were set aside', async () => {
  const store = (age: string, refused: boolean) =>
    database.db.query(
      `insert into feedback_inbox (tenant_id, inbox_id, kind, received_at, body, bytes, refused_at)
       values ('tn_a', $1::text || $2::boolean, 'sparkpost', now() - $1::interval, '', 0,
               case when $2::boolean then now() end)`,
      [age, refused],
    )
  expect(await finding('callbacks')).toMatchObject({ state: 'ok', detail: '0 wait to be applied' })
  await store('4 minutes', false)
  expect(await finding('callbacks')).toMatchObject({ state: 'ok', detail: '1 wait to be applied' })
  await store('9 days', true)
  expect(await finding('callbacks')).toMatchObject({
    state: 'warning',
    detail: expect.stringMatching(/^1 are kept aside/),
  })
  await store('6 minutes', false)
  expect(await finding('callbacks')).toMatchObject({
    state: 'warning',
    detail: expect.stringMatching(/^2 of relay providers wait .* the oldest for 6m/),
  })
})

it('warns of events that were given up in the last day', async () => {
  expect(await finding('given-up events')).toMatchObject({
    ...{ state: 'ok', detail: 'none of the last day' },
  })
  await addStream('wh_1', null)
  await addStream('wh_2', null)
  await database.db.query(`select platform_ensure_day_partitions('webhooks_delivery', 1, 1)`)
  await database.db.query(
    `insert into webhooks_delivery (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids,
       event_days, traceparent, attempts, finished_at)
     select 'tn_a', 'dlv_' || n, current_date, 'wh_1',
            case when n = 4 then 'delivered' else 'exhausted' end, 'array',
            case when n = 4 then '{evt_3,evt_4}'::text[] else '{evt_1,evt_2}' end, '{}', '', 1, now() - case when n = 3 then 25 else 1 end * interval '1 hour'
       from generate_series(1, 4) n`,
  )
  expect(await finding('given-up events')).toMatchObject({
    ...{ state: 'warning', detail: expect.stringMatching(/^4 in the last day/) },
  })
  // One of them was had by a replay.
  await database.db.query(
    `insert into webhooks_delivery (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids,
       event_days, traceparent, attempts)
     select tenant_id, 'dlv_9', current_date, 'wh_1', status, 'array', event_ids, '{}', '', 1
       from (values ('tn_a', 'delivered', '{evt_1}'::text[]), ('tn_b', 'delivered', '{evt_2}'))
         as d (tenant_id, status, event_ids)`,
  )
  expect(await finding('given-up events')).toMatchObject({
    ...{ state: 'warning', detail: expect.stringMatching(/^2 in the last day/) },
  })
  await emptyTables(database.db, 'webhooks_delivery')
})

describe('roles', () => {
  const join = (role: string, until: string) =>
    database.db.query(
      `insert into platform_member (role, member_id, expires_at)
       values ($1, 'member', now() + $2::interval)
       on conflict (role, member_id) do update set expires_at = excluded.expires_at`,
      [role, until],
    )
  beforeEach(() => emptyTables(database.db, 'platform_member', 'sending_queue', 'mailers_mailer'))

  it('are fine without a process while nothing waits, and have a warning when events or emails do', async () => {
    const idle = { state: 'ok', detail: 'none runs, and nothing waits' }
    expect(await finding('dispatcher')).toMatchObject(idle)
    expect(await finding('sender')).toMatchObject(idle)
    await addStream('wh_1', null)
    await addPending('wh_1', 1, '1 second')
    await database.db.query(
      `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
         expires_at, content_bytes)
       values ('tn_a', 'ref', 0, 'ml', 0, now(), 1, now(), 1)`,
    )
    await join('dispatcher', '-1 second')
    expect(await finding('dispatcher')).toMatchObject({
      ...{ state: 'warning', detail: expect.stringMatching(/^events wait, and no process/) },
    })
    expect(await finding('sender')).toMatchObject({
      ...{ state: 'warning', detail: expect.stringMatching(/^emails wait, and no process/) },
    })
    await join('dispatcher', '10 seconds')
    await join('sender', '10 seconds')
    expect(await finding('dispatcher')).toMatchObject({ state: 'ok', detail: 'at work' })
    expect(await finding('sender')).toMatchObject({ state: 'ok', detail: 'at work' })
  })

  it('have a warning when there is an active mailbox and no process for it', async () => {
    const addMailer = (id: string, type: string, state: string) =>
      database.db.query(
        `insert into mailers_mailer (tenant_id, mailer_id, name, email, email_key, config_type,
           connection_type, host, port, secure, tls_verify, uncertain, limits, state)
         values ('tn_a', $1, '', 'a@example.com', 'a@example.com', $2, 'basic', 'mail.example.com',
           993, 'SSL', true, 'at_least_once', '{}', $3)`,
        [id, type, state],
      )
    await addMailer('smtp_1', 'smtp', 'active')
    await addMailer('imap_1', 'imap', 'deactivated')
    const idle = { state: 'ok', detail: 'none runs, and nothing waits' }
    expect(await finding('mailbox')).toMatchObject(idle)
    await addMailer('imap_2', 'imap', 'active')
    expect(await finding('mailbox')).toMatchObject({
      ...{ state: 'warning', detail: expect.stringMatching(/^mailboxes are to be read, and no/) },
    })
    await join('mailbox', '10 seconds')
    expect(await finding('mailbox')).toMatchObject({ state: 'ok', detail: 'at work' })
  })
})

describe('webhook backlog', () => {
  it('is fine while it is young, or behind webhooks that fail or are paused', async () => {
    await addStream('wh_1', null)
    await addPending('wh_1', 7, '4 minutes')
    await addStream('wh_2', '2 days')
    await addPending('wh_2', 2, '2 days')
    await addStream('wh_3', null, { isPaused: true })
    await addPending('wh_3', 1, '9 days')
    expect(await finding('webhook backlog')).toMatchObject({
      state: 'ok',
      detail: '10 events wait',
    })
  })

  it('has a warning when events wait for minutes for a healthy webhook', async () => {
    await addStream('wh_1', null)
    await addPending('wh_1', 1, '3 hours')
    expect(await finding('webhook backlog')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^1 events wait, the oldest for 3h although/),
    })
  })
})

describe('daily partitions', () => {
  beforeEach(async () => {
    for (const day of await daysOf(...partitionedTables))
      await database.db.query(`drop table ${day}`)
  })
  // One after the other: they wait for the same lock, and would take every connection for it.
  const makeDays = async (behind: number, ahead: number) => {
    for (const table of partitionedTables)
      await database.db.query('select platform_ensure_day_partitions($1, $2, $3)', [
        table,
        behind,
        ahead,
      ])
  }

  it('are fine when there are none yet, as the next start makes them', async () => {
    expect(await finding('day partitions')).toMatchObject({ state: 'ok' })
    expect(await finding('retention')).toMatchObject({ state: 'ok' })
  })

  it('are fine as a service makes them', async () => {
    const log = pino({ level: 'silent' })
    await createDayPartitions({ db: database.db, tables: partitionedTables, log }).runOnce()
    expect(await finding('day partitions')).toMatchObject({ state: 'ok' })
    expect(await finding('retention')).toMatchObject({ state: 'ok' })
  })

  it('have a warning when one table lacks those of the next days', async () => {
    await makeDays(1, 14)
    const days = await daysOf('webhooks_attempt')
    for (const day of days.slice(5)) await database.db.query(`drop table ${day}`)
    expect(await finding('day partitions')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^webhooks_attempt only until \d{4}-/),
    })
    for (const day of days.slice(0, 5)) await database.db.query(`drop table ${day}`)
    expect(await finding('day partitions')).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^webhooks_attempt has none/),
    })
  })

  it('have a warning when old ones are still there', async () => {
    await makeDays(31, 14)
    expect(await finding('retention', 30)).toMatchObject({ state: 'ok' })
    await database.db.query(`select platform_ensure_day_partitions('sending_unsubscribable', 60)`)
    expect(await finding('retention', 30)).toMatchObject({ state: 'ok' })
    await makeDays(33, 14)
    expect(await finding('retention', 30)).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^30d, but the oldest day is \d{4}-/),
    })
    expect(await finding('retention', 40)).toMatchObject({ state: 'ok' })
    expect(await finding('content retention', 40)).toBeUndefined()
    expect(await finding('content retention', 40, 35)).toMatchObject({ state: 'ok' })
    expect(await finding('content retention', 40, 7)).toMatchObject({
      state: 'warning',
      detail: expect.stringMatching(/^7d, but the oldest day is \d{4}-/),
    })
  })
})

async function daysOf(...tables: readonly string[]): Promise<string[]> {
  const { rows } = await database.db.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
      where inhparent = any($1::regclass[]) order by 1`,
    [tables],
  )
  return rows.map((row) => row.name)
}

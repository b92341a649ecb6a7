/**
 * The record of deliveries as rows: made one by one in a state of the test's choice, or by the
 * hundred thousand in the database.
 */
import type { WebhookDeliveryStatus } from '@postrider/contract'
import type { Db, Queryable, Tx } from '../src/platform/db/index.ts'
import { bucketOf } from '../src/platform/db/leases.ts'
import { dayOfUlid, newId, newUlid, ulidAtTime } from '../src/platform/ids.ts'
import type { StreamKey } from '../src/webhooks/dispatch/stream-store.ts'
import { type NewEvent, recordEvents } from '../src/webhooks/index.ts'
import { emptyTables } from './empty-tables.ts'

const TABLES = ['webhooks_event', 'webhooks_delivery', 'webhooks_attempt']

/** Day partitions from so many days ago. */
export async function makeDays(db: Db, daysBehind = 1): Promise<void> {
  for (const table of TABLES)
    await db.query('select platform_ensure_day_partitions($1, $2, 1)', [table, daysBehind])
}

export async function clearWebhooks(db: Db): Promise<void> {
  const others = ['webhooks_open', 'webhooks_pending', 'webhooks_stream', 'webhooks_subscription']
  await emptyTables(db, ...TABLES, ...others)
}

/** A webhook with its stream, without the checks of registration. */
export async function insertWebhook(
  db: Queryable,
  o: {
    readonly tenantId?: string
    readonly event?: 'EMAIL_EVENT' | 'DOMAIN_VERIFICATION' | 'INCOMING'
    readonly owner?: string
    readonly toggles?: Readonly<Record<string, boolean>>
    readonly active?: boolean
  } = {},
): Promise<StreamKey> {
  const { tenantId = 'tn_a', event = 'EMAIL_EVENT', owner = '', active = true } = o
  const webhookId = newId('wh')
  const options = event === 'EMAIL_EVENT' ? JSON.stringify(o.toggles ?? ALL_TOGGLES) : null
  await db.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, owner, url, method, active, options, headers_sealed, header_names)
     values ($1, $2, $3, $4, 'https://hooks.example.test/', 'POST', $5, $6, '', '{}')`,
    [tenantId, webhookId, event, owner, active, options],
  )
  await db.query(
    'insert into webhooks_stream (tenant_id, webhook_id, bucket, mode) values ($1, $2, $3, $4)',
    [tenantId, webhookId, bucketOf(webhookId), event === 'EMAIL_EVENT' ? 'array' : 'single'],
  )
  return { tenantId, webhookId }
}

const ALL_TOGGLES = {
  delivery: true,
  open: true,
  click: true,
  bounce: true,
  spam: true,
  unsubscribe: true,
  policy_rejection: true,
  generation_failure: true,
  generation_rejection: true,
  smtp_error: true,
  phishing: true,
  imap_error: true,
}

export interface EventKey {
  readonly eventId: string
  readonly day: string
}

/** Records events that no webhook waits for, and answers where they are. */
export async function recordUnwanted(db: Db, ...events: readonly NewEvent[]): Promise<EventKey[]> {
  return await db.transaction(async (tx) => {
    const places: EventKey[] = []
    for (const event of events) {
      const before = await lastEventId(tx)
      await recordEvents(tx, [event])
      const { rows } = await tx.query<EventKey>(
        'select event_id as "eventId", day from webhooks_event where event_id > $1',
        [before],
      )
      places.push(...rows)
    }
    await tx.query('delete from webhooks_pending where event_id = any($1)', [
      places.map((place) => place.eventId),
    ])
    return places
  })
}

async function lastEventId(tx: Tx): Promise<string> {
  const { rows } = await tx.query<{ id: string | null }>(
    'select max(event_id) as id from webhooks_event',
  )
  return rows[0]?.id ?? ''
}

export interface InsertedDelivery {
  readonly key: StreamKey
  readonly members: readonly EventKey[]
  readonly status: WebhookDeliveryStatus
  readonly atMs?: number
  readonly attempts?: number
  readonly generation?: number
  /** The current one of its stream. */
  readonly isCurrent?: boolean
  readonly dividedInto?: readonly string[]
}

/** An open or a settled delivery, as its status says; answers its id. */
export async function insertDelivery(db: Queryable, d: InsertedDelivery): Promise<string> {
  const deliveryId = d.atMs === undefined ? newId('dlv') : deliveryIdAt(d.atMs)
  const isOpen = ['pending', 'retrying', 'parked'].includes(d.status)
  if (isOpen) await insertOpen(db, deliveryId, d)
  else await insertSettled(db, deliveryId, d)
  return deliveryId
}

export function deliveryIdAt(ms: number): string {
  return `dlv_${ulidAtTime(ms).slice(0, 10)}${newUlid().slice(10)}`
}

async function insertOpen(db: Queryable, deliveryId: string, d: InsertedDelivery): Promise<void> {
  const { tenantId, webhookId } = d.key
  await db.query(
    `insert into webhooks_open
       (tenant_id, delivery_id, day, webhook_id, bucket, generation, status, event_ids, event_days,
        traceparent, attempts, next_attempt_at, due_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', $10, $11, $12)`,
    [
      tenantId,
      deliveryId,
      dayOfUlid(deliveryId),
      webhookId,
      bucketOf(webhookId),
      d.generation ?? 0,
      d.status,
      d.members.map((member) => member.eventId),
      d.members.map((member) => member.day),
      d.attempts ?? 0,
      d.status === 'pending' ? null : '2099-01-01T00:00:00Z',
      d.status === 'parked' ? '2099-01-01T00:00:00Z' : null,
    ],
  )
  if (d.isCurrent === true)
    await db.query(
      `update webhooks_stream set delivery_id = $3, not_before = '2099-01-01T00:00:00Z'
        where tenant_id = $1 and webhook_id = $2`,
      [tenantId, webhookId, deliveryId],
    )
}

async function insertSettled(
  db: Queryable,
  deliveryId: string,
  d: InsertedDelivery,
): Promise<void> {
  const { tenantId, webhookId } = d.key
  const attempts = d.attempts ?? 1
  await db.query(
    `insert into webhooks_delivery
       (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids, event_days, traceparent,
        attempts, created_at, divided_into, last_attempt)
     select $1, $2, $3, webhook_id, $5, mode, $6, $7, '', $8, now(), $9, $10
       from webhooks_stream where tenant_id = $1 and webhook_id = $4`,
    [
      tenantId,
      deliveryId,
      dayOfUlid(deliveryId),
      webhookId,
      d.status,
      d.members.map((member) => member.eventId),
      d.members.map((member) => member.day),
      attempts,
      d.dividedInto ?? null,
      attempts === 0 ? null : JSON.stringify(attemptOf(attempts)),
    ],
  )
}

function attemptOf(attempt: number) {
  return {
    attempt,
    at: '2026-11-20T18:00:00.123Z',
    duration_ms: 12,
    status: 200,
    error: null,
    response: 'ok',
    timings: { firstByteMs: 11, totalMs: 12 },
    header_names: ['Content-Type'],
  }
}

/** As the dispatcher does it, in one transaction: from the one table into the other. */
export async function settle(
  tx: Tx,
  key: StreamKey,
  deliveryId: string,
  status: WebhookDeliveryStatus,
): Promise<void> {
  const { rows } = await tx.query<{ event_ids: string[]; event_days: string[]; attempts: number }>(
    `delete from webhooks_open where tenant_id = $1 and delivery_id = $2
     returning event_ids, event_days::text[], attempts`,
    [key.tenantId, deliveryId],
  )
  const [open] = rows
  if (open === undefined) throw new Error(`${deliveryId} is not open`)
  const members = open.event_ids.map((eventId, i) => ({ eventId, day: open.event_days[i] ?? '' }))
  await insertSettled(tx, deliveryId, { key, members, status, attempts: open.attempts + 1 })
}

export interface RecordOptions {
  readonly tenantId: string
  readonly webhookId: string
  /** On each day from so many days ago. */
  readonly days: number
  readonly deliveriesADay: number
  /** Parked, of today. */
  readonly parked: number
}

/**
 * One event of one email in each delivery, all delivered but every hundredth, which is exhausted.
 * Their days must be there.
 */
export async function fillRecord(db: Db, o: RecordOptions): Promise<void> {
  const today = Date.parse(new Date().toISOString().slice(0, 10))
  for (let daysAgo = o.days - 1; daysAgo >= 0; daysAgo--) {
    const ms = today - daysAgo * 86_400_000
    const day = new Date(ms).toISOString().slice(0, 10)
    const time = ulidAtTime(ms).slice(0, 10)
    await insertEventsOf(db, o.tenantId, { day, time, count: o.deliveriesADay })
    await db.query(
      `insert into webhooks_delivery
         (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids, event_days, traceparent,
          attempts, created_at, last_attempt)
       select $1, 'dlv_' || $2 || lpad(n::text, 16, '0'), $3::date, $5,
              case when n % 100 = 0 then 'exhausted' else 'delivered' end, 'array',
              array['evt_' || $2 || lpad(n::text, 16, '0')], array[$3::date], '', 1, $3::date,
              '{"attempt":1,"at":"2026-11-20T18:00:00Z","duration_ms":1,"status":200,"error":null,"response":"","timings":null,"header_names":[]}'
         from generate_series(1, $4::integer) n`,
      [o.tenantId, time, day, o.deliveriesADay, o.webhookId],
    )
  }
  const day = new Date(today).toISOString().slice(0, 10)
  const time = ulidAtTime(today + 1).slice(0, 10)
  await insertEventsOf(db, o.tenantId, { day, time, count: o.parked })
  await db.query(
    `insert into webhooks_open
       (tenant_id, delivery_id, day, webhook_id, bucket, generation, status, event_ids, event_days,
        traceparent, attempts, next_attempt_at, due_at)
     select $1, 'dlv_' || $2 || lpad(n::text, 16, '0'), $3::date, $5, 0, 0, 'parked',
            array['evt_' || $2 || lpad(n::text, 16, '0')], array[$3::date], '', 1,
            '2099-01-01', '2099-01-01'
       from generate_series(1, $4::integer) n`,
    [o.tenantId, time, day, o.parked, o.webhookId],
  )
}

/** Of the n-th delivery of a day, from 1; its event and its email have the same ULID. */
export function deliveryIdOf(day: string, n: number): string {
  return `dlv_${ulidAtTime(Date.parse(day)).slice(0, 10)}${String(n).padStart(16, '0')}`
}

async function insertEventsOf(
  db: Db,
  tenantId: string,
  o: { readonly day: string; readonly time: string; readonly count: number },
): Promise<void> {
  await db.query(
    `insert into webhooks_event
       (tenant_id, event_id, day, ref_id, event, event_at, is_late, attempt, body, traceparent)
     select $1, 'evt_' || $2 || lpad(n::text, 16, '0'), $3::date,
            $2 || lpad(n::text, 16, '0'), 'MAIL_DELIVERED',
            $3::date + n * interval '1 microsecond', false, 0,
            '{"event":"MAIL_DELIVERED","success":true,"details":{"webhook_id":""}}', ''
       from generate_series(1, $4::integer) n`,
    [tenantId, o.time, o.day, o.count],
  )
}

/** The same database; how each of its statements is run is added to `plans`. */
export function explained(db: Db, plans: string[], how = 'explain (costs off)'): Db {
  const explaining = <Q extends Queryable>(q: Q): Q => ({
    ...q,
    async query<Row>(...[s, values]: Parameters<Queryable['query']>) {
      const text = typeof s === 'string' ? s : s.text
      // Both are sent now: the order of statements that share a round trip stays as it is.
      const [plan, result] = await Promise.all([
        q.query<{ 'QUERY PLAN': string }>(`${how} ${text}`, values),
        q.query<Row>(s, values),
      ])
      plans.push(plan.rows.map((row) => row['QUERY PLAN']).join('\n'))
      return result
    },
  })
  return {
    ...explaining(db),
    transaction: (work, o) => db.transaction((tx) => work(explaining(tx)), o),
  }
}

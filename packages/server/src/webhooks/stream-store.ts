/**
 * SQL of streams: what is pending for a webhook, the request that is frozen for it, and what came
 * of it. `webhooks_stream.delivery_id` is the fence: freezing needs it empty, settling needs it to
 * name the delivery, so of two dispatchers on one stream only one takes effect.
 */
import { insertRows, type Queryable, statement } from '../platform/db/index.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import type { StoredEvent } from './event.ts'

export interface StreamKey {
  readonly tenantId: string
  readonly webhookId: string
}

export async function insertStream(
  q: Queryable,
  s: StreamKey & { bucket: number; mode: 'array' | 'single' },
): Promise<void> {
  await q.query(
    'insert into webhooks_stream (tenant_id, webhook_id, bucket, mode) values ($1, $2, $3, $4)',
    [s.tenantId, s.webhookId, s.bucket, s.mode],
  )
}

/** Takes the stream, with its pending pointers, away; its open delivery is kept as discarded. */
export async function deleteStream(q: Queryable, key: StreamKey): Promise<void> {
  await discardPending(q, key)
  await q.query('delete from webhooks_stream where tenant_id = $1 and webhook_id = $2', [
    key.tenantId,
    key.webhookId,
  ])
}

/** What waits is no longer sent (contract §5: it can be had by replay). Locks the stream. */
export async function discardPending(q: Queryable, key: StreamKey): Promise<void> {
  const ids = [key.tenantId, key.webhookId]
  await q.query(
    `select 1 from webhooks_stream where tenant_id = $1 and webhook_id = $2 for update`,
    ids,
  )
  await q.query(
    `update webhooks_delivery set status = 'discarded', next_attempt_at = null, finished_at = now()
      where tenant_id = $1 and webhook_id = $2 and status in ('pending', 'retrying')`,
    ids,
  )
  await q.query(`delete from webhooks_pending where tenant_id = $1 and webhook_id = $2`, ids)
  await q.query(
    `update webhooks_stream
        set delivery_id = null, state = 'idle', not_before = '-infinity', fail_count = 0,
            first_failure_at = null
      where tenant_id = $1 and webhook_id = $2`,
    ids,
  )
}

/** A new URL or header may have mended the receiver: the next try is made at once. */
export async function expediteStream(q: Queryable, key: StreamKey): Promise<void> {
  await q.query(
    `update webhooks_stream set not_before = '-infinity' where tenant_id = $1 and webhook_id = $2`,
    [key.tenantId, key.webhookId],
  )
}

export interface PendingRow extends StreamKey {
  readonly eventId: string
  readonly day: string
  readonly bytes: number
}

export async function insertPending(q: Queryable, rows: readonly PendingRow[]): Promise<void> {
  await insertRows(q, {
    name: 'webhooks.insert_pending',
    into: 'webhooks_pending',
    columns: ['tenant_id', 'webhook_id', 'event_id', 'day', 'bytes'],
    rows: rows.map((r) => [r.tenantId, r.webhookId, r.eventId, r.day, r.bytes]),
  })
}

const ACTIVATE = statement(
  'webhooks.activate_streams',
  `update webhooks_stream set state = 'active'
    where tenant_id = any($1) and webhook_id = any($2) and state = 'idle'`,
)

/** Writes nothing for streams that are active already. */
export async function activateStreams(q: Queryable, keys: readonly StreamKey[]): Promise<void> {
  await q.query(ACTIVATE, [keys.map((k) => k.tenantId), keys.map((k) => k.webhookId)])
}

const DISCOVER = statement(
  'webhooks.discover_streams',
  `select tenant_id, webhook_id, bucket from webhooks_stream
    where bucket = any($1) and state = 'active' and not_before <= now() + interval '1 second'`,
)

export interface DiscoveredStream extends StreamKey {
  readonly bucket: number
}

/** Over all tenants: the dispatcher serves buckets, and each stream it finds by its own tenant. */
export async function discoverStreams(
  q: Queryable,
  buckets: readonly number[],
): Promise<DiscoveredStream[]> {
  const { rows } = await q.query<{ tenant_id: string; webhook_id: string; bucket: number }>(
    DISCOVER,
    [buckets],
  )
  return rows.map((r) => ({ tenantId: r.tenant_id, webhookId: r.webhook_id, bucket: r.bucket }))
}

const LOAD = statement(
  'webhooks.load_stream',
  `select s.mode, s.fail_count, s.delivery_id, sub.url, sub.active, sub.headers_sealed,
          greatest(0, extract(epoch from s.not_before - now()) * 1000)::float8 as wait_ms,
          d.day::text as delivery_day, d.event_ids, d.event_days::text[] as event_days,
          d.traceparent, d.attempts,
          (extract(epoch from now() - d.created_at) * 1000)::float8 as age_ms
     from webhooks_stream s
     left join webhooks_subscription sub
       on sub.tenant_id = s.tenant_id and sub.webhook_id = s.webhook_id
     left join webhooks_delivery d
       on d.tenant_id = s.tenant_id and d.delivery_id = s.delivery_id and d.day = s.delivery_day
    where s.tenant_id = $1 and s.webhook_id = $2`,
)

export interface LoadedStream {
  readonly mode: 'array' | 'single'
  readonly failCount: number
  /** Milliseconds until the next request may be made, by the database's clock. */
  readonly waitMs: number
  readonly url: string
  readonly headersSealed: string
  readonly active: boolean
  readonly delivery?: OpenDelivery
}

export interface OpenDelivery {
  readonly deliveryId: string
  readonly day: string
  readonly eventIds: readonly string[]
  readonly eventDays: readonly string[]
  readonly traceparent: string
  readonly attempts: number
  readonly ageMs: number
}

interface LoadRow {
  mode: 'array' | 'single'
  fail_count: number
  wait_ms: number | null
  delivery_id: string | null
  url: string | null
  active: boolean | null
  headers_sealed: string | null
  delivery_day: string | null
  event_ids: string[] | null
  event_days: string[] | null
  traceparent: string | null
  attempts: number | null
  age_ms: number | null
}

export async function loadStream(q: Queryable, key: StreamKey): Promise<LoadedStream | undefined> {
  const { rows } = await q.query<LoadRow>(LOAD, [key.tenantId, key.webhookId])
  const row = rows[0]
  if (row?.url == null || row.headers_sealed === null) return undefined
  return {
    mode: row.mode,
    failCount: row.fail_count,
    waitMs: row.wait_ms ?? 0,
    url: row.url,
    headersSealed: row.headers_sealed,
    active: row.active === true,
    ...(row.delivery_id === null ? {} : { delivery: toDelivery(row, row.delivery_id) }),
  }
}

function toDelivery(row: LoadRow, deliveryId: string): OpenDelivery {
  if (row.delivery_day === null || row.traceparent === null)
    throw new Error(`webhook delivery ${deliveryId} is open on its stream but was never stored`)
  return {
    deliveryId,
    day: row.delivery_day,
    eventIds: row.event_ids ?? [],
    eventDays: row.event_days ?? [],
    traceparent: row.traceparent,
    attempts: row.attempts ?? 0,
    ageMs: row.age_ms ?? 0,
  }
}

export interface PendingEvent extends StoredEvent {
  readonly day: string
  readonly bytes: number
  readonly traceparent: string
}

interface EventDbRow {
  event_id: string
  day: string
  bytes: number
  event_at: string
  body: string
  traceparent: string
}

const PEEK = statement(
  'webhooks.peek',
  `select p.event_id, p.day::text as day, p.bytes, e.event_at::text as event_at, e.body, e.traceparent
     from (select tenant_id, event_id, day, bytes from webhooks_pending
            where tenant_id = $1 and webhook_id = $2 order by event_id limit $3) p
     join webhooks_event e
       on e.tenant_id = $1 and e.event_id = p.event_id and e.day = p.day`,
)

/** The oldest pending events by id, in no order. */
export async function peekPending(
  q: Queryable,
  key: StreamKey,
  limit: number,
): Promise<PendingEvent[]> {
  const { rows } = await q.query<EventDbRow>(PEEK, [key.tenantId, key.webhookId, limit])
  return rows.map(toPendingEvent)
}

const MEMBERS = statement(
  'webhooks.members',
  `select event_id, day::text as day, octet_length(body) as bytes, event_at::text as event_at,
          body, traceparent
     from webhooks_event where tenant_id = $1 and event_id = any($2) and day = any($3::date[])`,
)

/** The events of a frozen delivery, in no order. */
export async function loadMembers(
  q: Queryable,
  tenantId: string,
  delivery: Pick<OpenDelivery, 'eventIds' | 'eventDays'>,
): Promise<PendingEvent[]> {
  const days = [...new Set(delivery.eventDays)]
  const { rows } = await q.query<EventDbRow>(MEMBERS, [tenantId, delivery.eventIds, days])
  return rows.map(toPendingEvent)
}

function toPendingEvent(row: EventDbRow): PendingEvent {
  return {
    eventId: row.event_id,
    day: row.day,
    bytes: row.bytes,
    eventAt: row.event_at,
    body: row.body,
    traceparent: row.traceparent,
  }
}

export interface NewDelivery extends StreamKey {
  readonly deliveryId: string
  readonly day: string
  readonly eventIds: readonly string[]
  readonly eventDays: readonly string[]
  readonly traceparent: string
}

const TAKE = statement(
  'webhooks.take_stream',
  `update webhooks_stream set delivery_id = $3, delivery_day = $4
    where tenant_id = $1 and webhook_id = $2 and delivery_id is null`,
)
const INSERT_DELIVERY = statement(
  'webhooks.insert_delivery',
  `insert into webhooks_delivery
     (tenant_id, delivery_id, day, webhook_id, status, event_ids, event_days, traceparent)
   values ($1, $2, $3, $4, 'pending', $5, $6, $7)`,
)

/**
 * Per delivery, false when another dispatcher has frozen one or the webhook is gone: then nothing
 * is stored of it.
 */
export async function freezeDeliveries(
  tx: Queryable,
  deliveries: readonly NewDelivery[],
): Promise<boolean[]> {
  const taken = await Promise.all(
    deliveries.map((d) => tx.query(TAKE, [d.tenantId, d.webhookId, d.deliveryId, d.day])),
  )
  const isOurs = taken.map((result) => result.rowCount > 0)
  await Promise.all(
    deliveries
      .filter((_, i) => isOurs[i])
      .map((d) =>
        tx.query(INSERT_DELIVERY, [
          d.tenantId,
          d.deliveryId,
          d.day,
          d.webhookId,
          d.eventIds,
          d.eventDays,
          d.traceparent,
        ]),
      ),
  )
  return isOurs
}

export interface DeliveryAttempt extends StreamKey {
  readonly deliveryId: string
  readonly day: string
  readonly attempt: number
  readonly at: Date
  readonly durationMs: number
  readonly status?: number
  readonly error?: string
  readonly response?: string
  readonly timings?: Readonly<Record<string, number>>
}

const INSERT_ATTEMPT = statement(
  'webhooks.insert_attempt',
  `insert into webhooks_attempt
     (tenant_id, delivery_id, day, attempt, at, duration_ms, status, error, response, timings)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
)

function insertDeliveryAttempt(q: Queryable, a: DeliveryAttempt): Promise<unknown> {
  return q.query(INSERT_ATTEMPT, [
    a.tenantId,
    a.deliveryId,
    a.day,
    a.attempt,
    a.at,
    a.durationMs,
    a.status ?? null,
    a.error ?? null,
    a.response ?? null,
    a.timings === undefined ? null : JSON.stringify(a.timings),
  ])
}

const SETTLE_OK = statement(
  'webhooks.settle_ok',
  `update webhooks_stream
      set delivery_id = null, fail_count = 0, first_failure_at = null, last_ok_at = now(),
          not_before = '-infinity'
    where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`,
)
const FINISH_DELIVERY = statement(
  'webhooks.finish_delivery',
  `update webhooks_delivery
      set status = $4, attempts = $5, next_attempt_at = null, finished_at = now()
    where tenant_id = $1 and delivery_id = $2 and day = $3`,
)
const DELETE_PENDING = statement(
  'webhooks.delete_pending',
  `delete from webhooks_pending where tenant_id = $1 and webhook_id = $2 and event_id = any($3)`,
)

const SETTLE_FAILED = statement(
  'webhooks.settle_failed',
  `update webhooks_stream
      set fail_count = fail_count + 1, first_failure_at = coalesce(first_failure_at, now()),
          not_before = now() + $4::float8 * interval '1 millisecond',
          delivery_id = case when $5::boolean then null else delivery_id end
    where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`,
)
const POSTPONE_DELIVERY = statement(
  'webhooks.postpone_delivery',
  `update webhooks_delivery
      set status = 'retrying', attempts = $4,
          next_attempt_at = now() + $5::float8 * interval '1 millisecond'
    where tenant_id = $1 and delivery_id = $2 and day = $3`,
)

export interface Settlement {
  readonly attempt: DeliveryAttempt
  readonly eventIds: readonly string[]
  readonly step: DeliveryStep
}

/**
 * What came of requests. Delivered: the pointers are deleted, the stream is free. Failed: the
 * stream backs off and the delivery keeps its content, or, when its time is over, is kept as
 * exhausted and its events leave the queue. Per settlement, false when the delivery is no longer
 * its stream's: then nothing is written of it.
 */
export async function settleDeliveries(
  tx: Queryable,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const settled = await Promise.all(
    settlements.map(({ attempt: a, step }) =>
      step.kind === 'delivered'
        ? tx.query(SETTLE_OK, [a.tenantId, a.webhookId, a.deliveryId])
        : tx.query(SETTLE_FAILED, [
            a.tenantId,
            a.webhookId,
            a.deliveryId,
            step.waitMs,
            step.kind === 'exhausted',
          ]),
    ),
  )
  const isOurs = settled.map((result) => result.rowCount > 0)
  await Promise.all(
    settlements.filter((_, i) => isOurs[i]).flatMap((settlement) => recordOutcome(tx, settlement)),
  )
  return isOurs
}

function recordOutcome(tx: Queryable, { attempt: a, eventIds, step }: Settlement) {
  const id = [a.tenantId, a.deliveryId, a.day]
  const written = [insertDeliveryAttempt(tx, a)]
  if (step.kind === 'retry') {
    written.push(tx.query(POSTPONE_DELIVERY, [...id, a.attempt, step.waitMs]))
  } else {
    written.push(tx.query(DELETE_PENDING, [a.tenantId, a.webhookId, eventIds]))
    written.push(tx.query(FINISH_DELIVERY, [...id, step.kind, a.attempt]))
  }
  return written
}

const LOCK_STREAM = statement(
  'webhooks.lock_stream',
  `select 1 from webhooks_stream
    where tenant_id = $1 and webhook_id = $2 and state = 'active' and delivery_id is null
      for update skip locked`,
)
const HAS_PENDING = statement(
  'webhooks.has_pending',
  'select 1 from webhooks_pending where tenant_id = $1 and webhook_id = $2 limit 1',
)
const GO_IDLE = statement(
  'webhooks.go_idle',
  `update webhooks_stream set state = 'idle' where tenant_id = $1 and webhook_id = $2`,
)

/**
 * Makes the stream idle when nothing is pending. The lock comes first: a writer whose pointer is
 * not visible yet holds a share lock on the stream through its foreign key, so the lock fails and
 * the stream stays active.
 */
export async function goIdle(tx: Queryable, key: StreamKey): Promise<boolean> {
  const ids = [key.tenantId, key.webhookId]
  const locked = await tx.query(LOCK_STREAM, ids)
  if (locked.rowCount === 0) return false
  const pending = await tx.query(HAS_PENDING, ids)
  if (pending.rowCount > 0) return false
  await tx.query(GO_IDLE, ids)
  return true
}

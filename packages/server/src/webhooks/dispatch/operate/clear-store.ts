/**
 * SQL that moves events into the record without a request: what is discarded, what is exhausted, what
 * was frozen and cannot be sent as it is. Under the lock of the stream (take-store.ts).
 */
import { insertRows, statement, type Tx } from '../../../platform/db/index.ts'
import type { StreamKey } from '../stream-store.ts'
import type { BodyMode } from '../take/delivery.ts'
import type { QueueCursorIds } from '../take/queue-cursor.ts'

/** Pointers that one step looks at, and open deliveries. */
export const CLEARED_POINTERS_MAX = 2_500
const CLEARED_OPEN_MAX = 100

/** The first of each lane above the cursor's ids. */
const FIRST_POINTERS = (limit: string) => `
  (select p.ctid, lane, event_id, day, generation, queued_at from webhooks_pending p
    where p.tenant_id = k.tenant_id and p.webhook_id = k.webhook_id and p.lane = 0
      and p.event_id > k.live
    order by p.event_id limit ${limit})
  union all
  (select p.ctid, lane, event_id, day, generation, queued_at from webhooks_pending p
    where p.tenant_id = k.tenant_id and p.webhook_id = k.webhook_id and p.lane = 1
      and p.event_id > k.replayed
    order by p.event_id limit ${limit})`

/** Open deliveries that wait for their turn, whenever that is. */
const FIRST_WAITING = `
  select o.delivery_id, o.created_at from webhooks_open o
   where o.tenant_id = k.tenant_id and o.webhook_id = k.webhook_id and o.due_at is not null
   order by o.due_at limit ${CLEARED_OPEN_MAX}`

const HAS_OVERDUE = statement(
  'webhooks.has_overdue',
  `select k.n::integer as n
     from unnest($1::text[], $2::text[], $3::float8[], $4::text[], $5::text[])
            with ordinality as k(tenant_id, webhook_id, retry_for_ms, live, replayed, n)
    cross join lateral (
      (select 1 from (${FIRST_POINTERS(String(CLEARED_POINTERS_MAX))}) p
        where p.queued_at <= now() - k.retry_for_ms * interval '1 millisecond' limit 1)
      union all
      (select 1 from (${FIRST_WAITING}) o
        where o.created_at <= now() - k.retry_for_ms * interval '1 millisecond' limit 1)
      limit 1) p`,
)

/** By place in `streams`, whether among what waits first something waits for too long. */
export async function hasOverdue(
  tx: Tx,
  streams: readonly (StreamKey & { readonly retryForMs: number; readonly low: QueueCursorIds })[],
): Promise<boolean[]> {
  const { rows } = await tx.query<{ n: number }>(HAS_OVERDUE, [
    streams.map((s) => s.tenantId),
    streams.map((s) => s.webhookId),
    streams.map((s) => s.retryForMs),
    streams.map((s) => s.low[0]),
    streams.map((s) => s.low[1]),
  ])
  const found = new Set(rows.map((row) => row.n - 1))
  return streams.map((_, i) => found.has(i))
}

const CLEARABLE = statement(
  'webhooks.clearable_pointers',
  `select p.ctid::text as place, p.lane, p.event_id, p.day
     from (select $1::text as tenant_id, $2::text as webhook_id, $6::text as live,
                  $7::text as replayed) k
    cross join lateral (${FIRST_POINTERS('$3::integer')}) p
    where ($4::integer is null or p.generation < $4)
      and ($5::float8 is null or p.queued_at <= now() - $5 * interval '1 millisecond')
    order by p.lane, p.event_id limit $3`,
)

export interface ClearablePointer {
  readonly place: string
  readonly lane: number
  readonly event_id: string
  readonly day: string
}

/** Of those that wait first: all, or those of an older generation, or those queued for too long. */
export async function clearablePointers(
  tx: Tx,
  key: StreamKey,
  which: {
    readonly low: QueueCursorIds
    readonly olderThanGeneration?: number
    readonly queuedForMs?: number
  },
): Promise<ClearablePointer[]> {
  const { rows } = await tx.query<ClearablePointer>(CLEARABLE, [
    key.tenantId,
    key.webhookId,
    CLEARED_POINTERS_MAX,
    which.olderThanGeneration ?? null,
    which.queuedForMs ?? null,
    which.low[0],
    which.low[1],
  ])
  return rows
}

const WAITING_OPEN = statement(
  'webhooks.waiting_open',
  `select o.delivery_id as "deliveryId"
     from (select $1::text as tenant_id, $2::text as webhook_id) k
    cross join lateral (${FIRST_WAITING}) o
    where $3::float8 is null or o.created_at <= now() - $3 * interval '1 millisecond'`,
)

/** Of the open deliveries whose turn comes first: all, or those that are open for too long. */
export async function waitingOpen(
  tx: Tx,
  key: StreamKey,
  which: { readonly openForMs?: number },
): Promise<string[]> {
  const { rows } = await tx.query<{ deliveryId: string }>(WAITING_OPEN, [
    key.tenantId,
    key.webhookId,
    which.openForMs ?? null,
  ])
  return rows.map((row) => row.deliveryId)
}

const CLOSE_OPEN = statement(
  'webhooks.close_open',
  `with closed as (
     delete from webhooks_open where tenant_id = $1 and delivery_id = any($2::text[]) returning *),
   recorded as (
     insert into webhooks_delivery
       (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids, event_days, traceparent,
        attempts, created_at, divided_into)
     select tenant_id, delivery_id, day, webhook_id, $5, $3, event_ids, event_days,
            traceparent, attempts, created_at, $4::text[]
       from closed)
   select delivery_id as "deliveryId", cardinality(event_ids) as events, attempts, traceparent
     from closed`,
)

/** A delivery that ended without a request of its own. */
export interface Cleared {
  readonly deliveryId: string
  readonly events: number
  /** Requests made before. */
  readonly attempts: number
  readonly traceparent: string
}

/** Open deliveries that are not sent again. */
export async function closeOpen(
  tx: Tx,
  o: {
    readonly tenantId: string
    readonly deliveryIds: readonly string[]
    readonly mode: BodyMode
    readonly status: ClearedRecord['status']
    /** Who took over what is left of it. */
    readonly dividedInto?: readonly string[]
  },
): Promise<Cleared[]> {
  if (o.deliveryIds.length === 0) return []
  const { rows } = await tx.query<Cleared>(CLOSE_OPEN, [
    o.tenantId,
    o.deliveryIds,
    o.mode,
    o.dividedInto ?? null,
    o.status,
  ])
  return rows
}

/** Events that were never in a request, as one delivery of the record. */
export interface ClearedRecord extends StreamKey {
  readonly deliveryId: string
  readonly day: string
  readonly status: 'discarded' | 'exhausted'
  readonly mode: BodyMode
  readonly eventIds: readonly string[]
  readonly eventDays: readonly string[]
}

export async function insertRecords(tx: Tx, records: readonly ClearedRecord[]): Promise<void> {
  await insertRows(tx, {
    name: 'webhooks.insert_record',
    into: 'webhooks_delivery',
    columns: [
      'tenant_id',
      'delivery_id',
      'day',
      'webhook_id',
      'status',
      'mode',
      'event_ids',
      'event_days',
      'traceparent',
      'attempts',
    ],
    rows: records.map((r) => [
      r.tenantId,
      r.deliveryId,
      r.day,
      r.webhookId,
      r.status,
      r.mode,
      r.eventIds,
      r.eventDays,
      '',
      0,
    ]),
  })
}

const RELEASE = statement(
  'webhooks.release_stream',
  `update webhooks_stream set delivery_id = null where tenant_id = $1 and webhook_id = $2`,
)

/** No delivery is under way. */
export async function releaseStream(tx: Tx, key: StreamKey): Promise<void> {
  await tx.query(RELEASE, [key.tenantId, key.webhookId])
}

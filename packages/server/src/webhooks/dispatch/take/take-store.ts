/**
 * SQL that takes deliveries: locks streams, reads what they need, moves pointers into open deliveries.
 *
 * The holder of a stream's lock alone takes from it, and only from there do pointers leave the
 * queue. Each statement serves a whole group: keys are arrays, and a lateral subquery with its own limit
 * keeps the plan a loop of index scans at any size of the tables.
 */
import {
  arrayText,
  givenRows,
  plainArrayText,
  statement,
  type Tx,
} from '../../../platform/db/index.ts'
import { EVENT_AT_TEXT, type RowOfBody, readBody } from '../../events/short-body.ts'
import type { Toggles } from '../../subscriptions/subscription.ts'
import { columnsOf, type StreamKey } from '../stream-store.ts'
import type { Pointer, StreamState } from './decide-take.ts'
import type { BodyMode, FrozenContent, LoggedEvent, OpenDelivery, Target } from './delivery.ts'
import type { QueueCursorIds } from './queue-cursor.ts'

const LOCK_STREAMS = statement(
  'webhooks.lock_streams',
  `select k.n::integer as n, s.*
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select bucket, mode, fail_count, delivery_id, is_probing, parked_in_row, batch_bytes_max,
             epoch, extract(epoch from now())::float8 * 1000 as now_ms,
             extract(epoch from now() - batch_shrunk_at)::float8 * 1000 as shrunk_ms,
             extract(epoch from now() - first_failure_at)::float8 * 1000 as failing_ms,
             case when not_before > now()
               then extract(epoch from not_before - now())::float8 * 1000 end as wait_ms,
             paused_at is not null as is_paused
        from webhooks_stream s
       where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id
         for no key update skip locked) s`,
)

interface StreamRow {
  n: number
  now_ms: number
  bucket: number
  mode: BodyMode
  fail_count: number
  delivery_id: string | null
  is_probing: boolean
  parked_in_row: number
  batch_bytes_max: number | null
  epoch: number
  shrunk_ms: number | null
  failing_ms: number | null
  wait_ms: number | null
  is_paused: boolean
}

export interface LockedStream extends StreamState {
  /** The database's clock: its day has partitions, whatever this process takes for today. */
  readonly nowMs: number
  readonly bucket: number
  /** Failures in a row. */
  readonly failCount: number
  /** Of its receiver: another one after a change of URL or headers. */
  readonly epoch: number
}

/** By place in `keys`; undefined when another transaction holds it, or it is gone. */
export async function lockStreams(
  tx: Tx,
  keys: readonly StreamKey[],
): Promise<(LockedStream | undefined)[]> {
  const { rows } = await tx.query<StreamRow>(LOCK_STREAMS, columnsOf(keys))
  const streams = new Array<LockedStream | undefined>(keys.length).fill(undefined)
  for (const row of rows)
    streams[row.n - 1] = {
      nowMs: row.now_ms,
      bucket: row.bucket,
      mode: row.mode,
      failCount: row.fail_count,
      epoch: row.epoch,
      deliveryId: row.delivery_id,
      isProbing: row.is_probing,
      parkedInRow: row.parked_in_row,
      batchBytesMax: row.batch_bytes_max,
      shrunkMs: row.shrunk_ms,
      failingMs: row.failing_ms ?? 0,
      waitMs: row.wait_ms ?? 0,
      isPaused: row.is_paused,
    }
  return streams
}

const EXISTING_STREAMS = statement(
  'webhooks.existing_streams',
  `select k.n::integer as n
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select 1 from webhooks_stream s
       where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id limit 1) s`,
)

/** Places in `keys`. */
export async function existingStreams(tx: Tx, keys: readonly StreamKey[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ n: number }>(EXISTING_STREAMS, columnsOf(keys))
  return new Set(rows.map((row) => row.n - 1))
}

const HAVE_PENDING = statement(
  'webhooks.have_pending',
  `select k.n::integer as n
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select 1 from webhooks_pending p
       where p.tenant_id = k.tenant_id and p.webhook_id = k.webhook_id limit 1) p`,
)

/** Places in `keys`. */
export async function havePending(tx: Tx, keys: readonly StreamKey[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ n: number }>(HAVE_PENDING, columnsOf(keys))
  return new Set(rows.map((row) => row.n - 1))
}

/**
 * The first subscription from that id on, which is the one or none: asked for it alone, the server may
 * take another index and read all subscriptions of a tenant with thousands of mailboxes.
 */
const LOAD_TARGETS = statement(
  'webhooks.load_targets',
  `select k.n::integer as n, sub.url, sub.headers_sealed, sub.signing_sealed, sub.active, sub.generation, sub.options,
          due.delivery_id, due.is_parked
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
     left join lateral (
       select webhook_id, url, headers_sealed, signing_sealed, active, generation, options
         from webhooks_subscription sub
        where sub.tenant_id = k.tenant_id and sub.webhook_id >= k.webhook_id
        order by sub.webhook_id limit 1) sub on sub.webhook_id = k.webhook_id
     left join lateral (
       select delivery_id, due_at > '-infinity' as is_parked from webhooks_open o
        where o.tenant_id = k.tenant_id and o.webhook_id = k.webhook_id and o.due_at <= now()
        order by o.due_at, o.turn limit 1) due on true`,
)

interface TargetRow {
  n: number
  url: string | null
  headers_sealed: string
  signing_sealed: string | null
  active: boolean | null
  generation: number | null
  options: Toggles | null
  delivery_id: string | null
  is_parked: boolean | null
}

export interface StreamTarget extends Target {
  /** Undefined when the webhook is gone. */
  readonly isActive: boolean | undefined
  readonly generation: number
  /** Of the tenant's `EMAIL_EVENT` webhook. */
  readonly toggles: Toggles | undefined
  /** An open delivery of this stream whose turn it is. */
  readonly dueId: string | null
  /** It was refused alone before; otherwise it is the half of another. */
  readonly isDueParked: boolean
}

/** By place in `keys`. After the lock, so that it sees what the last holder of it has left. */
export async function loadTargets(tx: Tx, keys: readonly StreamKey[]): Promise<StreamTarget[]> {
  const { rows } = await tx.query<TargetRow>(LOAD_TARGETS, columnsOf(keys))
  const targets = new Array<StreamTarget>(keys.length)
  for (const row of rows)
    targets[row.n - 1] = {
      url: row.url ?? '',
      headersSealed: row.headers_sealed,
      ...(row.signing_sealed === null ? {} : { signingSealed: row.signing_sealed }),
      isActive: row.active ?? undefined,
      generation: row.generation ?? 0,
      toggles: row.options ?? undefined,
      dueId: row.delivery_id,
      isDueParked: row.is_parked === true,
    }
  return targets
}

const LOAD_OPEN = statement(
  'webhooks.load_open',
  `select k.n::integer as n, o.*
     from unnest($1::text[], $2::text[]) with ordinality as k(tenant_id, delivery_id, n)
    cross join lateral (
      select tenant_id as "tenantId", webhook_id as "webhookId", delivery_id as "deliveryId",
             generation, event_ids as "eventIds", event_days::text[] as "eventDays", traceparent,
             attempts, status = 'parked' as "isParked",
             (extract(epoch from now() - created_at) * 1000)::float8 as "ageMs"
        from webhooks_open o
       where o.tenant_id = k.tenant_id and o.delivery_id = k.delivery_id limit 1) o`,
)

export interface DeliveryKey {
  readonly tenantId: string
  readonly deliveryId: string
}

/** By place in `keys`. */
export async function loadOpen(
  tx: Tx,
  keys: readonly DeliveryKey[],
): Promise<(OpenDelivery | undefined)[]> {
  if (keys.length === 0) return []
  const { rows } = await tx.query<OpenDelivery & { n: number }>(LOAD_OPEN, deliveryColumnsOf(keys))
  const open = new Array<OpenDelivery | undefined>(keys.length).fill(undefined)
  for (const row of rows) open[row.n - 1] = row
  return open
}

/** The second lane is read when the first has fewer rows than the limit: an append ends with its limit. */
const PEEK = statement(
  'webhooks.peek_pending',
  `select k.n::integer as n, p.ctid::text as place, p.lane, p.event_id, p.day, p.bytes, p.generation,
          p.solo
     from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::integer[])
            with ordinality as k(tenant_id, webhook_id, live, replayed, events_max, n)
    cross join lateral (
      (select w.ctid, lane, event_id, day, bytes, generation, solo from webhooks_pending w
        where w.tenant_id = k.tenant_id and w.webhook_id = k.webhook_id
          and w.lane = 0 and w.event_id > k.live
        order by w.event_id limit k.events_max)
      union all
      (select w.ctid, lane, event_id, day, bytes, generation, solo from webhooks_pending w
        where w.tenant_id = k.tenant_id and w.webhook_id = k.webhook_id
          and w.lane = 1 and w.event_id > k.replayed
        order by w.event_id limit k.events_max)
      limit k.events_max) p`,
)

export interface PeekRequest extends StreamKey {
  readonly low: QueueCursorIds
  readonly eventsMax: number
}

export interface PendingPointer extends Pointer {
  readonly n: number
  /** Of the row, while the stream is locked. */
  readonly place: string
  readonly lane: number
  readonly event_id: string
  readonly day: string
}

/** By place in `requests`: live events first, then replayed ones, each as they were recorded. */
export async function peekPending(
  tx: Tx,
  requests: readonly PeekRequest[],
): Promise<PendingPointer[][]> {
  if (requests.length === 0) return []
  const { rows } = await tx.query<PendingPointer>(PEEK, [
    arrayText(requests.map((r) => r.tenantId)),
    arrayText(requests.map((r) => r.webhookId)),
    arrayText(requests.map((r) => r.low[0])),
    arrayText(requests.map((r) => r.low[1])),
    arrayText(requests.map((r) => r.eventsMax)),
  ])
  const pointers = requests.map((): PendingPointer[] => [])
  for (const row of rows) pointers[row.n - 1]?.push(row)
  return pointers
}

/** The first and the last day as parameters of their own: partitions outside are not even opened. */
const LOAD_EVENTS = statement(
  'webhooks.load_events',
  `select k.owner, k.event_id, k.day, e.octets, e.body, e."refId", e."eventAt", e.traceparent
     from unnest($1::integer[], $2::text[], $3::text[], $4::date[])
            as k(owner, tenant_id, event_id, day)
     left join lateral (
       select octets, body, ref_id as "refId", ${EVENT_AT_TEXT} as "eventAt", traceparent, event_at
         from webhooks_event e
        where e.tenant_id = k.tenant_id and e.event_id = k.event_id and e.day = k.day
          and e.day between $5::date and $6::date
        limit 1) e on true
    order by k.owner, e.event_at, k.event_id`,
)

export interface EventOwner {
  readonly tenantId: string
  readonly eventIds: readonly string[]
  readonly eventDays: readonly string[]
}

type EventBodyRow = { owner: number; event_id: string; day: string } & (
  | (RowOfBody & { traceparent: string })
  | { body: null }
)

/**
 * By place in `owners`, the events that are still in the log, oldest first by (event_at, event_id)
 * (docs/reference/webhooks.md#ordering): immutable rows, so that the same ids always give the same order.
 */
export async function loadEvents(tx: Tx, owners: readonly EventOwner[]): Promise<LoggedEvent[][]> {
  const events = owners.map((): LoggedEvent[] => [])
  if (owners.length === 0) return events
  const places: number[] = []
  const tenantIds: string[] = []
  const eventIds: string[] = []
  const days: string[] = []
  let first = '9999-12-31'
  let last = '0001-01-01'
  owners.forEach((owner, place) => {
    owner.eventIds.forEach((eventId, i) => {
      const day = owner.eventDays[i] ?? ''
      places.push(place)
      tenantIds.push(owner.tenantId)
      eventIds.push(eventId)
      days.push(day)
      if (day < first) first = day
      if (day > last) last = day
    })
  })
  const { rows } = await tx.query<EventBodyRow>(LOAD_EVENTS, [
    arrayText(places),
    arrayText(tenantIds),
    arrayText(eventIds),
    arrayText(days),
    first,
    last,
  ])
  for (const row of rows)
    if (row.body !== null) {
      const { event_id: eventId, day, traceparent } = row
      events[row.owner]?.push({ eventId, day, body: readBody(row), traceparent })
    }
  return events
}

const DELETE_POINTERS = statement(
  'webhooks.delete_pointers',
  'delete from webhooks_pending where ctid = any($1::tid[])',
)

/**
 * By the places of rows, seen in this transaction and under the locks of their streams: nobody else
 * deletes them, so each place still holds its row. Throws when that is not so.
 */
export async function deletePointers(tx: Tx, places: readonly string[]): Promise<void> {
  const { rowCount } = await tx.query(DELETE_POINTERS, [arrayText(places)])
  if (rowCount !== places.length)
    throw new Error(`${places.length} pointers were to be deleted, ${rowCount} were there`)
}

const DELETE_READ = statement(
  'webhooks.delete_read_pointers',
  `delete from webhooks_pending p using unnest($1::tid[], $2::text[]) as k(place, event_id)
    where p.ctid = k.place and p.event_id = k.event_id`,
)

/** What was read in an earlier transaction has left the queue since. */
export class StaleReadError extends Error {
  override readonly name = 'StaleReadError'
}

/**
 * Of rows that an earlier transaction saw: a place may be empty or hold another row by now. Throws then;
 * an event is queued at most once for a stream, so a row with its id is the one that was seen.
 */
export async function deleteReadPointers(
  tx: Tx,
  pointers: readonly PendingPointer[],
): Promise<void> {
  const { rowCount } = await tx.query(DELETE_READ, [
    arrayText(pointers.map((p) => p.place)),
    arrayText(pointers.map((p) => p.event_id)),
  ])
  if (rowCount !== pointers.length)
    throw new StaleReadError(`${pointers.length} pointers were read, ${rowCount} are there`)
}

const DELETE_OLDER = statement(
  'webhooks.delete_older_pointers',
  `delete from webhooks_pending where ctid = any($1::tid[]) and generation < $2::integer
   returning ctid::text as place`,
)

/**
 * Of these those that are still of an older generation, by their places: a replay, which does not wait
 * for the lock, may queue some of them anew meanwhile.
 */
export async function deleteOlderPointers(
  tx: Tx,
  places: readonly string[],
  generation: number,
): Promise<Set<string>> {
  const { rows } = await tx.query<{ place: string }>(DELETE_OLDER, [places, generation])
  return new Set(rows.map((row) => row.place))
}

export interface NewOpenDelivery extends StreamKey, FrozenContent {
  readonly deliveryId: string
  /** Of its id. */
  readonly day: string
  readonly bucket: number
  readonly generation: number
  /** Waits for its turn; else it is the current one of its stream. */
  readonly isDue: boolean
}

/** One statement of one text for any number; lists travel as their own text, one in each element. */
const INSERT_OPEN = statement(
  'webhooks.insert_open',
  `insert into webhooks_open
     (tenant_id, delivery_id, day, webhook_id, bucket, generation, event_ids, event_days, traceparent,
      due_at, turn)
   select tenant_id, delivery_id, day, webhook_id, bucket, generation, event_ids::text[],
          event_days::date[], traceparent, case when turn <> '' then '-infinity'::timestamptz end, turn
     from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::smallint[], $6::integer[],
                 $7::text[], $8::text[], $9::text[], $10::text[])
            as k(tenant_id, delivery_id, day, webhook_id, bucket, generation, event_ids, event_days,
                 traceparent, turn)`,
)

export async function insertOpen(tx: Tx, rows: readonly NewOpenDelivery[]): Promise<void> {
  await tx.query(INSERT_OPEN, [
    arrayText(rows.map((r) => r.tenantId)),
    arrayText(rows.map((r) => r.deliveryId)),
    arrayText(rows.map((r) => r.day)),
    arrayText(rows.map((r) => r.webhookId)),
    arrayText(rows.map((r) => r.bucket)),
    arrayText(rows.map((r) => r.generation)),
    arrayText(rows.map((r) => plainArrayText(r.eventIds))),
    arrayText(rows.map((r) => plainArrayText(r.eventDays))),
    arrayText(rows.map((r) => r.traceparent)),
    arrayText(rows.map((r) => (r.isDue ? (r.eventIds[0] ?? '') : ''))),
  ])
}

const HOLD = statement(
  'webhooks.hold_delivery',
  `update webhooks_stream s set delivery_id = k.delivery_id, state = 'active'
     from unnest($1::text[], $2::text[], $3::text[]) as k(tenant_id, webhook_id, delivery_id)
    where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id`,
)

/**
 * Makes these the deliveries that are under way; under the locks of their streams. One that was parked
 * may be called up while its stream is idle.
 */
export async function holdDeliveries(
  tx: Tx,
  deliveries: readonly (StreamKey & DeliveryKey)[],
): Promise<void> {
  await tx.query(HOLD, [
    arrayText(deliveries.map((d) => d.tenantId)),
    arrayText(deliveries.map((d) => d.webhookId)),
    arrayText(deliveries.map((d) => d.deliveryId)),
  ])
}

const CALL_UP = statement(
  'webhooks.call_up_open',
  `update webhooks_open o set due_at = null
     from unnest($1::text[], $2::text[]) as k(tenant_id, delivery_id)
    where o.tenant_id = k.tenant_id and o.delivery_id = k.delivery_id`,
)

/** They no longer wait for their turn. */
export async function callUp(tx: Tx, deliveries: readonly DeliveryKey[]): Promise<void> {
  if (deliveries.length > 0) await tx.query(CALL_UP, deliveryColumnsOf(deliveries))
}

function deliveryColumnsOf(keys: readonly DeliveryKey[]): [string, string] {
  return [arrayText(keys.map((k) => k.tenantId)), arrayText(keys.map((k) => k.deliveryId))]
}

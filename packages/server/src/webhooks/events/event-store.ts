/**
 * SQL of the event log and of the pointers into it: `webhooks_event` is appended to and never
 * changed, `webhooks_pending` names what a stream has still to deliver.
 */
import type { MessageEventName } from '@postrider/contract'
import {
  arrayText,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../../platform/db/index.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { BODY_JSON, type BodyInRow, EVENT_AT_TEXT, readBody, shortenBody } from './short-body.ts'

export interface EventRow {
  readonly tenantId: string
  readonly eventId: string
  /** Of `eventAt`, or where the log has no such day, the one that keeps it. */
  readonly day: string
  readonly refId: string
  readonly event: string
  /** '': the tenant. */
  readonly owner: string
  readonly eventAt: string
  /** Not found by the time within its id. */
  readonly isLate: boolean
  readonly attempt: number
  readonly body: string
  readonly traceparent: string
}

/** The days around today are always there; to look one up costs half of what an event does (10 µs). */
const KEPT_DAY = `case when e.day between current_date - 1 and current_date + 1
  then e.day else webhooks_event_day(e.day) end`
const INSERT_EVENTS = statement(
  'webhooks.insert_events',
  `with stored as (
     insert into webhooks_event
       (tenant_id, event_id, day, ref_id, event, owner, event_at, is_late, attempt, octets, body,
        traceparent)
     select e.tenant_id, e.event_id, ${KEPT_DAY}, e.ref_id, e.event, e.owner, e.event_at, e.is_late,
            e.attempt, e.octets, e.body, e.traceparent
       from unnest($1::text[], $2::text[], $3::date[], $4::text[], $5::text[], $6::text[],
              $7::timestamptz[], $8::boolean[], $9::integer[], $10::integer[], $11::text[], $12::text[])
         as e (tenant_id, event_id, day, ref_id, event, owner, event_at, is_late, attempt, octets,
               body, traceparent)
     on conflict (tenant_id, ref_id, event, event_at, attempt, day) do nothing
     returning (event_at at time zone 'UTC')::date = day as is_own
   )
   select count(*)::integer as n from stored where is_own`,
)
// Those of this transaction among the given.
const FIND_STORED = statement(
  'webhooks.find_stored',
  `select e.event_id as "eventId", e.day
     from unnest($1::text[], $2::text[], $3::date[]) as given (tenant_id, event_id, day)
    cross join lateral (
      select event_id, day from webhooks_event e
       where e.tenant_id = given.tenant_id and e.event_id = given.event_id
         and e.day in (given.day, current_date) limit 1) e`,
)

/**
 * Answers the ids that were inserted, each with the day that keeps it: the others met an event with
 * the same deduplication key. That all were, each under its own day, is what nearly always comes back.
 */
export async function insertEvents(
  q: Queryable,
  rows: readonly EventRow[],
): Promise<Map<string, string>> {
  if (rows.length === 0) return new Map()
  const keys = [
    arrayText(rows.map((r) => r.tenantId)),
    arrayText(rows.map((r) => r.eventId)),
    arrayText(rows.map((r) => r.day)),
  ]
  const bodies = rows.map((r) => shortenBody(r.body, r))
  const stored = await q.query<{ n: number }>(INSERT_EVENTS, [
    ...keys,
    textArray(rows.map((r) => r.refId)),
    arrayText(rows.map((r) => r.event)),
    textArray(rows.map((r) => r.owner)),
    arrayText(rows.map((r) => r.eventAt)),
    arrayText(rows.map((r) => r.isLate)),
    arrayText(rows.map((r) => r.attempt)),
    arrayText(bodies.map((r) => r.octets)),
    textArray(bodies.map((r) => r.body)),
    textArray(rows.map((r) => r.traceparent)),
  ])
  if (stored.rows[0]?.n === rows.length) return new Map(rows.map((r) => [r.eventId, r.day]))
  const found = await q.query<{ eventId: string; day: string }>(FIND_STORED, keys)
  return new Map(found.rows.map(({ eventId, day }) => [eventId, day]))
}

const LOCK_EMAILS = `select pg_advisory_xact_lock(hashtextextended('webhooks_event ' || email, 0))
  from unnest($1::text[]) as email`
const DROP_REPEATED = `delete from webhooks_event mine
  using unnest($1::text[], $2::text[], $3::date[]) as given (tenant_id, event_id, day)
  where mine.tenant_id = given.tenant_id and mine.event_id = given.event_id
    and mine.day = given.day
    and exists (select 1 from webhooks_event other
                 where other.tenant_id = mine.tenant_id and other.ref_id = mine.ref_id
                   and other.event = mine.event and other.event_at = mine.event_at
                   and other.attempt = mine.attempt and other.day <> mine.day)
  returning mine.event_id`

/**
 * Of events just inserted under another day than that of their `event_at`, which the unique index
 * does not compare with those of other days: takes back those whose deduplication key is taken, and
 * answers their ids. The lock is held to the end of the transaction: two such events of one email
 * see each other. Sorted, so that two groups do not wait for each other.
 */
export async function dropRepeatedEvents(tx: Tx, rows: readonly EventRow[]): Promise<string[]> {
  const emails = new Set(rows.map((row) => `${row.tenantId} ${row.refId}`))
  await tx.query(LOCK_EMAILS, [[...emails].sort()])
  const { rows: dropped } = await tx.query<{ event_id: string }>(DROP_REPEATED, [
    rows.map((row) => row.tenantId),
    rows.map((row) => row.eventId),
    rows.map((row) => row.day),
  ])
  return dropped.map((row) => row.event_id)
}

export interface PendingRow extends StreamKey {
  /** 0: live. 1: replayed, which goes after what is live. */
  readonly lane: 0 | 1
  readonly eventId: string
  readonly day: string
  /** Of the event as this stream sends it. */
  readonly bytes: number
  /** Of the subscription when the event was queued. */
  readonly generation: number
  /** Travels in a request of its own. */
  readonly solo: boolean
}

const INSERT_PENDING = statement(
  'webhooks.insert_pending',
  `insert into webhooks_pending
     (tenant_id, webhook_id, lane, event_id, day, bytes, generation, solo)
   select * from unnest($1::text[], $2::text[], $3::smallint[], $4::text[], $5::date[],
     $6::integer[], $7::integer[], $8::boolean[])`,
)

export async function insertPending(q: Queryable, rows: readonly PendingRow[]): Promise<void> {
  if (rows.length === 0) return
  await q.query(INSERT_PENDING, [
    arrayText(rows.map((r) => r.tenantId)),
    arrayText(rows.map((r) => r.webhookId)),
    arrayText(rows.map((r) => r.lane)),
    arrayText(rows.map((r) => r.eventId)),
    arrayText(rows.map((r) => r.day)),
    arrayText(rows.map((r) => r.bytes)),
    arrayText(rows.map((r) => r.generation)),
    arrayText(rows.map((r) => r.solo)),
  ])
}

export interface EventOfEmail {
  readonly eventId: string
  readonly event: MessageEventName
  /** RFC 3339 with microseconds. */
  readonly eventAt: string
  readonly body: string
}

const OF_EMAIL = statement(
  'webhooks.events_of_email',
  `select event_id as "eventId", event, octets, body, ${EVENT_AT_TEXT} as "eventAt"
     from (
       select event_id, event, event_at, octets, body from webhooks_event
        where tenant_id = $1 and ref_id = $2 and day >= $3
          -- Cheap, and true of few others: what follows reads the whole body.
          and ($4::text is null or (position($6 in body) > 0
                and (${BODY_JSON})::json -> 'details' ->> 'email' = $4))
        order by event_at desc, event_id desc limit $5) newest
    order by event_at, event_id`,
)

/** Of an email, or of one of its recipients, the newest `limit` events: oldest first. */
export async function readEventsOfEmail(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly refId: string
    /** No event of it is older. */
    readonly notBefore: string
    /** The recipient's address as events have it. */
    readonly email: string | undefined
    readonly limit: number
  },
): Promise<EventOfEmail[]> {
  const { refId, email } = o
  const rows = await q.query<EventOfEmail & BodyInRow>(OF_EMAIL, [
    o.tenantId,
    refId,
    o.notBefore,
    email === undefined ? null : JSON.stringify([email]),
    o.limit,
    email === undefined ? null : JSON.stringify(email),
  ])
  return rows.rows.map(({ octets, ...row }) => ({
    ...row,
    body: readBody({ ...row, octets, refId }),
  }))
}

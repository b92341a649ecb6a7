/**
 * SQL that settles requests. The fence is `webhooks_stream.delivery_id`: what comes too late matches no
 * stream and writes nothing. What was asked of a receiver that the webhook no longer has (an older epoch)
 * changes the delivery, and nothing that the stream knows of its receiver. The content of a delivery is in its open row and goes from there into the
 * record; attempts are counted there too, since two dispatchers may make the same one.
 */
import {
  arrayText,
  givenRows,
  plainArrayText,
  statement,
  type Tx,
} from '../../../platform/db/index.ts'
import { columnsOf, type StreamKey } from '../stream-store.ts'

export interface SettledDelivery extends StreamKey {
  readonly deliveryId: string
  /** Of the stream when the request was made. */
  readonly epoch: number
  /** JSON of what was seen of the request, without its number; begins with `{"at":`. */
  readonly attempt: string
}

const LOCK_FOR_SETTLING = statement(
  'webhooks.lock_for_settling',
  `select k.n::integer as n
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select 1 from webhooks_stream s
       where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id
         for no key update skip locked) s`,
)

/** Places in `keys`. One that somebody holds keeps no other waiting. */
export async function lockForSettling(tx: Tx, keys: readonly StreamKey[]): Promise<Set<number>> {
  const { rows } = await tx.query<{ n: number }>(LOCK_FOR_SETTLING, columnsOf(keys))
  return new Set(rows.map((row) => row.n - 1))
}

/** The attempt as it stands in the record: its number comes first. */
const NUMBERED = `('{"attempt":' || attempts + 1 || ',' || substr(attempt::text, 2))::json`

const RECORD_CLOSED = (status: string) => `
   recorded as (
     insert into webhooks_delivery
       (tenant_id, delivery_id, day, webhook_id, status, mode, event_ids, event_days, traceparent,
        attempts, created_at, divided_into, last_attempt)
     select tenant_id, delivery_id, day, webhook_id, ${status}, mode, event_ids, event_days,
            traceparent, attempts + 1, created_at, divided_into, ${NUMBERED}
       from closed)`

const SETTLE_DELIVERED = statement(
  'webhooks.settle_delivered',
  `with k as materialized (
     select * from rows from (
              unnest($1::text[], $2::text[], $3::text[]), json_array_elements($4::json),
              unnest($5::boolean[], $6::integer[]))
              with ordinality as k(tenant_id, webhook_id, delivery_id, attempt, ends_probe, epoch, n)),
   fenced as (
     update webhooks_stream s
        set delivery_id = null,
            fail_count = case when s.epoch = k.epoch then 0 else s.fail_count end,
            first_failure_at = case when s.epoch <> k.epoch then s.first_failure_at end,
            last_ok_at = case when s.epoch = k.epoch then now() else s.last_ok_at end,
            not_before = case when s.epoch = k.epoch then '-infinity' else s.not_before end,
            parked_in_row = case when s.epoch = k.epoch then 0 else s.parked_in_row end,
            is_probing = s.is_probing and not (k.ends_probe and s.epoch = k.epoch)
       from k
      where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id
        and s.delivery_id = k.delivery_id
     returning k.n, k.tenant_id, k.delivery_id, k.attempt, s.mode),
   closed as (
     delete from webhooks_open o using fenced f
      where o.tenant_id = f.tenant_id and o.delivery_id = f.delivery_id
     returning o.*, f.mode, f.attempt, null::text[] as divided_into),
   ${RECORD_CLOSED(`'delivered'`)}
   select n::integer as n from fenced`,
)

export interface DeliveredRow extends SettledDelivery {
  readonly endsProbe: boolean
}

/** Places in `rows` that took effect. */
export async function settleDelivered(
  tx: Tx,
  rows: readonly DeliveredRow[],
): Promise<readonly number[]> {
  if (rows.length === 0) return []
  const result = await tx.query<{ n: number }>(SETTLE_DELIVERED, [
    arrayText(rows.map((r) => r.tenantId)),
    arrayText(rows.map((r) => r.webhookId)),
    arrayText(rows.map((r) => r.deliveryId)),
    `[${rows.map((r) => r.attempt).join()}]`,
    arrayText(rows.map((r) => r.endsProbe)),
    arrayText(rows.map((r) => r.epoch)),
  ])
  return result.rows.map((row) => row.n - 1)
}

/** The back-off moves only as this request saw it: not twice for two dispatchers. */
const SETTLE_REFUSED = statement(
  'webhooks.settle_refused',
  `with k as materialized (
     select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[],
                          $7::integer[], $8::float8[], $9::integer[], $10::text[],
                          $11::float8[], $12::boolean[], $13::integer[])
              with ordinality as k(tenant_id, webhook_id, delivery_id, attempt, step, is_up,
                                   fail_count, wait_ms, bytes_max, divided_into, back_off_ms,
                                   is_refused_anew, epoch, n)),
   fenced as (
     update webhooks_stream s
        set delivery_id = case when k.step = 'retry' then s.delivery_id end,
            fail_count = case when s.epoch <> k.epoch then s.fail_count
              when k.is_up and k.back_off_ms > 0 then s.fail_count
              when k.is_up then 0
              when s.fail_count = k.fail_count then s.fail_count + 1 else s.fail_count end,
            not_before = case when s.epoch <> k.epoch then s.not_before
              when k.is_up and k.back_off_ms = 0 then '-infinity'
              when k.is_up or s.fail_count = k.fail_count
                then now() + k.back_off_ms * interval '1 millisecond' else s.not_before end,
            first_failure_at = case when s.epoch <> k.epoch then s.first_failure_at
              when not k.is_up then coalesce(s.first_failure_at, now())
              when k.back_off_ms > 0 then s.first_failure_at end,
            is_probing = s.is_probing or (s.epoch = k.epoch and not k.is_up),
            parked_in_row = s.parked_in_row + (s.epoch = k.epoch and k.is_refused_anew)::integer,
            batch_bytes_max = case when s.epoch = k.epoch and k.bytes_max is not null
              then k.bytes_max else s.batch_bytes_max end,
            batch_shrunk_at = case when s.epoch = k.epoch and k.bytes_max is not null
              then now() else s.batch_shrunk_at end
       from k
      where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id
        and s.delivery_id = k.delivery_id
     returning k.*, s.mode),
   kept as (
     update webhooks_open o
        set status = case when f.step = 'parked' then 'parked' else 'retrying' end,
            attempts = o.attempts + 1,
            next_attempt_at = now() + f.wait_ms * interval '1 millisecond',
            due_at = case when f.step = 'parked'
              then now() + f.wait_ms * interval '1 millisecond' end
       from fenced f
      where f.step in ('retry', 'parked')
        and o.tenant_id = f.tenant_id and o.delivery_id = f.delivery_id
     returning o.tenant_id, o.delivery_id, o.day, o.attempts, f.attempt),
   attempted as (
     insert into webhooks_attempt
       (tenant_id, delivery_id, day, attempt, at, duration_ms, status, error, response, timings,
        header_names)
     select k.tenant_id, k.delivery_id, k.day, k.attempts, a.at, a.duration_ms, a.status, a.error,
            a.response, a.timings, a.header_names
       from kept k
      cross join lateral json_to_record(k.attempt::json) as a(
            at timestamptz, duration_ms integer, status smallint, error text, response text,
            timings json, header_names text[])),
   closed as (
     delete from webhooks_open o using fenced f
      where f.step in ('exhausted', 'divided')
        and o.tenant_id = f.tenant_id and o.delivery_id = f.delivery_id
     returning o.*, f.mode, f.attempt, f.step, f.divided_into::text[] as divided_into),
   ${RECORD_CLOSED(`case when step = 'divided' then 'discarded' else step end`)}
   select n::integer as n from fenced`,
)

export interface RefusedRow extends SettledDelivery {
  readonly step: 'retry' | 'divided' | 'parked' | 'exhausted'
  /** It refused the content, which is no failure. */
  readonly isReceiverUp: boolean
  /** So long its stream waits; 0 when it goes on at once. */
  readonly backOffMs: number
  /** One event more was refused alone; one that was parked before is not counted again. */
  readonly isRefusedAnew: boolean
  /** Of the stream when the request was made. */
  readonly failCount: number
  readonly waitMs: number
  readonly batchBytesMax?: number | undefined
  readonly dividedInto?: readonly string[] | undefined
}

/** Places in `rows` that took effect. */
export async function settleRefused(
  tx: Tx,
  rows: readonly RefusedRow[],
): Promise<readonly number[]> {
  if (rows.length === 0) return []
  const result = await tx.query<{ n: number }>(SETTLE_REFUSED, [
    rows.map((r) => r.tenantId),
    rows.map((r) => r.webhookId),
    rows.map((r) => r.deliveryId),
    rows.map((r) => r.attempt),
    rows.map((r) => r.step),
    rows.map((r) => r.isReceiverUp),
    rows.map((r) => r.failCount),
    rows.map((r) => r.waitMs),
    rows.map((r) => r.batchBytesMax ?? null),
    rows.map((r) => (r.dividedInto === undefined ? null : plainArrayText(r.dividedInto))),
    rows.map((r) => r.backOffMs),
    rows.map((r) => r.isRefusedAnew),
    rows.map((r) => r.epoch),
  ])
  return result.rows.map((row) => row.n - 1)
}

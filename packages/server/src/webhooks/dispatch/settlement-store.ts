/**
 * SQL that settles requests: the attempt is recorded, and the stream goes on or backs off.
 *
 * The fence is `webhooks_stream.delivery_id` (delivery-store.ts): what comes too late writes nothing.
 */
import { statement, type Tx } from '../../platform/db/index.ts'
import { deletePending } from '../event-store.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import type { OpenDelivery } from './delivery-store.ts'

/** What was seen of one request. */
export interface AttemptRecord {
  readonly at: Date
  readonly durationMs: number
  readonly status?: number
  readonly error?: string
  /** The beginning of the answer's body. */
  readonly response?: string
  readonly timings?: Readonly<Record<string, number>>
}

export interface Settlement {
  readonly delivery: OpenDelivery
  /** `fail_count` of the stream when the request was made. */
  readonly failCount: number
  readonly attempt: AttemptRecord
  readonly step: DeliveryStep
}

const SETTLE_DELIVERED = statement(
  'webhooks.settle_delivered',
  `update webhooks_stream
      set delivery_id = null, delivery_day = null, fail_count = 0, first_failure_at = null,
          last_ok_at = now(), not_before = '-infinity'
    where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`,
)
/** The back-off moves only as this request saw it: not twice for two dispatchers. */
const SETTLE_FAILED = statement(
  'webhooks.settle_failed',
  `update webhooks_stream
      set fail_count = case when fail_count = $4 then fail_count + 1 else fail_count end,
          not_before = case when fail_count = $4
            then now() + $5::float8 * interval '1 millisecond' else not_before end,
          first_failure_at = coalesce(first_failure_at, now()),
          delivery_id = case when $6::boolean then null else delivery_id end,
          delivery_day = case when $6::boolean then null else delivery_day end
    where tenant_id = $1 and webhook_id = $2 and delivery_id = $3`,
)
/** Attempts are counted here: two dispatchers may make the same one. */
const RECORD_ATTEMPT = statement(
  'webhooks.record_attempt',
  `with delivery as (
     update webhooks_delivery
        set status = $4, attempts = attempts + 1,
            next_attempt_at = now() + $5::float8 * interval '1 millisecond',
            finished_at = case when $5::float8 is null then now() end
      where tenant_id = $1 and delivery_id = $2 and day = $3
     returning tenant_id, delivery_id, day, attempts)
   insert into webhooks_attempt
     (tenant_id, delivery_id, day, attempt, at, duration_ms, status, error, response, timings)
   select tenant_id, delivery_id, day, attempts, $6::timestamptz, $7::integer, $8::smallint,
          $9::text, $10::text, $11::json
     from delivery`,
)

/**
 * What came of requests. Delivered: the pointers are deleted, the stream is free. Failed: the
 * stream backs off and the delivery keeps its content, or, when its time is over, is kept as
 * exhausted and its events leave the queue. Per settlement, false when the delivery is no longer
 * its stream's: then nothing is written of it.
 */
export async function settleDeliveries(
  tx: Tx,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const settled = await Promise.all(settlements.map((settlement) => settleStream(tx, settlement)))
  const isOurs = settled.map((result) => result.rowCount > 0)
  await Promise.all(
    settlements.filter((_, i) => isOurs[i]).flatMap((settlement) => recordOutcome(tx, settlement)),
  )
  return isOurs
}

function settleStream(tx: Tx, { delivery: d, failCount, step }: Settlement) {
  const ids = [d.tenantId, d.webhookId, d.deliveryId]
  if (step.kind === 'delivered') return tx.query(SETTLE_DELIVERED, ids)
  return tx.query(SETTLE_FAILED, [...ids, failCount, step.waitMs, step.kind === 'exhausted'])
}

function recordOutcome(tx: Tx, { delivery: d, attempt: a, step }: Settlement): Promise<unknown>[] {
  const isRetried = step.kind === 'retry'
  const recorded = tx.query(RECORD_ATTEMPT, [
    d.tenantId,
    d.deliveryId,
    d.day,
    isRetried ? 'retrying' : step.kind,
    isRetried ? step.waitMs : null,
    a.at,
    a.durationMs,
    a.status ?? null,
    a.error ?? null,
    a.response ?? null,
    a.timings === undefined ? null : JSON.stringify(a.timings),
  ])
  return isRetried ? [recorded] : [recorded, deletePending(tx, d, d.eventIds)]
}

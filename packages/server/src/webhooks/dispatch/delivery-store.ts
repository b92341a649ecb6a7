/**
 * SQL of webhook deliveries: requests whose content is frozen.
 *
 * `webhooks_stream.delivery_id` is the fence. Freezing needs it empty, settling
 * (settlement-store.ts) needs it to name the delivery, so of two dispatchers on one stream only one
 * takes effect.
 */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { shareTenants } from '../store.ts'
import type { StreamKey, Target } from './stream-store.ts'

export interface FrozenContent extends StreamKey {
  readonly deliveryId: string
  readonly day: string
  readonly eventIds: readonly string[]
  /** Of each event, the day that holds it. */
  readonly eventDays: readonly string[]
  readonly traceparent: string
}

export interface NewDelivery extends FrozenContent {
  /** Of the stream when it was read, before its pending events were. */
  readonly streamVersion: string
}

export interface OpenDelivery extends FrozenContent {
  /** Requests made so far. */
  readonly attempts: number
  /** Since it was frozen, by the database's clock. */
  readonly ageMs: number
}

const TAKE_STREAM = statement(
  'webhooks.take_stream',
  `update webhooks_stream s set delivery_id = $3, delivery_day = $4
     from webhooks_subscription sub
    where s.tenant_id = $1 and s.webhook_id = $2 and s.delivery_id is null and s.xmin = $5
      and sub.tenant_id = s.tenant_id and sub.webhook_id = s.webhook_id and sub.active
   returning sub.url, sub.headers_sealed as "headersSealed"`,
)
const INSERT_DELIVERY = statement(
  'webhooks.insert_delivery',
  `insert into webhooks_delivery
     (tenant_id, delivery_id, day, webhook_id, status, event_ids, event_days, traceparent)
   values ($1, $2, $3, $4, 'pending', $5, $6, $7)`,
)

/**
 * Per delivery, where its request goes. Undefined when the webhook is inactive or gone by now, or
 * anything else has happened to its stream since it was read (another dispatcher may even have
 * delivered the same events): then nothing is stored of it.
 */
export async function freezeDeliveries(
  tx: Tx,
  deliveries: readonly NewDelivery[],
): Promise<(Target | undefined)[]> {
  const [, ...taken] = await Promise.all([
    shareTenants(
      tx,
      deliveries.map((d) => d.tenantId),
    ),
    ...deliveries.map((d) =>
      tx.query<Target>(TAKE_STREAM, [
        d.tenantId,
        d.webhookId,
        d.deliveryId,
        d.day,
        d.streamVersion,
      ]),
    ),
  ])
  const targets = taken.map((result) => result.rows[0])
  await Promise.all(
    deliveries
      .filter((_, i) => targets[i] !== undefined)
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
  return targets
}

const LOAD_OPEN = statement(
  'webhooks.load_open_delivery',
  `select d.tenant_id as "tenantId", d.webhook_id as "webhookId", d.delivery_id as "deliveryId",
          d.day::text as day, d.event_ids as "eventIds", d.event_days::text[] as "eventDays",
          d.traceparent, d.attempts,
          (extract(epoch from now() - d.created_at) * 1000)::float8 as "ageMs"
     from webhooks_stream s
     join webhooks_delivery d
       on d.tenant_id = s.tenant_id and d.delivery_id = s.delivery_id and d.day = s.delivery_day
    where s.tenant_id = $1 and s.webhook_id = $2`,
)

/** The delivery that its stream has open; undefined when it was settled, or its day has left. */
export async function loadOpenDelivery(
  q: Queryable,
  key: StreamKey,
): Promise<OpenDelivery | undefined> {
  const { rows } = await q.query<OpenDelivery>(LOAD_OPEN, [key.tenantId, key.webhookId])
  return rows[0]
}

/**
 * The open delivery is not sent again; it is kept as discarded. With an id, only while that one is
 * the stream's; else false. Whether its events stay pending is the caller's to say.
 */
export async function discardOpenDelivery(
  tx: Tx,
  key: StreamKey,
  deliveryId: string | null = null,
): Promise<boolean> {
  const ids = [key.tenantId, key.webhookId, deliveryId]
  await tx.query(
    `with stream as (
       select tenant_id, delivery_id, delivery_day from webhooks_stream
        where tenant_id = $1 and webhook_id = $2 and delivery_id = coalesce($3, delivery_id)
          for update)
     update webhooks_delivery d
        set status = 'discarded', next_attempt_at = null, finished_at = now()
       from stream s
      where d.tenant_id = s.tenant_id and d.delivery_id = s.delivery_id and d.day = s.delivery_day`,
    ids,
  )
  const { rowCount } = await tx.query(
    `update webhooks_stream set delivery_id = null, delivery_day = null
      where tenant_id = $1 and webhook_id = $2 and delivery_id = coalesce($3, delivery_id)`,
    ids,
  )
  return rowCount > 0
}

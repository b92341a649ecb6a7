/**
 * SQL that gives open deliveries another id. The day of an id is that of its record; when the record has
 * no such day (the clock was wrong when it was frozen, or the day has left), nothing of it could ever be
 * written.
 */
import { statement, type Tx } from '../../../platform/db/index.ts'
import { dayOfUlid, newIdAt } from '../../../platform/ids.ts'
import type { StreamKey } from '../stream-store.ts'
import { lockStreams } from '../take/take-store.ts'

/** At a time: what waits behind them comes in its turn. */
const REHOUSED_MAX = 100

const FIND_UNHOUSED = statement(
  'webhooks.find_unhoused',
  `select o.delivery_id as "deliveryId"
     from (select delivery_id, day from webhooks_open
            where tenant_id = $1 and delivery_id = $3
            union all
           select delivery_id, day from webhooks_open
            where tenant_id = $1 and webhook_id = $2 and due_at is not null) o
    where exists (
      select from unnest(array['webhooks_delivery', 'webhooks_attempt']) as record
       where to_regclass(record || '_' || to_char(o.day, 'YYYYMMDD')) is null)
    limit ${REHOUSED_MAX}`,
)
const REHOUSE = statement(
  'webhooks.rehouse',
  `with k as materialized (
     select * from unnest($3::text[], $4::text[], $5::date[]) as k(old_id, new_id, day)),
   moved as (
     update webhooks_open o set delivery_id = k.new_id, day = k.day
       from k where o.tenant_id = $1 and o.delivery_id = k.old_id)
   update webhooks_stream s set delivery_id = k.new_id
     from k where s.tenant_id = $1 and s.webhook_id = $2 and s.delivery_id = k.old_id`,
)

/** New ids by the old ones; undefined when another transaction holds the stream, or it is gone. */
export async function reassignDelivery(
  tx: Tx,
  key: StreamKey,
): Promise<ReadonlyMap<string, string> | undefined> {
  const { tenantId, webhookId } = key
  const [stream] = await lockStreams(tx, [key])
  if (stream === undefined) return undefined
  const { rows } = await tx.query<{ deliveryId: string }>(FIND_UNHOUSED, [
    tenantId,
    webhookId,
    stream.deliveryId ?? '',
  ])
  const ids = new Map(rows.map((row) => [row.deliveryId, newIdAt('dlv', stream.nowMs)]))
  const moved = [...ids.values()]
  await tx.query(REHOUSE, [tenantId, webhookId, [...ids.keys()], moved, moved.map(dayOfUlid)])
  return ids
}

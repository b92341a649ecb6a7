/** SQL of the receivers of alerts, one of each tenant and one of the operator, and of what waits for them. */
import type { AlertKind } from '@postrider/contract'
import { insertRows, type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { type Claimed, createJobs } from '../platform/work/jobs.ts'
import type { Wanted } from './alert.ts'

/** How long a process may hold a delivery that it sends. */
export const DELIVERY_CLAIM_MS = 30_000

export interface StoredReceiver {
  readonly urlSealed: string
  readonly kinds: readonly AlertKind[]
  readonly waiting: number
  readonly lastOkAt: Date | null
  readonly lastError: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export async function getReceiver(
  q: Queryable,
  tenantId: string,
): Promise<StoredReceiver | undefined> {
  const { rows } = await q.query<StoredReceiver>(
    `select url_sealed as "urlSealed", kinds, last_ok_at as "lastOkAt", last_error as "lastError",
            created_at as "createdAt", updated_at as "updatedAt",
            (select count(*)::int from alerts_delivery d where d.tenant_id = r.tenant_id) as waiting
       from alerts_receiver r where tenant_id = $1`,
    [tenantId],
  )
  return rows[0]
}

export async function saveReceiver(
  q: Queryable,
  o: { readonly tenantId: string; readonly urlSealed: string; readonly kinds: readonly string[] },
): Promise<void> {
  await q.query(
    `insert into alerts_receiver (tenant_id, url_sealed, kinds) values ($1, $2, $3)
     on conflict (tenant_id) do update
       set url_sealed = excluded.url_sealed, kinds = excluded.kinds, last_error = null,
           updated_at = now()`,
    [o.tenantId, o.urlSealed, o.kinds],
  )
  // What waits is tried soon: the receiver may have been fixed. No claim ends earlier by it.
  await q.query(
    `update alerts_delivery set due_at = least(due_at, now() + $2 * interval '1 ms') where tenant_id = $1`,
    [o.tenantId, DELIVERY_CLAIM_MS],
  )
}

/** With what waits for it. */
export async function removeReceiver(tx: Tx, tenantId: string): Promise<boolean> {
  await tx.query('delete from alerts_delivery where tenant_id = $1', [tenantId])
  const { rowCount } = await tx.query('delete from alerts_receiver where tenant_id = $1', [
    tenantId,
  ])
  return rowCount > 0
}

export async function listWanted(q: Queryable): Promise<Wanted> {
  const { rows } = await q.query<{ tenantId: string; kinds: AlertKind[] }>(
    'select tenant_id as "tenantId", kinds from alerts_receiver',
  )
  return new Map(rows.map(({ tenantId, kinds }) => [tenantId, new Set(kinds)]))
}

export interface DeliveryKey {
  readonly tenantId: string
  readonly deliveryId: string
}
export interface Delivery extends Claimed<DeliveryKey> {
  /** An alert, as JSON. */
  readonly body: string
  readonly createdAt: Date
}

export const deliveryJobs = createJobs<DeliveryKey, Delivery>({
  name: 'alerts.deliveries',
  table: 'alerts_delivery',
  key: ['tenantId', 'deliveryId'],
  claimedUntil: 'due_at',
  columns: ['body', 'created_at'],
})

export async function addDeliveries(
  tx: Tx,
  deliveries: readonly (DeliveryKey & { readonly body: string })[],
): Promise<void> {
  if (deliveries.length === 0) return
  await insertRows(tx, {
    name: 'alerts.add_deliveries',
    into: 'alerts_delivery',
    columns: ['tenant_id', 'delivery_id', 'body'],
    rows: deliveries.map(({ tenantId, deliveryId, body }) => [tenantId, deliveryId, body]),
  })
}

const DROP_OLDEST = statement(
  'alerts.drop_oldest',
  `with dropped as (
     delete from alerts_delivery d
      using (select tenant_id, delivery_id,
                    row_number() over (partition by tenant_id order by turn desc) as place
               from alerts_delivery where tenant_id = any($1)) o
      where o.place > $2 and d.tenant_id = o.tenant_id and d.delivery_id = o.delivery_id
     returning d.tenant_id)
   select tenant_id as "tenantId", count(*)::int as alerts from dropped group by tenant_id`,
)

/** Of these receivers: what waits beyond so many. One that is sent just now is not sent again. */
export async function dropOldDeliveries(
  tx: Tx,
  tenantIds: readonly string[],
  max: number,
): Promise<readonly { readonly tenantId: string; readonly alerts: number }[]> {
  if (tenantIds.length === 0) return []
  const values = [tenantIds, max]
  return (await tx.query<{ tenantId: string; alerts: number }>(DROP_OLDEST, values)).rows
}

/** Only the first of each receiver: what it is told comes in order. */
const FIND_DUE = statement(
  'alerts.find_due',
  `select r.tenant_id as "tenantId", d.delivery_id as "deliveryId"
     from alerts_receiver r
    cross join lateral (
      select delivery_id, due_at from alerts_delivery d
       where d.tenant_id = r.tenant_id order by turn limit 1) d
    where d.due_at <= now() and r.tenant_id <> all ($1::text[])
    order by d.due_at limit $2`,
)

export async function findDue(
  q: Queryable,
  o: { readonly except: readonly string[]; readonly limit: number },
): Promise<DeliveryKey[]> {
  return (await q.query<DeliveryKey>(FIND_DUE, [o.except, o.limit])).rows
}

/** What came of a request, shown beside the receiver. */
export async function noteOutcome(
  tx: Tx,
  tenantId: string,
  error: string | undefined,
): Promise<void> {
  await tx.query(
    `update alerts_receiver
        set last_error = $2, last_ok_at = case when $2::text is null then now() else last_ok_at end
      where tenant_id = $1`,
    [tenantId, error ?? null],
  )
}

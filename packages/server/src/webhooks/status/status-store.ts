/**
 * SQL of one webhook's status. Each statement reads a bounded number of rows by index, whatever waits for the
 * webhook and for others of its tenant.
 */
import { type Queryable, statement } from '../../platform/db/index.ts'
import {
  FAILS,
  OLDEST_PENDING,
  STREAM_CONDITION,
  type StreamCondition,
} from '../dispatch/operate/observe-store.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'

export interface StatusRow {
  readonly condition: StreamCondition | 'idle'
  readonly isActive: boolean
  /** Both counted up to a limit. */
  readonly pending: number
  readonly inOpen: number
  /** Of those pending: queued by a replay. Counted up to a limit of its own. */
  readonly replaying: number
  readonly parked: number
  readonly oldestAt: Date | null
  readonly oldestOpenAt: Date | null
  readonly pausedAt: Date | null
  readonly failingSince: Date | null
  readonly nextAttemptAt: Date | null
  readonly lastOkAt: Date | null
}

/** Open deliveries that wait for a time, and the one that is under way. */
const OPEN = `
  (select o.status, o.created_at, o.event_ids from webhooks_open o
    where o.tenant_id = s.tenant_id and o.webhook_id = s.webhook_id and o.due_at is not null
    order by o.due_at limit $3)
  union all
  (select o.status, o.created_at, o.event_ids from webhooks_open o
    where o.tenant_id = s.tenant_id and o.delivery_id = s.delivery_id and o.due_at is null limit 1)`

const STATUS = statement(
  'webhooks.status',
  `select ${STREAM_CONDITION} as condition, sub.active as "isActive",
          (select count(*)::int from (
             select from webhooks_pending p
              where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id
              limit $4) counted) as pending,
          (select count(*)::int from (
             select from webhooks_pending p
              where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id and p.lane = 1
              limit $5) counted) as replaying,
          open.events as "inOpen", open.parked, ${OLDEST_PENDING} as "oldestAt",
          open.oldest_at as "oldestOpenAt", s.paused_at as "pausedAt",
          case when ${FAILS} then coalesce(s.first_failure_at, open.parked_at) end as "failingSince",
          case when s.not_before > now() then s.not_before end as "nextAttemptAt",
          s.last_ok_at as "lastOkAt"
     from webhooks_subscription sub
     join webhooks_stream s on s.tenant_id = sub.tenant_id and s.webhook_id = sub.webhook_id
    cross join lateral (
      select coalesce(sum(cardinality(event_ids)), 0)::int as events, min(created_at) as oldest_at,
             min(created_at) filter (where status = 'parked') as parked_at,
             count(*) filter (where status = 'parked')::int as parked
        from (${OPEN}) waiting) open
    where sub.tenant_id = $1 and sub.webhook_id = $2`,
)

/** Undefined when there is no such webhook. */
export async function readStatus(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
  o: { readonly openMax: number; readonly pendingMax: number; readonly replayedMax: number },
): Promise<StatusRow | undefined> {
  const values = [tenantId, webhookId, o.openMax, o.pendingMax, o.replayedMax]
  return (await q.query<StatusRow>(STATUS, values)).rows[0]
}

/** Those that ended a delivery, of the tenant's newest ones; and failed ones of what is open. */
const DURATIONS = statement(
  'webhooks.request_durations',
  `select (last_attempt ->> 'duration_ms')::int as ms
     from (select webhook_id, last_attempt from webhooks_delivery
            where tenant_id = $1 and delivery_id >= $3 and day >= $4
            order by delivery_id desc limit $5) recent
    where webhook_id = $2 and last_attempt is not null
   union all
   select failed.duration_ms
     from (select delivery_id, day from webhooks_open
            where tenant_id = $1 and webhook_id = $2 and due_at is not null
            order by due_at limit 100) waiting
    cross join lateral (
      select duration_ms from webhooks_attempt a
       where a.tenant_id = $1 and a.delivery_id = waiting.delivery_id and a.day = waiting.day
         and a.at > now() - interval '1 hour'
       order by a.attempt desc limit 10) failed
   union all
   select failed.duration_ms
     from webhooks_stream s
     join webhooks_open o on o.tenant_id = s.tenant_id and o.delivery_id = s.delivery_id
    cross join lateral (
      select duration_ms from webhooks_attempt a
       where a.tenant_id = $1 and a.delivery_id = o.delivery_id and a.day = o.day
         and a.at > now() - interval '1 hour'
       order by a.attempt desc limit 100) failed
    where s.tenant_id = $1 and s.webhook_id = $2`,
)

/** In milliseconds, of the last hour's requests. */
export async function readDurations(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
  since: { readonly deliveryId: string; readonly day: string; readonly deliveriesMax: number },
): Promise<number[]> {
  const values = [tenantId, webhookId, since.deliveryId, since.day, since.deliveriesMax]
  const { rows } = await q.query<{ ms: number }>(DURATIONS, values)
  return rows.map(({ ms }) => ms)
}

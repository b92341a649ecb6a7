/**
 * SQL of the dispatcher's figures: how much waits, for how long, and in what state its streams are.
 * Over all tenants: the streams of some buckets. Each statement reads a bounded number of rows, or
 * one or two for each stream.
 */
import { type Queryable, statement } from '../../../platform/db/index.ts'
import { type CaseLimits, caseValues, selectCases } from '../../../platform/limits/case-limits.ts'
import { carriersOf } from '../../deliveries/record-store.ts'
import { DORMANT_AFTER_MS, PARKED_IN_ROW_MAX } from '../settle/decide-delivery.ts'
import type { StreamKey } from '../stream-store.ts'

/** Of a stream that has something to do, or is paused. */
export const streamConditions = ['active', 'failing', 'dormant', 'paused'] as const
export type StreamCondition = (typeof streamConditions)[number]

const DORMANT_AFTER = `${DORMANT_AFTER_MS} * interval '1 millisecond'`

/** Something is under way, waits to be tried again, or is queued. No `exists`: its plan may hash a table. */
const HAS_WORK = `(s.delivery_id is not null
             or (select true from webhooks_pending w
                  where w.tenant_id = s.tenant_id and w.webhook_id = s.webhook_id limit 1)
             or (select true from webhooks_open w
                  where w.tenant_id = s.tenant_id and w.webhook_id = s.webhook_id
                    and w.due_at is not null limit 1))`

/** Its last request failed, or its receiver refuses one event after the other. */
export const FAILS = `(s.first_failure_at is not null or s.parked_in_row >= ${PARKED_IN_ROW_MAX})`

/** Of one that fails. Who refuses everything answers: then it is since the first event of what is parked. */
export const FAILING_SINCE = `coalesce(s.first_failure_at,
              (select min(o.created_at) from webhooks_open o
                where o.tenant_id = s.tenant_id and o.webhook_id = s.webhook_id
                  and o.due_at is not null and o.status = 'parked'))`

/**
 * One word for a row of webhooks_stream; `idle` when nothing waits: also when its last request failed,
 * and what it carried was given up since.
 */
export const STREAM_CONDITION = `case when s.paused_at is not null then 'paused'
            when not ${FAILS} then s.state
            when ${HAS_WORK} is not true then 'idle'
            when s.first_failure_at <= now() - ${DORMANT_AFTER} then 'dormant'
            else 'failing' end`

/** As the partial indexes have them. */
const BUSY = `s.bucket = any($1)
              and (s.state = 'active' and s.paused_at is null or s.paused_at is not null)`

/** The first of each lane is the oldest, but for what was recorded out of order. */
export const OLDEST_PENDING = `(select min(queued_at) from (
         (select queued_at from webhooks_pending p
           where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id and lane = 0
           order by event_id limit 1)
         union all
         (select queued_at from webhooks_pending p
           where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id and lane = 1
           order by event_id limit 1)) firsts)`

const STREAMS = statement(
  'webhooks.observe_streams',
  `select state, count(*)::int as streams,
          coalesce(extract(epoch from now() - min(oldest_at)), 0)::float8 as "oldestS"
     from (select ${STREAM_CONDITION} as state, ${OLDEST_PENDING} as oldest_at
             from webhooks_stream s
            where ${BUSY}) s
    group by state`,
)

export interface StreamFigures {
  readonly state: StreamCondition
  readonly streams: number
  /** Age of the oldest event that waits for its first request; 0 when none does. */
  readonly oldestS: number
}

export async function observeStreams(
  q: Queryable,
  buckets: readonly number[],
): Promise<StreamFigures[]> {
  const { rows } = await q.query<StreamFigures>(STREAMS, [buckets])
  return rows
}

const DORMANT = statement(
  'webhooks.list_dormant',
  `select tenant_id as "tenantId", webhook_id as "webhookId", first_failure_at as "failingSince"
     from webhooks_stream s
    where bucket = any($1) and state = 'active' and paused_at is null
      and first_failure_at <= now() - ${DORMANT_AFTER} and ${HAS_WORK}
    order by first_failure_at limit $2`,
)

export interface DormantStream {
  readonly tenantId: string
  readonly webhookId: string
  readonly failingSince: Date
}

/** Those that have failed for longest first. */
export async function listDormant(
  q: Queryable,
  buckets: readonly number[],
  limit: number,
): Promise<DormantStream[]> {
  const { rows } = await q.query<DormantStream>(DORMANT, [buckets, limit])
  return rows
}

export interface LongestFailing {
  /** How many fail, with this one. */
  readonly failing: number
  readonly webhookId: string
  readonly tenantId: string
  /** For how long no request was accepted. */
  readonly failingMs: number
}

/** Of the streams that are not paused and have something to do, the one that has failed for longest. */
export async function findLongestFailing(q: Queryable): Promise<LongestFailing | undefined> {
  const { rows } = await q.query<LongestFailing>(
    `select count(*) over ()::int as failing, webhook_id as "webhookId", tenant_id as "tenantId",
            (extract(epoch from now() - since) * 1000)::float8 as "failingMs"
       from (select tenant_id, webhook_id, coalesce(${FAILING_SINCE}, now()) as since
               from webhooks_stream s
              where ${FAILS} and paused_at is null and ${HAS_WORK}) s
      order by since limit 1`,
  )
  return rows[0]
}

// Each half by its partial index.
const BUSY_STREAMS = statement(
  'webhooks.list_busy',
  `select tenant_id as "tenantId", webhook_id as "webhookId", ${STREAM_CONDITION} as condition,
          ${OLDEST_PENDING} as "oldestAt"
     from (select * from webhooks_stream
            where bucket = any($1) and state = 'active' and paused_at is null
           union all
           select * from webhooks_stream where bucket = any($1) and paused_at is not null
           limit $2) s`,
)

export interface BusyStream {
  readonly tenantId: string
  readonly webhookId: string
  readonly condition: StreamCondition | 'idle'
  /** Of the oldest event that waits for its first request. */
  readonly oldestAt: Date | null
}

/** Webhooks with something to deliver, and paused ones, in no order. */
export async function listBusyStreams(
  q: Queryable,
  buckets: readonly number[],
  limit: number,
): Promise<BusyStream[]> {
  return (await q.query<BusyStream>(BUSY_STREAMS, [buckets, limit])).rows
}

const COUNT_STREAMS = statement(
  'webhooks.count_streams',
  `select k.tenant_id as "tenantId", k.webhook_id as "webhookId", pending.n as pending, open.n as open
     from unnest($1::text[], $2::text[]) as k (tenant_id, webhook_id)
    cross join lateral (
      select count(*)::int as n from (
        select from webhooks_pending p
         where p.tenant_id = k.tenant_id and p.webhook_id = k.webhook_id limit $3) c) pending
    cross join lateral (
      select count(*)::int as n from (
        select from webhooks_open o
         where o.tenant_id = k.tenant_id and o.webhook_id = k.webhook_id and o.due_at is not null
         limit $3) c) open`,
)

export interface StreamCounts {
  readonly tenantId: string
  readonly webhookId: string
  /** Events that wait for their first request. */
  readonly pending: number
  /** Deliveries that are tried again. */
  readonly open: number
}

/** Each is counted up to `max`. */
export async function countStreams(
  q: Queryable,
  keys: readonly { readonly tenantId: string; readonly webhookId: string }[],
  max: number,
): Promise<StreamCounts[]> {
  const values = [keys.map((key) => key.tenantId), keys.map((key) => key.webhookId), max]
  return (await q.query<StreamCounts>(COUNT_STREAMS, values)).rows
}

const oneKindOf = (kind: string) => `(select webhook_id, paused_at is not null as is_paused,
                   coalesce(paused_at, ${FAILING_SINCE}) as since
              from webhooks_stream s
             where s.tenant_id = $1 and ${kind} and ${HAS_WORK}
             limit $2)`

const FAILING_OF = statement(
  'webhooks.list_failing_of',
  `select webhook_id as "webhookId", is_paused as "isPaused", since
     from (${oneKindOf(`${FAILS} and s.paused_at is null`)}
           union all
           ${oneKindOf('s.paused_at is not null')}) s
    order by since nulls last, webhook_id`,
)

export interface FailingWebhook {
  readonly webhookId: string
  readonly isPaused: boolean
  /** Since when no request was accepted, or of a paused one made; null where nobody knows. */
  readonly since: Date | null
}

/** Of one tenant: up to `limit` that fail and as many that are paused, with events; for the longest first. */
export async function listFailingOf(
  q: Queryable,
  tenantId: string,
  limit: number,
): Promise<FailingWebhook[]> {
  return (await q.query<FailingWebhook>(FAILING_OF, [tenantId, limit])).rows
}

const FAILING = statement(
  'webhooks.list_failing',
  selectCases({
    columns: 't.tenant_id as "tenantId", t.webhook_id as "webhookId", t.since',
    from: `(select s.tenant_id, s.webhook_id, ${FAILING_SINCE} as since
                     from webhooks_stream s
                    where ${FAILS} and s.paused_at is null and ${HAS_WORK})`,
    where: 'true',
    subject: 't.webhook_id',
    orderBy: 't.webhook_id desc',
  }),
)

/** Of some tenants, or of all, in turn: those that fail, are not paused, and have events. */
export async function listFailing(
  q: Queryable,
  limits: CaseLimits,
): Promise<(StreamKey & { readonly since: Date | null })[]> {
  const found = await q.query<StreamKey & { readonly since: Date | null }>(
    FAILING,
    caseValues(limits),
  )
  return found.rows
}

/** Events that were given up in the last day and not delivered since; of the first `max` given up. */
export async function countGivenUp(q: Queryable, max: number): Promise<number> {
  const { rows } = await q.query<{ n: number }>(
    `select count(*)::int as n
       from (select t.tenant_id, d.event_id
               from (select distinct tenant_id from webhooks_stream) t
              cross join lateral (
                select unnest(event_ids) as event_id from webhooks_delivery d
                 where d.tenant_id = t.tenant_id and d.status = 'exhausted'
                   and d.finished_at > now() - interval '1 day' limit $1) d
              limit $1) given_up
      cross join lateral (
         select bool_or(true) as is_there
           from ${carriersOf('given_up.event_id', "'-infinity'")} carrier
          where tenant_id = given_up.tenant_id and status = 'delivered') delivered
      where delivered.is_there is null`,
    [max],
  )
  return rows[0]?.n ?? 0
}

const COUNT_PENDING = statement(
  'webhooks.count_pending',
  `select count(*)::int as n
     from (select 1 from webhooks_stream s cross join lateral (
             select from webhooks_pending p
              where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id limit $2) p
            where ${BUSY} limit $2) counted`,
)

/** Counts up to `max`. */
export async function countPending(
  q: Queryable,
  buckets: readonly number[],
  max: number,
): Promise<number> {
  const { rows } = await q.query<{ n: number }>(COUNT_PENDING, [buckets, max])
  return rows[0]?.n ?? 0
}

const COUNT_OPEN = statement(
  'webhooks.count_open',
  `select status, count(*)::int as n
     from (select status from webhooks_open where bucket = any($1) limit $2) counted
    group by status`,
)

/** Of a delivery that is not settled. */
export const openStatuses = ['pending', 'retrying', 'parked'] as const
export type OpenStatus = (typeof openStatuses)[number]

/** Counts up to `max` of them all together. */
export async function countOpen(
  q: Queryable,
  buckets: readonly number[],
  max: number,
): Promise<Map<OpenStatus, number>> {
  const { rows } = await q.query<{ status: OpenStatus; n: number }>(COUNT_OPEN, [buckets, max])
  return new Map(rows.map((row) => [row.status, row.n]))
}

/**
 * SQL that looks at streams, pauses and resumes them. Over all tenants where the operator asks: the operator
 * names a webhook by its id alone, or asks for everything.
 */
import type { Queryable } from '../../../platform/db/index.ts'
import {
  FAILING_SINCE,
  FAILS,
  OLDEST_PENDING,
  STREAM_CONDITION,
  type StreamCondition,
} from './observe-store.ts'

export interface StreamRow {
  readonly tenantId: string
  readonly webhookId: string
  /** Null when the webhook is deleted and its stream is being cleared. */
  readonly event: string | null
  /** Whose incoming webhook it is; '' for one of the tenant's own. */
  readonly owner: string | null
  readonly url: string | null
  readonly isActive: boolean | null
  readonly condition: StreamCondition | 'idle'
  /** Counted up to the limit. */
  readonly pending: number
  readonly open: number
  readonly parked: number
  readonly oldestAt: Date | null
  readonly failingSince: Date | null
  /** Requests in a row; of a receiver that refuses everything, events. */
  readonly failCount: number
  /** When a back-off ends. */
  readonly nextAttemptAt: Date | null
  readonly lastOkAt: Date | null
  readonly pausedAt: Date | null
}

/** The page after `after`, by tenant and webhook. */
export async function listStreamRows(
  q: Queryable,
  o: {
    readonly tenantId: string | undefined
    readonly isFailing: boolean
    readonly after: { readonly tenantId: string; readonly webhookId: string } | undefined
    readonly limit: number
    readonly countMax: number
  },
): Promise<StreamRow[]> {
  const { rows } = await q.query<StreamRow>(
    `select s.tenant_id as "tenantId", s.webhook_id as "webhookId", sub.event, sub.owner,
            sub.url, sub.active as "isActive", ${STREAM_CONDITION} as condition,
            (select count(*)::int from (
               select from webhooks_pending p
                where p.tenant_id = s.tenant_id and p.webhook_id = s.webhook_id
                limit $6) counted) as pending,
            coalesce(open.open, 0) as open, coalesce(open.parked, 0) as parked,
            ${OLDEST_PENDING} as "oldestAt",
            case when ${STREAM_CONDITION} <> 'idle' and ${FAILS} then ${FAILING_SINCE} end as "failingSince",
            case when s.first_failure_at is null and ${FAILS} then s.parked_in_row
                 else s.fail_count end as "failCount",
            case when s.not_before > now() then s.not_before end as "nextAttemptAt",
            s.last_ok_at as "lastOkAt", s.paused_at as "pausedAt"
       from webhooks_stream s
       left join webhooks_subscription sub
         on sub.tenant_id = s.tenant_id and sub.webhook_id = s.webhook_id
       left join (
         select tenant_id, webhook_id, count(*)::int as open,
                count(*) filter (where status = 'parked')::int as parked
           from webhooks_open group by tenant_id, webhook_id) open
         on open.tenant_id = s.tenant_id and open.webhook_id = s.webhook_id
      where ($1::text is null or s.tenant_id = $1)
        and (not $2::boolean or ${FAILS})
        and ($3::text is null or (s.tenant_id, s.webhook_id) > ($3, $4))
      order by s.tenant_id, s.webhook_id limit $5`,
    [
      o.tenantId ?? null,
      o.isFailing,
      o.after?.tenantId ?? null,
      o.after?.webhookId ?? null,
      o.limit,
      o.countMax,
    ],
  )
  return rows
}

/** Of the operator, who names a webhook alone, the tenant is undefined. */
export interface NamedStream {
  readonly tenantId?: string | undefined
  readonly webhookId: string
}

/** The condition on a table, and its values from `$1` on. */
function whereOf({ tenantId, webhookId }: NamedStream): { text: string; values: string[] } {
  if (tenantId === undefined) return { text: 'webhook_id = $1', values: [webhookId] }
  return { text: 'webhook_id = $1 and tenant_id = $2', values: [webhookId, tenantId] }
}

export interface PausedStream {
  readonly tenantId: string
  /** Since when; the first time counts. */
  readonly pausedAt: Date
  /** Of its webhook. */
  readonly isActive: boolean
}

/**
 * Undefined when there is no such webhook. It is held first, as by who deletes it: the stream of one
 * that is being deleted, which is yet to be cleared, would be paused for ever.
 */
export async function pauseStreamRow(
  q: Queryable,
  stream: NamedStream,
): Promise<PausedStream | undefined> {
  const where = whereOf(stream)
  const { rows } = await q.query<PausedStream>(
    `with kept as materialized (
       select tenant_id, webhook_id, active from webhooks_subscription
        where ${where.text} for share)
     update webhooks_stream s set paused_at = coalesce(s.paused_at, now())
       from kept
      where s.tenant_id = kept.tenant_id and s.webhook_id = kept.webhook_id
     returning s.tenant_id as "tenantId", s.paused_at as "pausedAt", kept.active as "isActive"`,
    where.values,
  )
  return rows[0]
}

/** The tenant, also when its webhook is deleted. Undefined when there is no such stream. */
export async function findStreamOwner(
  q: Queryable,
  webhookId: string,
): Promise<string | undefined> {
  const { rows } = await q.query<{ tenantId: string }>(
    'select tenant_id as "tenantId" from webhooks_stream where webhook_id = $1',
    [webhookId],
  )
  return rows[0]?.tenantId
}

export interface ResumedStream {
  readonly tenantId: string
  /** Null when the webhook is deleted. */
  readonly isActive: boolean | null
  /** Parked events that were made due. */
  readonly parked: number
}

/**
 * With a clean record: what waited meanwhile has not failed, and would else be given up for the time
 * of the pause; what was open counts its own time without it. The stream's lock comes first, as with the
 * dispatcher. Undefined when there is no such stream.
 */
export async function resumeStreamRow(
  q: Queryable,
  stream: NamedStream,
): Promise<ResumedStream | undefined> {
  const where = whereOf(stream)
  const { rows } = await q.query<ResumedStream>(
    `with stopped as (
       select tenant_id, webhook_id, paused_at from webhooks_stream
        where ${where.text} for no key update),
     resumed as (
       update webhooks_stream s
          set paused_at = null, state = 'active', not_before = '-infinity', fail_count = 0,
              first_failure_at = null, parked_in_row = 0
         from stopped p
        where s.tenant_id = p.tenant_id and s.webhook_id = p.webhook_id
       returning s.tenant_id, s.webhook_id, p.paused_at),
     opened as (
       select o.tenant_id, o.delivery_id, r.paused_at,
              o.status = 'parked' and o.due_at is not null as is_parked
         from resumed r
         join webhooks_open o on o.tenant_id = r.tenant_id and o.webhook_id = r.webhook_id),
     moved as (
       update webhooks_open o
          set created_at = case when p.paused_at is null then o.created_at
                else o.created_at + (now() - greatest(p.paused_at, o.created_at)) end,
              due_at = case when p.is_parked then now() else o.due_at end,
              next_attempt_at = case when p.is_parked then now() else o.next_attempt_at end
         from opened p
        where o.tenant_id = p.tenant_id and o.delivery_id = p.delivery_id
          and (p.is_parked or p.paused_at is not null)
       returning p.is_parked)
     select r.tenant_id as "tenantId", sub.active as "isActive",
            (select count(*)::int from moved where is_parked) as parked
       from resumed r
       left join webhooks_subscription sub
         on sub.tenant_id = r.tenant_id and sub.webhook_id = r.webhook_id`,
    where.values,
  )
  return rows[0]
}

export interface FoundWebhook {
  readonly tenantId: string
  readonly isActive: boolean
  readonly pausedAt: Date | null
}

/** Undefined when there is none. */
export async function findWebhook(
  q: Queryable,
  webhookId: string,
): Promise<FoundWebhook | undefined> {
  const { rows } = await q.query<FoundWebhook>(
    `select sub.tenant_id as "tenantId", sub.active as "isActive", s.paused_at as "pausedAt"
       from webhooks_subscription sub
       left join webhooks_stream s
         on s.tenant_id = sub.tenant_id and s.webhook_id = sub.webhook_id
      where sub.webhook_id = $1`,
    [webhookId],
  )
  return rows[0]
}

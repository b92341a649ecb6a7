/**
 * SQL that finds the streams that have something to do, over all tenants: a dispatcher serves
 * buckets, and each stream it finds by its own tenant.
 *
 * Both statements walk an index, bucket by bucket from a webhook id on, at most so many steps in
 * each bucket. Those that back off cost the index entry and no more.
 */
import { type Queryable, statement } from '../../../platform/db/index.ts'
import { PARKED_IN_ROW_MAX } from '../settle/decide-delivery.ts'
import type { StreamKey } from '../stream-store.ts'

/** Where to go on in a bucket: behind this webhook id. */
export interface BucketCursor {
  readonly bucket: number
  readonly after: string
}

export interface FoundStream extends StreamKey {
  readonly bucket: number
  /** Its last request failed, or its receiver refuses everything. */
  readonly isFailing: boolean
  /** Milliseconds until it has something to do, by the database's clock; null when it has nothing. */
  readonly waitMs: number | null
}

const ACTIVE = statement(
  'webhooks.discover_active',
  `select s.tenant_id as "tenantId", s.webhook_id as "webhookId", s.bucket,
          s.fail_count > 0 or s.parked_in_row >= ${PARKED_IN_ROW_MAX} as "isFailing",
          (extract(epoch from greatest(s.not_before, now()) - now()) * 1000)::float8 as "waitMs"
     from unnest($1::smallint[], $2::text[]) as b(bucket, after)
    cross join lateral (
      select tenant_id, webhook_id, bucket, fail_count, parked_in_row, not_before
        from webhooks_stream
       where bucket = b.bucket and webhook_id > b.after
         and state = 'active' and paused_at is null
         and not_before <= now() + $3 * interval '1 millisecond'
       order by webhook_id limit $4) s
    order by s.bucket, s.webhook_id`,
)

/** Active streams that are not paused, and may make a request within `withinMs`. */
export async function discoverActive(
  q: Queryable,
  from: readonly BucketCursor[],
  o: { readonly withinMs: number; readonly perBucketMax: number },
): Promise<FoundStream[]> {
  const { rows } = await q.query<FoundStream>(ACTIVE, [
    ...columnsOf(from),
    o.withinMs,
    o.perBucketMax,
  ])
  return rows
}

const next = (bucket: string, after: string) => `
      select bucket, tenant_id, webhook_id, due_at from webhooks_open
       where bucket = ${bucket} and webhook_id > ${after} and due_at is not null
       order by webhook_id, due_at limit 1`
/** From webhook to webhook, each time to its first: however many are parked, each costs one step. */
const OPEN = statement(
  'webhooks.discover_open',
  `with recursive found as (
     (select o.*, 1 as n from unnest($1::smallint[], $2::text[]) as b(bucket, after)
       cross join lateral (${next('b.bucket', 'b.after')}) o)
     union all
     select o.*, f.n + 1 from found f
      cross join lateral (${next('f.bucket', 'f.webhook_id')}) o
      where f.n < $3)
   select f.tenant_id as "tenantId", f.webhook_id as "webhookId", f.bucket,
          coalesce(s.fail_count > 0 or s.parked_in_row >= ${PARKED_IN_ROW_MAX}, false)
            as "isFailing",
          case when s.state = 'idle' and s.paused_at is null then
            (extract(epoch from greatest(f.due_at, s.not_before, now()) - now()) * 1000)::float8
          end as "waitMs"
     from found f
     left join lateral (
       select state, paused_at, not_before, fail_count, parked_in_row from webhooks_stream s
        where s.tenant_id = f.tenant_id and s.webhook_id = f.webhook_id limit 1) s on true
    order by f.bucket, f.webhook_id`,
)

/**
 * Streams with an open delivery that is not their current one (half of a divided one, or parked),
 * which go idle when nothing else is left. The active ones have a null wait here.
 */
export async function discoverOpen(
  q: Queryable,
  from: readonly BucketCursor[],
  o: { readonly perBucketMax: number },
): Promise<FoundStream[]> {
  const { rows } = await q.query<FoundStream>(OPEN, [...columnsOf(from), o.perBucketMax])
  return rows
}

function columnsOf(from: readonly BucketCursor[]) {
  return [from.map((one) => one.bucket), from.map((one) => one.after)]
}

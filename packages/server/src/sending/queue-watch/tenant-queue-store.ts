/**
 * SQL of one tenant's part of the send queue, or one mailer's. Every statement names the tenant, and reads a
 * bounded number of rows however long the queue is (tenant-queue-plans.slow.test.ts).
 */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { bucketCount, bucketOf } from '../../platform/db/leases.ts'
import type { QueueKey, QueueWithClaims } from '../queue/claim/claim-store.ts'
import type { QueueCounts } from './observe-store.ts'

/** No test mail, which is in no statistics. */
const IS_LIVE = `not starts_with(mailer_id, 'test_')`
const CLASS = 'bucket, tenant_id, mailer_id, is_bulk'

// One index probe for each bucket, and one for each class of each mailer.
const DISCOVER = statement(
  'sending.discover_queues_of',
  `with recursive mailer_queue as (
     (select q.*
        from generate_series(0, ${bucketCount - 1}) as b (bucket)
        cross join lateral (
          select ${CLASS}, due_at from sending_queue
           where bucket = b.bucket and tenant_id = $1
           order by ${CLASS}, due_at limit 1) q)
     union all
     select q.*
       from mailer_queue cross join lateral (
         select ${CLASS}, due_at from sending_queue
          where bucket = mailer_queue.bucket and tenant_id = $1
            and (mailer_id, is_bulk) > (mailer_queue.mailer_id, mailer_queue.is_bulk)
          order by ${CLASS}, due_at limit 1) q
   )
   select bucket, tenant_id as "tenantId", mailer_id as "mailerId", is_bulk as "isBulk",
          (extract(epoch from due_at - now()) * 1000)::float8 as "waitMs"
     from mailer_queue limit $2`,
)

/** The tenant's mailers with mail, each class of it, up to `limit`. */
export async function discoverQueuesOf(
  q: Queryable,
  tenantId: string,
  limit: number,
): Promise<QueueWithClaims[]> {
  return (await q.query<QueueWithClaims>(DISCOVER, [tenantId, limit])).rows
}

const COUNT_TENANT = statement(
  'sending.count_unfinished_of',
  `select (select count(*) from (
             select from sending_queue where tenant_id = $1 and ${IS_LIVE} limit $2) c)::integer as waiting,
          (select count(*) from (
             select from sending_scheduled where tenant_id = $1 and ${IS_LIVE} limit $2) c)::integer as scheduled`,
)

export interface TenantCounts {
  readonly waiting: number
  readonly scheduled: number
}

/** Each is counted up to `max`. */
export async function countTenant(
  q: Queryable,
  tenantId: string,
  max: number,
): Promise<TenantCounts> {
  const { rows } = await q.query<TenantCounts>(COUNT_TENANT, [tenantId, max])
  return rows[0] ?? { waiting: 0, scheduled: 0 }
}

const OF_MAILER = 'bucket = $1 and tenant_id = $2 and mailer_id = $3'

const COUNT_MAILER = statement(
  'sending.count_unfinished_of_mailer',
  `select (select count(*) from (
             select from sending_queue where ${OF_MAILER} limit $4) c)::integer as waiting,
          (select count(*) from (
             select from sending_queue
              where ${OF_MAILER} and is_bulk in (false, true) and due_at <= now()
              limit $4) c)::integer as due,
          (select min(due_at) from (values (false), (true)) as b (is_bulk) cross join lateral (
             select due_at from sending_queue
              where ${OF_MAILER} and is_bulk = b.is_bulk and due_at <= now()
              order by due_at limit 1) first) as "oldestDueAt"`,
)

export interface MailerCounts {
  /** Whatever it waits for. */
  readonly waiting: number
  readonly due: number
  readonly oldestDueAt: Date | null
}

/** Each is counted up to `max`. */
export async function countMailer(
  q: Queryable,
  { tenantId, mailerId }: QueueKey,
  max: number,
): Promise<MailerCounts> {
  const values = [bucketOf(mailerId), tenantId, mailerId, max]
  const { rows } = await q.query<MailerCounts>(COUNT_MAILER, values)
  return rows[0] ?? { waiting: 0, due: 0, oldestDueAt: null }
}

const sample = (table: 'sending_queue' | 'sending_scheduled') =>
  statement(
    `sending.sample_${table}_of`,
    `with size as materialized (
       select pg_relation_size('${table}') / current_setting('block_size')::bigint as pages
     ), picked as materialized (
       select floor(random() * pages)::bigint as page from size, generate_series(1, $4)
     ), sampled as (
       select q.due_at <= now() and not q.mailer_id = any($3::text[]) as is_due,
              q.mailer_id = any($3::text[]) as is_held
         from picked cross join lateral (
           select * from ${table}
            where ctid >= format('(%s,0)', picked.page)::tid
              and ctid < format('(%s,0)', picked.page + 1)::tid limit 1000) q
        where q.tenant_id = $1 and ${IS_LIVE} and ($2::text is null or q.mailer_id = $2)
     )
     select (count(is_due) * scale)::float8 as waiting,
            (count(*) filter (where is_due) * scale)::float8 as due,
            (count(*) filter (where is_held) * scale)::float8 as held
       from (select pages::float8 / $4 as scale from size) s left join sampled on true
      group by scale`,
  )
const SAMPLES = {
  sending_queue: sample('sending_queue'),
  sending_scheduled: sample('sending_scheduled'),
}

/** Estimates the counts by some pages of the table, picked at random. */
export async function sampleQueueOf(
  q: Queryable,
  o: {
    readonly table: keyof typeof SAMPLES
    readonly tenantId: string
    readonly mailerId?: string
    /** Their mail is not due. */
    readonly heldMailers: readonly string[]
    readonly pages: number
  },
): Promise<QueueCounts> {
  const values = [o.tenantId, o.mailerId ?? null, o.heldMailers, o.pages]
  const { rows } = await q.query<QueueCounts>(SAMPLES[o.table], values)
  return rows[0] ?? { waiting: 0, due: 0, held: 0 }
}

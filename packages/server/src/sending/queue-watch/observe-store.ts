/**
 * SQL of the send queue's figures. Over all tenants: they are the operator's. Times are the
 * database's.
 *
 * Each statement reads a bounded number of rows, or one for each class of each mailer, whatever the
 * length of the queue (observe-plans.test.ts).
 */
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { QueueKey, QueueWithClaims } from '../queue/claim/claim-store.ts'
import { queueIdOf } from '../queue/mailer-queue.ts'

/** Of a queue whose mailer is known. */
export type CountedQueue = Omit<QueueWithClaims, 'waitMs'> & { readonly isHeld: boolean }

export interface QueueCounts {
  /** Could be sent now. */
  readonly due: number
  /** Not before a time to come: as a rule for another attempt. */
  readonly waiting: number
  /** Its mailer is not active, or its tenant sends nothing. */
  readonly held: number
}

const QUEUE = `unnest($1::smallint[], $2::text[], $3::text[], $4::boolean[], $5::boolean[])
                as l (bucket, tenant_id, mailer_id, is_bulk, is_held)`
const OF_QUEUE = `q.bucket = l.bucket and q.tenant_id = l.tenant_id
             and q.mailer_id = l.mailer_id and q.is_bulk = l.is_bulk`
/** Claimed rows have their lease's end as due_at: they count when that is over. */
const IS_DUE = 'q.due_at <= now()'
const IS_WAITING = `q.due_at > now() and q.phase = 'waiting'`

/** Stops at `max` rows, of one queue or of all. */
const counted = (queues: string, rows: string) =>
  `(select count(*) from (
      select from ${QUEUE} cross join lateral (
        select from sending_queue q where ${OF_QUEUE} and ${rows} limit $6) r
       where ${queues} limit $6) c)::integer`

const COUNT = statement(
  'sending.count_queue',
  `select ${counted('not l.is_held', IS_DUE)} as due,
          ${counted('not l.is_held', IS_WAITING)} as waiting,
          ${counted('l.is_held', `(q.due_at <= now() or q.phase = 'waiting')`)} as held`,
)

/** Each state is counted up to `max`. */
export async function countQueue(
  q: Queryable,
  queues: readonly CountedQueue[],
  max: number,
): Promise<QueueCounts> {
  const { rows } = await q.query<QueueCounts>(COUNT, [...queueArrays(queues), max])
  return rows[0] ?? { due: 0, waiting: 0, held: 0 }
}

function queueArrays(queues: readonly CountedQueue[]) {
  return [
    queues.map((l) => l.bucket),
    queues.map((l) => l.tenantId),
    queues.map((l) => l.mailerId),
    queues.map((l) => l.isBulk),
    queues.map((l) => l.isHeld),
  ]
}

const OF_EACH = statement(
  'sending.count_queue_of_each',
  `select l.tenant_id as "tenantId", l.mailer_id as "mailerId", due.n as due,
          waiting.n as waiting
     from ${QUEUE}
    cross join lateral (
      select count(*)::integer as n from (
        select from sending_queue q where ${OF_QUEUE} and ${IS_DUE} limit $6) r) due
    cross join lateral (
      select count(*)::integer as n from (
        select from sending_queue q where ${OF_QUEUE} and ${IS_WAITING} limit $6) r) waiting`,
)

export type CountsOfQueue = QueueKey & QueueCounts

/** One row for each queue, each state of it counted up to `max`. */
export async function countQueues(
  q: Queryable,
  queues: readonly CountedQueue[],
  max: number,
): Promise<CountsOfQueue[]> {
  const values = [...queueArrays(queues), max]
  const { rows } = await q.query<QueueKey & Omit<QueueCounts, 'held'>>(OF_EACH, values)
  const held = new Set(queues.filter(({ isHeld }) => isHeld).map(queueIdOf))
  return rows.map((row) =>
    held.has(queueIdOf(row))
      ? { ...row, due: 0, waiting: 0, held: row.due + row.waiting }
      : { ...row, held: 0 },
  )
}

const SAMPLE = statement(
  'sending.sample_queue',
  `with size as materialized (
     select pg_relation_size('sending_queue') / current_setting('block_size')::bigint as pages
   ), picked as materialized (
     select floor(random() * pages)::bigint as page from size, generate_series(1, $3)
   ), sampled as (
     select q.due_at <= now() as is_due, q.phase = 'waiting' as is_waiting,
            q.mailer_id = any($2::text[]) as is_held
       from picked cross join lateral (
         select * from sending_queue
          where ctid >= format('(%s,0)', picked.page)::tid
            and ctid < format('(%s,0)', picked.page + 1)::tid limit 1000) q
      where q.bucket = any($1::smallint[])
   )
   select (count(*) filter (where is_due and not is_held) * scale)::float8 as due,
          (count(*) filter (where not is_due and is_waiting and not is_held) * scale)::float8
            as waiting,
          (count(*) filter (where (is_due or is_waiting) and is_held) * scale)::float8 as held
     from (select pages::float8 / $3 as scale from size) s left join sampled on true
    group by scale`,
)

/** Estimates the counts by `pages` pages of the table, picked at random. */
export async function sampleQueue(
  q: Queryable,
  o: {
    readonly buckets: readonly number[]
    readonly heldMailers: readonly string[]
    readonly pages: number
  },
): Promise<QueueCounts> {
  const { rows } = await q.query<QueueCounts>(SAMPLE, [o.buckets, o.heldMailers, o.pages])
  return rows[0] ?? { due: 0, waiting: 0, held: 0 }
}

const NEXT_RETRIES = statement(
  'sending.find_next_retries',
  `select r.*
     from unnest($1::smallint[], $2::text[], $3::text[], $4::boolean[])
            as l (bucket, tenant_id, mailer_id, is_bulk)
    cross join lateral (
      select * from (
        select q.tenant_id as "tenantId", q.mailer_id as "mailerId", q.ref_id as "refId", q.n,
               q.attempt - 1 as attempt, q.phase,
               (extract(epoch from q.due_at - now()) * 1000)::float8 as "nextInMs"
          from sending_queue q where ${OF_QUEUE} order by q.due_at limit $5) first
       where attempt > 0 and phase = 'waiting' limit $6) r`,
)

export interface NextRetry extends QueueKey {
  readonly refId: string
  readonly n: number
  /** The last one that failed. */
  readonly attempt: number
  /** Negative when it is due. */
  readonly nextInMs: number
}

/** Rows of a queue that are looked at for one that was tried before. */
const LOOKED_AT_MAX = 100
/** Of those: the first may be about a recipient who is busy. */
const RETRIES_MAX = 10

/** Of each queue the recipients who are tried again next. */
export async function findNextRetries(
  q: Queryable,
  queues: readonly Omit<CountedQueue, 'isHeld'>[],
): Promise<NextRetry[]> {
  const [buckets, tenants, mailers, bulks] = queueArrays(
    queues.map((queue) => ({ ...queue, isHeld: false })),
  )
  const values = [buckets, tenants, mailers, bulks, LOOKED_AT_MAX, RETRIES_MAX]
  const { rows } = await q.query<NextRetry>(NEXT_RETRIES, values)
  return rows
}

const LAST_FAILURES = statement(
  'sending.read_last_failures',
  `select k.tenant_id as "tenantId", k.mailer_id as "mailerId", k.next_ms as "nextInMs",
          a.category, a.failed_reason as "failedReason", a.provider_error as "providerError"
     from unnest($1::text[], $2::text[], $3::smallint[], $4::integer[], $5::date[], $6::text[],
                 $7::float8[]) as k (tenant_id, ref_id, n, attempt, day, mailer_id, next_ms)
    cross join lateral (
      select category, failed_reason, provider_error from sending_attempt a
       where a.tenant_id = k.tenant_id and a.ref_id = k.ref_id and a.n = k.n
         and a.attempt = k.attempt and a.day = k.day and a.category is not null limit 1) a`,
)

export interface LastFailure extends QueueKey {
  readonly nextInMs: number
  readonly category: string
  readonly failedReason: string
  readonly providerError: string
}

export async function readLastFailures(
  q: Queryable,
  retries: readonly (NextRetry & { readonly day: string })[],
): Promise<LastFailure[]> {
  const { rows } = await q.query<LastFailure>(LAST_FAILURES, [
    retries.map((r) => r.tenantId),
    retries.map((r) => r.refId),
    retries.map((r) => r.n),
    retries.map((r) => r.attempt),
    retries.map((r) => r.day),
    retries.map((r) => r.mailerId),
    retries.map((r) => r.nextInMs),
  ])
  return rows
}

/** SQL of rescues: finds series of attempts that failed, and begins new ones. Every statement names the tenant. */
import type { RecipientType } from '@postrider/contract'
import { insertRows, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'

const LOCK = statement(
  'sending.lock_rescues',
  `select pg_advisory_xact_lock(hashtextextended('sending.rescue ' || $1, 0))`,
)

/** Of one tenant one rescue at a time, to the end of the transaction. */
export async function lockRescues(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(LOCK, [tenantId])
}

/** The last attempt of a series that failed, or that was taken and has failed since. */
export interface FailedSeries {
  readonly refId: string
  readonly n: number
  readonly attempt: number
  readonly day: string
  readonly maxAttempts: number
  readonly mailerId: string
  /** Its last attempt may have delivered it. */
  readonly isUncertain: boolean
}

/** Where a walk stands: below this one. */
export type SeriesPlace = Pick<FailedSeries, 'refId' | 'n' | 'attempt'>

export interface WalkRange {
  readonly tenantId: string
  readonly days: { readonly from: string; readonly to: string }
  readonly refIdMin: string
  readonly below: SeriesPlace
  readonly limit: number
}

const SERIES = 'ref_id, n, attempt, day, max_attempts, mailer_id, outcome'
const NEWEST = 'order by ref_id desc, n desc, attempt desc limit $8'

// Those that an attempt ended, and those that were taken and are reported as failed. Of the latter one
// more is read: the place that the walk stands at is among them.
const walking = (more: string) => `select ref_id as "refId", n, attempt, day,
         max_attempts as "maxAttempts", mailer_id as "mailerId", outcome = 'uncertain' as "isUncertain"
    from (
      (select ${SERIES} from sending_attempt
        where tenant_id = $1 and day between $2 and $3 and ref_id >= $4
          and (ref_id, n, attempt) < ($5, $6::smallint, $7::integer)
          and not retry_scheduled and outcome <> 'accepted' ${more}
        ${NEWEST})
      union
      (select ${SERIES}
         from (select ref_id, n, day from sending_stopped
                where tenant_id = $1 and status = 'failed' and day between $2 and $3
                  and ref_id >= $4 and (ref_id, n) <= ($5, $6::smallint) ${more}
                order by ref_id desc, n desc limit $8 + 1) reported
        cross join lateral (
          select attempt, max_attempts, mailer_id, outcome from sending_attempts a
           where a.tenant_id = $1 and a.ref_id = reported.ref_id and a.n = reported.n
             and a.day = reported.day and a.day between $2 and $3
           order by attempt desc limit 1) last
        where (ref_id, n, attempt) < ($5, $6::smallint, $7::integer))) series
   ${NEWEST}`

const WALK = statement('sending.walk_failed', walking(''))
const WALK_EMAILS = statement('sending.walk_failed_of_emails', walking('and ref_id = any($9)'))

/**
 * The newest first. A recipient who was rescued before and failed again stands in it twice: only
 * the later one is what `loadRescuable` takes.
 */
export async function walkFailed(
  q: Queryable,
  o: WalkRange,
  refIds: readonly string[] | undefined,
): Promise<FailedSeries[]> {
  const { tenantId, days, refIdMin, below, limit } = o
  const values = [
    tenantId,
    days.from,
    days.to,
    refIdMin,
    below.refId,
    below.n,
    below.attempt,
    limit,
  ]
  const { rows } =
    refIds === undefined
      ? await q.query<FailedSeries>(WALK, values)
      : await q.query<FailedSeries>(WALK_EMAILS, [...values, refIds])
  return rows
}

// Laterally: one probe of the index for each, whatever the statistics say of tables that grow fast.
const LOAD = statement(
  'sending.load_rescuable',
  `select w.ref_id as "refId", w.n, r.email, r.type, r.created_at as "createdAt",
          r.failed_reason as "failedReason",
          e.subject, e.campaign_id as "campaignId", e.mailer_id as "mailerId", e.max_attempts as budget,
          e.content_bytes as "contentBytes", e.queued_at as "queuedAt",
          (extract(epoch from e.expires_at - e.created_at) * 1000)::float8 as "expiresInMs"
     from unnest($2::text[], $3::smallint[], $4::integer[], $5::date[])
       as w (ref_id, n, attempt, day)
    cross join lateral (
        select email, type, created_at, failed_reason from sending_recipient
         where tenant_id = $1 and ref_id = w.ref_id and n = w.n and day = w.day
           and attempts = w.attempt and status = any($6) and day = any($7::date[])
         limit 1) r
    cross join lateral (
        select case when $8 then subject end as subject, campaign_id, mailer_id, max_attempts,
               content_bytes, queued_at, expires_at, created_at,
               coalesce(content_of, ref_id) as content_of
          from sending_email
         where tenant_id = $1 and ref_id = w.ref_id and day = w.day and day = any($7::date[])
         limit 1) e
    -- The time may have been shorter before: what it took away has not come back.
    cross join lateral (
        select from sending_content
         where tenant_id = $1 and ref_id = e.content_of and rendering = 0 and day = w.day
           and day = any($7::date[])
         limit 1) c`,
)

export interface Rescuable {
  readonly refId: string
  readonly n: number
  readonly email: string
  readonly type: RecipientType
  readonly createdAt: Date
  /** Null when it was not asked for. */
  readonly subject: string | null
  readonly campaignId: string | null
  /** Of the email; a rescue may have sent it by another one. */
  readonly mailerId: string
  readonly failedReason: string
  /** Of attempts, as the email asked for. */
  readonly budget: number
  readonly contentBytes: number
  /** Of the email, where that was later than its acceptance. */
  readonly queuedAt: Date | null
  /** How long it was to be tried, from its time on. */
  readonly expiresInMs: number
}

/** Of these series those that have not gone on since, and whose status is one of these. */
export async function loadRescuable(
  q: Queryable,
  tenantId: string,
  series: readonly FailedSeries[],
  o: { readonly statuses: readonly string[]; readonly withSubject: boolean },
): Promise<Rescuable[]> {
  const values = [
    tenantId,
    series.map((one) => one.refId),
    series.map((one) => one.n),
    series.map((one) => one.attempt),
    series.map((one) => one.day),
    o.statuses,
    [...new Set(series.map((one) => one.day))],
    o.withSubject,
  ]
  const { rows } = await q.query<Rescuable>(LOAD, values)
  return rows
}

const TAKE = statement(
  'sending.take_rescuable',
  `update sending_recipient set status = 'queued', failed_reason = ''
    where tenant_id = $1 and ref_id = $2 and day = $3 and n = any($4::smallint[])
      and status = any($5)
   returning n`,
)

const FIND_EMAILS = statement(
  'sending.find_named_emails',
  `select e.ref_id as "refId", e.queued_at as "queuedAt", c.ref_id is not null as "hasContent"
     from sending_email e
     left join sending_content c
       on c.tenant_id = e.tenant_id and c.ref_id = coalesce(e.content_of, e.ref_id) and c.rendering = 0
      and c.day = e.day and c.day = any($3::date[])
    where e.tenant_id = $1 and e.ref_id = any($2) and e.day = any($3::date[])
    order by e.ref_id desc`,
)

export interface NamedEmail {
  readonly refId: string
  readonly queuedAt: Date | null
  readonly hasContent: boolean
}

/** Those of these whose record is kept, the newest first. */
export async function findEmails(
  q: Queryable,
  tenantId: string,
  refIds: readonly string[],
): Promise<NamedEmail[]> {
  const days = [...new Set(refIds.map(dayOfUlid))]
  return (await q.query<NamedEmail>(FIND_EMAILS, [tenantId, refIds, days])).rows
}

/** What is known of it is kept from now on. */
const SET_QUEUED = statement(
  'sending.set_queued',
  `update sending_email set queued_at = now()
    where tenant_id = $1 and ref_id = $2 and day = $3`,
)

/**
 * Answers those that are queued from now on. A statement for each email: joined with a list, a
 * table of which no statistics exist yet was read as a whole.
 */
export async function takeRescuable(
  tx: Tx,
  tenantId: string,
  series: readonly FailedSeries[],
  statuses: readonly string[],
): Promise<Pick<FailedSeries, 'refId' | 'n'>[]> {
  const nsOf = new Map<string, { readonly day: string; readonly ns: number[] }>()
  for (const { refId, day, n } of series) {
    const email = nsOf.get(refId) ?? { day, ns: [] }
    nsOf.set(refId, email)
    email.ns.push(n)
  }
  const taken = await Promise.all(
    [...nsOf].map(async ([refId, { day, ns }]) => {
      const { rows } = await tx.query<{ n: number }>(TAKE, [tenantId, refId, day, ns, statuses])
      if (rows.length > 0) await tx.query(SET_QUEUED, [tenantId, refId, day])
      return rows.map(({ n }) => ({ refId, n }))
    }),
  )
  return taken.flat()
}

export interface NewPlace {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly mailerId: string
  readonly bucket: number
  readonly dueAt: Date
  readonly attempt: number
  readonly maxAttempts: number
  readonly expiresAt: Date
  readonly contentBytes: number
  /** Above that of every earlier claim of this recipient. */
  readonly fence: number
}

export async function queueAgain(tx: Queryable, places: readonly NewPlace[]): Promise<void> {
  await insertRows(tx, {
    name: 'sending.queue_again',
    into: 'sending_queue',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'mailer_id',
      'bucket',
      'due_at',
      'attempt',
      'max_attempts',
      'expires_at',
      'content_bytes',
      'is_bulk',
      'fence',
    ],
    rows: places.map((p) => [
      p.tenantId,
      p.refId,
      p.n,
      p.mailerId,
      p.bucket,
      p.dueAt,
      p.attempt,
      p.maxAttempts,
      p.expiresAt,
      p.contentBytes,
      // Many at once, as a rule, and late already.
      true,
      p.fence,
    ]),
  })
}

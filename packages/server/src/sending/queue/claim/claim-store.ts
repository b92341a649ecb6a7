/**
 * SQL of claims: which queues have something due, and claiming it. Times are the database's.
 * Statements that run over all tenants say why.
 *
 * A claim that runs out while `sending` raises `interrupted`. From the second interruption on a row
 * is claimed by itself (`claimSuspect`), so that a row which ends its process again and again does
 * not use up the tries of those that happened to be claimed with it.
 */
import { type Queryable, statement } from '../../../platform/db/index.ts'
import type { Claim } from '../../attempt/attempt.ts'

export interface QueueKey {
  readonly tenantId: string
  readonly mailerId: string
}

export interface QueueWithClaims extends QueueKey {
  readonly bucket: number
  /** Of its bulk mail, else of the rest (`email.ts`). */
  readonly isBulk: boolean
  /** Until the first row of this class is due; negative for how long it has been. */
  readonly waitMs: number
}

const CLASS = 'bucket, tenant_id, mailer_id, is_bulk'

const DISCOVER = statement(
  'sending.discover_queues',
  `with recursive mailer_queue as (
     (select q.*
        from unnest($1::smallint[]) as owned (bucket)
        cross join lateral (
          select ${CLASS}, due_at from sending_queue
           where bucket = owned.bucket
           order by ${CLASS}, due_at limit 1) q)
     union all
     select q.*
       from mailer_queue cross join lateral (
         select ${CLASS}, due_at from sending_queue
          where bucket = mailer_queue.bucket
            and (tenant_id, mailer_id, is_bulk) > (mailer_queue.tenant_id, mailer_queue.mailer_id, mailer_queue.is_bulk)
          order by ${CLASS}, due_at limit 1) q
   )
   select bucket, tenant_id, mailer_id, is_bulk,
          (extract(epoch from due_at - now()) * 1000)::float8 as wait_ms
     from mailer_queue where $2::float8 is null or due_at < now() + $2 * interval '1 millisecond'`,
)

/**
 * The mailers of these buckets with something due within `aheadMs`, or at any time: one index probe for each class
 * of each mailer. Over all tenants: the sender serves buckets, and each mailer it finds by its own
 * tenant.
 */
export async function discoverQueues(
  q: Queryable,
  buckets: readonly number[],
  aheadMs?: number,
): Promise<QueueWithClaims[]> {
  const { rows } = await q.query<{
    bucket: number
    tenant_id: string
    mailer_id: string
    is_bulk: boolean
    wait_ms: number
  }>(DISCOVER, [buckets, aheadMs ?? null])
  return rows.map((row) => ({
    bucket: row.bucket,
    tenantId: row.tenant_id,
    mailerId: row.mailer_id,
    isBulk: row.is_bulk,
    waitMs: row.wait_ms,
  }))
}

/** What `interrupted` becomes by a claim. */
const INTERRUPTED = `(q.interrupted + case when q.phase = 'sending' then 1 else 0 end)`

/** Claims rows, and answers each with the phase in which an earlier claim ran out. */
const claiming = (rows: string) => `with due as (${rows})
   update sending_queue q
      set phase = case when due.phase = 'dot' then 'dot' else 'sending' end,
          fence = q.fence + 1,
          interrupted = ${INTERRUPTED},
          due_at = now() + $1::float8 * interval '1 millisecond',
          started_at = case when due.phase = 'dot' then q.started_at else now() end
     from due
    where q.tenant_id = due.tenant_id and q.ref_id = due.ref_id and q.n = due.n
   returning q.tenant_id, q.mailer_id, q.bucket, q.is_bulk, q.ref_id, q.n, q.attempt,
             q.max_attempts, q.fence, q.interrupted, q.expires_at <= now() as is_expired,
             q.content_bytes, due.phase as was`

const rowsWhere = (where: string) =>
  `select tenant_id, ref_id, n, phase from sending_queue q where ${where} for update skip locked`

const DUE = rowsWhere(`bucket = $2 and tenant_id = $3 and mailer_id = $4 and is_bulk = $5
        and due_at <= now() and ${INTERRUPTED} < 2
      order by due_at limit $6`)

const CLAIM = statement('sending.claim', claiming(DUE))

const SUSPECTS = rowsWhere(`bucket = any($2::smallint[]) and interrupted > 0 and due_at <= now()
        and ${INTERRUPTED} >= 2
      order by due_at limit 1`)

const CLAIM_SUSPECT = statement('sending.claim_suspect', claiming(SUSPECTS))

const IS_EXPIRED = 'bucket = any($2::smallint[]) and expires_at <= now() and due_at <= now()'

const ANY_EXPIRED = statement(
  'sending.any_expired',
  `select from sending_queue where ${IS_EXPIRED.replace('$2', '$1')} limit 1`,
)

const CLAIM_EXPIRED = statement(
  'sending.claim_expired',
  claiming(rowsWhere(`${IS_EXPIRED} limit $3`)),
)

interface ClaimRow {
  tenant_id: string
  mailer_id: string
  bucket: number
  is_bulk: boolean
  ref_id: string
  n: number
  attempt: number
  max_attempts: number
  fence: string
  interrupted: number
  is_expired: boolean
  content_bytes: number
  was: Claim['was']
}

/** Claims up to `limit` due rows of a class of a mailer's mail for `leaseMs`, the longest due first. */
export async function claimDue(
  q: Queryable,
  { bucket, tenantId, mailerId }: QueueKey & { readonly bucket: number },
  o: { readonly isBulk: boolean; readonly limit: number; readonly leaseMs: number },
): Promise<Claim[]> {
  const values = [o.leaseMs, bucket, tenantId, mailerId, o.isBulk, o.limit]
  const { rows } = await q.query<ClaimRow>(CLAIM, values)
  return rows.map(toClaim)
}

export interface QueuedClaim extends QueueKey {
  readonly bucket: number
  readonly claim: Claim
}

/**
 * Claims one row that was interrupted twice or more. Over all tenants: there are few, and at most
 * one is under way.
 */
export async function claimSuspect(
  q: Queryable,
  buckets: readonly number[],
  leaseMs: number,
): Promise<QueuedClaim | undefined> {
  const { rows } = await q.query<ClaimRow>(CLAIM_SUSPECT, [leaseMs, buckets])
  return rows.map(toQueuedClaim)[0]
}

/**
 * Claims up to `limit` rows whose email has expired, whatever their mailers wait for. Over all
 * tenants: the sender serves buckets.
 */
export async function claimExpired(
  q: Queryable,
  buckets: readonly number[],
  o: { readonly limit: number; readonly leaseMs: number },
): Promise<QueuedClaim[]> {
  if ((await q.query(ANY_EXPIRED, [buckets])).rowCount === 0) return []
  const { rows } = await q.query<ClaimRow>(CLAIM_EXPIRED, [o.leaseMs, buckets, o.limit])
  return rows.map(toQueuedClaim)
}

function toQueuedClaim(row: ClaimRow): QueuedClaim {
  const claim = toClaim(row)
  return { tenantId: claim.tenantId, mailerId: claim.mailerId, bucket: row.bucket, claim }
}

function toClaim(row: ClaimRow): Claim {
  return {
    tenantId: row.tenant_id,
    mailerId: row.mailer_id,
    refId: row.ref_id,
    n: row.n,
    isBulk: row.is_bulk,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    fence: row.fence,
    interrupted: row.interrupted,
    isExpired: row.is_expired,
    contentBytes: row.content_bytes,
    was: row.was,
  }
}

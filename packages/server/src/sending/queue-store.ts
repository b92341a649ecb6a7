/**
 * SQL of the queue: discover, claim, extend, the dot, finish. Times are the database's. Statements
 * that run over all tenants say why.
 *
 * A claim that runs out while `sending` raises `interrupted`. From the second interruption on a row
 * is claimed by itself (`claimSuspect`), so that a row which ends its process again and again does
 * not use up the tries of those that happened to be claimed with it.
 */
import { type Queryable, statement } from '../platform/db/index.ts'
import { ulidAtTime } from '../platform/ids.ts'
import type { Claim } from './attempt.ts'

export interface LaneKey {
  readonly tenantId: string
  readonly mailerId: string
}

export interface DueLane extends LaneKey {
  readonly bucket: number
  /** Until the lane's first row is due; 0 when it is. */
  readonly waitMs: number
}

const DISCOVER = statement(
  'sending.discover_lanes',
  `with recursive lane as (
     (select q.bucket, q.tenant_id, q.mailer_id, q.due_at
        from unnest($1::smallint[]) as owned (bucket)
        cross join lateral (
          select bucket, tenant_id, mailer_id, due_at from sending_queue
           where bucket = owned.bucket
           order by bucket, tenant_id, mailer_id, due_at limit 1) q)
     union all
     select q.bucket, q.tenant_id, q.mailer_id, q.due_at
       from lane cross join lateral (
         select bucket, tenant_id, mailer_id, due_at from sending_queue
          where bucket = lane.bucket
            and (tenant_id, mailer_id) > (lane.tenant_id, lane.mailer_id)
          order by bucket, tenant_id, mailer_id, due_at limit 1) q
   )
   select bucket, tenant_id, mailer_id,
          greatest(0, extract(epoch from due_at - now()) * 1000)::float8 as wait_ms
     from lane where due_at < now() + interval '2 seconds'`,
)

/**
 * The mailers of these buckets with something due within two seconds: one index probe per mailer.
 * Over all tenants: the sender serves buckets, and each mailer it finds by its own tenant.
 */
export async function discoverLanes(q: Queryable, buckets: readonly number[]): Promise<DueLane[]> {
  const { rows } = await q.query<{
    bucket: number
    tenant_id: string
    mailer_id: string
    wait_ms: number
  }>(DISCOVER, [buckets])
  return rows.map((row) => ({
    bucket: row.bucket,
    tenantId: row.tenant_id,
    mailerId: row.mailer_id,
    waitMs: row.wait_ms,
  }))
}

/** What `interrupted` becomes by a claim. */
const INTERRUPTED = `(q.interrupted + case when q.phase = 'sending' then 1 else 0 end)`

/** Claims what `due` selects, and answers each row with the phase in which an earlier claim ran out. */
const claiming = (due: string) => `with due as (
     select tenant_id, ref_id, n, phase from sending_queue q where ${due} for update skip locked)
   update sending_queue q
      set phase = case when due.phase = 'dot' then 'dot' else 'sending' end,
          fence = q.fence + 1,
          interrupted = ${INTERRUPTED},
          due_at = now() + $1::float8 * interval '1 millisecond',
          started_at = case when due.phase = 'dot' then q.started_at else now() end
     from due
    where q.tenant_id = due.tenant_id and q.ref_id = due.ref_id and q.n = due.n
   returning q.tenant_id, q.mailer_id, q.bucket, q.ref_id, q.n, q.attempt, q.max_attempts, q.fence,
             q.interrupted, q.expires_at <= now() as is_expired, q.content_bytes, due.phase as was`

const CLAIM = statement(
  'sending.claim',
  claiming(`bucket = $2 and tenant_id = $3 and mailer_id = $4 and due_at <= now()
        and ${INTERRUPTED} < 2
      order by due_at limit $5`),
)

const CLAIM_SUSPECT = statement(
  'sending.claim_suspect',
  claiming(`bucket = any($2::smallint[]) and interrupted > 0 and due_at <= now()
        and ${INTERRUPTED} >= 2
      order by due_at limit 1`),
)

interface ClaimRow {
  tenant_id: string
  mailer_id: string
  bucket: number
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

/** Claims up to `limit` due rows of a mailer for `leaseMs`, the longest due first. */
export async function claimDue(
  q: Queryable,
  lane: LaneKey & { readonly bucket: number },
  o: { readonly limit: number; readonly leaseMs: number },
): Promise<Claim[]> {
  const { bucket, tenantId, mailerId } = lane
  const { rows } = await q.query<ClaimRow>(CLAIM, [o.leaseMs, bucket, tenantId, mailerId, o.limit])
  return rows.map(toClaim)
}

/**
 * Claims one row that was interrupted twice or more. Over all tenants: there are few, and at most
 * one is under way.
 */
export async function claimSuspect(
  q: Queryable,
  buckets: readonly number[],
  leaseMs: number,
): Promise<(LaneKey & { readonly bucket: number; readonly claim: Claim }) | undefined> {
  const { rows } = await q.query<ClaimRow>(CLAIM_SUSPECT, [leaseMs, buckets])
  const [row] = rows
  if (row === undefined) return undefined
  const claim = toClaim(row)
  return { tenantId: claim.tenantId, mailerId: claim.mailerId, bucket: row.bucket, claim }
}

function toClaim(row: ClaimRow): Claim {
  return {
    tenantId: row.tenant_id,
    mailerId: row.mailer_id,
    refId: row.ref_id,
    n: row.n,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    fence: row.fence,
    interrupted: row.interrupted,
    isExpired: row.is_expired,
    contentBytes: row.content_bytes,
    was: row.was,
  }
}

export type ClaimKey = Pick<Claim, 'tenantId' | 'refId' | 'n' | 'fence'>

/** One statement for many rows: the four columns that identify a claim, as arrays. */
function claimArrays(claims: readonly ClaimKey[]) {
  return [
    claims.map((c) => c.tenantId),
    claims.map((c) => c.refId),
    claims.map((c) => c.n),
    claims.map((c) => c.fence),
  ]
}

const CLAIMS = `unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[])`
const IS_CLAIM = `q.tenant_id = c.tenant_id and q.ref_id = c.ref_id and q.n = c.n and q.fence = c.fence`

const EXTEND = statement(
  'sending.extend_claims',
  `update sending_queue q set due_at = now() + $5::float8 * interval '1 millisecond'
     from ${CLAIMS} as c (tenant_id, ref_id, n, fence)
    where ${IS_CLAIM} and q.phase <> 'waiting'`,
)

export async function extendClaims(
  q: Queryable,
  claims: readonly ClaimKey[],
  leaseMs: number,
): Promise<number> {
  const { rowCount } = await q.query(EXTEND, [...claimArrays(claims), leaseMs])
  return rowCount
}

// due_at stays: a row whose indexed columns do not change is updated in place, and this is one
// update for each mail. The heartbeat keeps the claim alive.
const MARK_DOT = statement(
  'sending.mark_dot',
  `update sending_queue q set phase = 'dot'
     from ${CLAIMS} as c (tenant_id, ref_id, n, fence)
    where ${IS_CLAIM} and q.phase = 'sending' and q.due_at > now()
   returning q.ref_id, q.n`,
)

/** Per claim, whether it still holds its row: only then may the final dot be sent. */
export async function markDot(tx: Queryable, claims: readonly ClaimKey[]): Promise<boolean[]> {
  const { rows } = await tx.query<{ ref_id: string; n: number }>(MARK_DOT, claimArrays(claims))
  return matchClaims(claims, rows)
}

function matchClaims(
  claims: readonly ClaimKey[],
  rows: readonly { ref_id: string; n: number }[],
): boolean[] {
  const held = new Set(rows.map((row) => `${row.ref_id}.${row.n}`))
  return claims.map((claim) => held.has(`${claim.refId}.${claim.n}`))
}

const FINISH = statement(
  'sending.finish_claims',
  `delete from sending_queue q using ${CLAIMS} as c (tenant_id, ref_id, n, fence)
    where ${IS_CLAIM} returning q.ref_id, q.n, q.started_at, now() as finished_at`,
)

export interface FinishedClaim {
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly nextAttemptAt: Date | null
}

/** Takes finished recipients out of the queue. Undefined for a claim that has lost its row. */
export async function finishClaims(
  tx: Queryable,
  claims: readonly ClaimKey[],
): Promise<(FinishedClaim | undefined)[]> {
  if (claims.length === 0) return []
  const { rows } = await tx.query<FinishRow>(FINISH, claimArrays(claims))
  return matchFinished(claims, rows)
}

interface FinishRow {
  ref_id: string
  n: number
  started_at: Date
  finished_at: Date
  due_at?: Date
}

function matchFinished(
  claims: readonly ClaimKey[],
  rows: readonly FinishRow[],
): (FinishedClaim | undefined)[] {
  const byKey = new Map(rows.map((row) => [`${row.ref_id}.${row.n}`, row]))
  return claims.map((claim) => {
    const row = byKey.get(`${claim.refId}.${claim.n}`)
    if (row === undefined) return undefined
    return {
      startedAt: row.started_at,
      finishedAt: row.finished_at,
      nextAttemptAt: row.due_at ?? null,
    }
  })
}

const POSTPONE = statement(
  'sending.postpone_claims',
  `update sending_queue q
      set phase = 'waiting', fence = q.fence + 1, attempt = q.attempt + 1, interrupted = 0,
          due_at = least(now() + c.wait_ms * interval '1 millisecond', q.expires_at)
     from unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::float8[])
       as c (tenant_id, ref_id, n, fence, wait_ms)
    where ${IS_CLAIM}
   returning q.ref_id, q.n, q.due_at, q.started_at, now() as finished_at`,
)

/**
 * The next attempt of each, after its wait or when the email expires, whichever is first. Ends the
 * claim: repeated after a commit whose answer was lost, this changes nothing.
 */
export async function postponeClaims(
  tx: Queryable,
  claims: readonly (ClaimKey & { readonly waitMs: number })[],
): Promise<(FinishedClaim | undefined)[]> {
  if (claims.length === 0) return []
  const { rows } = await tx.query<FinishRow>(POSTPONE, [
    ...claimArrays(claims),
    claims.map((c) => c.waitMs),
  ])
  return matchFinished(claims, rows)
}

const UNDO = statement(
  'sending.undo_claims',
  `update sending_queue q
      set phase = case when c.was = 'dot' then 'dot' else 'waiting' end, fence = q.fence + 1,
          due_at = least(now() + c.wait_ms * interval '1 millisecond', q.expires_at)
     from unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::float8[], $6::text[])
       as c (tenant_id, ref_id, n, fence, wait_ms, was)
    where ${IS_CLAIM}`,
)

/**
 * Attempts that surely sent nothing, taken back: the same number is run again, or it expires. One
 * that was claimed because an earlier claim ran out after the dot stays so: that may have sent.
 */
export async function undoClaims(
  tx: Queryable,
  claims: readonly (ClaimKey & Pick<Claim, 'was'> & { readonly waitMs: number })[],
): Promise<void> {
  if (claims.length === 0) return
  await tx.query(UNDO, [
    ...claimArrays(claims),
    claims.map((c) => c.waitMs),
    claims.map((c) => c.was),
  ])
}

const isDayIn = (table: 'sending_queue' | 'sending_scheduled') =>
  statement(
    `sending.is_day_in_${table}`,
    `with recursive tenant as (
       (select tenant_id from ${table} order by tenant_id limit 1)
       union all
       select q.tenant_id
         from tenant cross join lateral (
           select tenant_id from ${table}
            where tenant_id > tenant.tenant_id order by tenant_id limit 1) q
     )
     select 1
       from tenant cross join lateral (
         select from ${table}
          where tenant_id = tenant.tenant_id and ref_id >= $1 and ref_id < $2 limit 1) q
      limit 1`,
  )
/** In the order in which rows move: one on its way is found in the second. */
const IS_DAY_QUEUED = [isDayIn('sending_scheduled'), isDayIn('sending_queue')]

/**
 * Whether a recipient of an email of that day is still to be served. Over all tenants: a day leaves
 * for all of them at once; two index probes for each.
 */
export async function isDayQueued(q: Queryable, day: string): Promise<boolean> {
  const fromMs = Date.parse(day)
  const ids = [fromMs, fromMs + 86_400_000].map(ulidAtTime)
  for (const one of IS_DAY_QUEUED) if ((await q.query(one, ids)).rowCount > 0) return true
  return false
}

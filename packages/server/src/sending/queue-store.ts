/**
 * SQL of the queue: discover, claim, extend, the dot, finish. Times are the database's. Statements
 * that run over all tenants say why.
 */
import { insertRows, type Queryable, statement } from '../platform/db/index.ts'
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

const CLAIM = statement(
  'sending.claim',
  `with due as (
     select tenant_id, ref_id, n, phase from sending_queue
      where bucket = $1 and tenant_id = $2 and mailer_id = $3 and due_at <= now()
      order by due_at limit $4 for update skip locked)
   update sending_queue q
      set phase = case when due.phase = 'dot' then 'dot' else 'sending' end,
          fence = q.fence + 1,
          interrupted = case when due.phase = 'sending' then q.interrupted + 1 else q.interrupted end,
          due_at = now() + $5::float8 * interval '1 millisecond',
          started_at = case when due.phase = 'dot' then q.started_at else now() end
     from due
    where q.tenant_id = $2 and q.tenant_id = due.tenant_id and q.ref_id = due.ref_id and q.n = due.n
   returning q.ref_id, q.n, q.attempt, q.max_attempts, q.fence, q.interrupted, q.expires_at,
             q.expires_at <= now() as is_expired, due.phase as was`,
)

interface ClaimRow {
  ref_id: string
  n: number
  attempt: number
  max_attempts: number
  fence: string
  interrupted: number
  expires_at: Date
  is_expired: boolean
  was: Claim['was']
}

/** Claims up to `limit` due rows of a mailer for `leaseMs`, the longest due first. */
export async function claimDue(
  q: Queryable,
  lane: LaneKey & { readonly bucket: number },
  o: { readonly limit: number; readonly leaseMs: number },
): Promise<Claim[]> {
  const { tenantId, mailerId } = lane
  const { rows } = await q.query<ClaimRow>(CLAIM, [
    lane.bucket,
    tenantId,
    mailerId,
    o.limit,
    o.leaseMs,
  ])
  return rows.map((row) => ({
    tenantId,
    mailerId,
    refId: row.ref_id,
    n: row.n,
    attempt: row.attempt,
    maxAttempts: row.max_attempts,
    fence: row.fence,
    interrupted: row.interrupted,
    expiresAt: row.expires_at,
    isExpired: row.is_expired,
    was: row.was,
  }))
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
      set phase = 'waiting', fence = q.fence + 1, due_at = now() + c.wait_ms * interval '1 millisecond'
     from unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::float8[])
       as c (tenant_id, ref_id, n, fence, wait_ms)
    where ${IS_CLAIM}`,
)

/** Attempts that surely sent nothing, taken back: the same number is run again. */
export async function undoClaims(
  tx: Queryable,
  claims: readonly (ClaimKey & { readonly waitMs: number })[],
): Promise<void> {
  if (claims.length === 0) return
  await tx.query(UNDO, [...claimArrays(claims), claims.map((c) => c.waitMs)])
}

const LOAD_EMAILS = statement(
  'sending.load_emails',
  `select ref_id, content, custom_args, traceparent, created_at from sending_email
    where tenant_id = $1 and ref_id = any($2) and day = any($3::date[])`,
)

const LOAD_RECIPIENTS = statement(
  'sending.load_recipients',
  `select ref_id, n, email, message_id from sending_recipient
    where tenant_id = $1 and ref_id = any($2) and n = any($3) and day = any($4::date[])`,
)

export interface EmailDbRow {
  ref_id: string
  content: unknown
  custom_args: Record<string, unknown> | null
  traceparent: string
  created_at: Date
}

export interface RecipientDbRow {
  ref_id: string
  n: number
  email: string
  message_id: string
}

export async function loadForSend(
  q: Queryable,
  tenantId: string,
  claims: readonly { readonly refId: string; readonly n: number; readonly day: string }[],
): Promise<{ emails: EmailDbRow[]; recipients: RecipientDbRow[] }> {
  const refIds = [...new Set(claims.map((c) => c.refId))]
  const days = [...new Set(claims.map((c) => c.day))]
  const ns = [...new Set(claims.map((c) => c.n))]
  const [emails, recipients] = await Promise.all([
    q.query<EmailDbRow>(LOAD_EMAILS, [tenantId, refIds, days]),
    q.query<RecipientDbRow>(LOAD_RECIPIENTS, [tenantId, refIds, ns, days]),
  ])
  return { emails: emails.rows, recipients: recipients.rows }
}

export interface AttemptRow {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly attempt: number
  readonly day: string
  readonly mailerId: string
  readonly maxAttempts: number
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly outcome: 'accepted' | 'deferred' | 'failed' | 'uncertain'
  readonly category: string | null
  readonly failedReason: string
  readonly providerError: string
  readonly retryScheduled: boolean
  readonly nextAttemptAt: Date | null
}

export async function insertAttempts(tx: Queryable, rows: readonly AttemptRow[]): Promise<void> {
  await insertRows(tx, {
    name: 'sending.insert_attempt',
    into: 'sending_attempt',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'attempt',
      'day',
      'mailer_id',
      'max_attempts',
      'started_at',
      'finished_at',
      'outcome',
      'category',
      'failed_reason',
      'provider_error',
      'retry_scheduled',
      'next_attempt_at',
    ],
    rows: rows.map((r) => [
      r.tenantId,
      r.refId,
      r.n,
      r.attempt,
      r.day,
      r.mailerId,
      r.maxAttempts,
      r.startedAt,
      r.finishedAt,
      r.outcome,
      r.category,
      r.failedReason,
      r.providerError,
      r.retryScheduled,
      r.nextAttemptAt,
    ]),
  })
}

const SET_STATUS = statement(
  'sending.set_status',
  `update sending_recipient r
      set status = c.status, attempts = c.attempt, failed_reason = c.failed_reason,
          delivered_at = case when c.status = 'delivered' then now() else r.delivered_at end
     from unnest($1::text[], $2::text[], $3::smallint[], $4::date[], $5::text[], $6::smallint[], $7::text[])
       as c (tenant_id, ref_id, n, day, status, attempt, failed_reason)
    where r.tenant_id = c.tenant_id and r.ref_id = c.ref_id and r.n = c.n and r.day = c.day
      -- Says before the join begins which partitions there are to open.
      and r.day = any($8::date[])`,
)

export interface StatusChange {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly day: string
  readonly status: string
  readonly attempt: number
  readonly failedReason: string
}

export async function setStatuses(tx: Queryable, rows: readonly StatusChange[]): Promise<void> {
  if (rows.length === 0) return
  await tx.query(SET_STATUS, [
    rows.map((r) => r.tenantId),
    rows.map((r) => r.refId),
    rows.map((r) => r.n),
    rows.map((r) => r.day),
    rows.map((r) => r.status),
    rows.map((r) => r.attempt),
    rows.map((r) => r.failedReason),
    [...new Set(rows.map((r) => r.day))],
  ])
}

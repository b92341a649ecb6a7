/**
 * SQL of what is claimed: extend, the commit point, finish. Times are the database's. Statements that run
 * over all tenants say why.
 */
import { givenRows, type Queryable, statement } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import type { Claim } from '../attempt/attempt.ts'

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

const CLAIMS = givenRows('text', 'text', 'smallint', 'bigint')
const IS_CLAIM = `q.tenant_id = c.tenant_id and q.ref_id = c.ref_id and q.n = c.n and q.fence = c.fence`
/** With the fence that was given: a process may have a row a second time, while its older claim is on its way. */
const CLAIM_COLUMNS = 'c.ref_id, c.n, c.fence'

interface ClaimRow {
  readonly ref_id: string
  readonly n: number
  readonly fence: string
}

const idOfRow = ({ ref_id, n, fence }: ClaimRow) => `${ref_id}.${n} ${fence}`
const idOf = ({ refId, n, fence }: ClaimKey) => `${refId}.${n} ${fence}`

const EXTEND = statement(
  'sending.extend_claims',
  `update sending_queue q set due_at = now() + $5::float8 * interval '1 millisecond'
     from ${CLAIMS} as c (tenant_id, ref_id, n, fence)
    where ${IS_CLAIM} and q.phase <> 'waiting'`,
)

/** After `planByIndex`. */
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
   returning ${CLAIM_COLUMNS}`,
)

/** Per claim, whether it still holds its row: only then may the final dot be sent. After `planByIndex`. */
export async function markCommitted(
  tx: Queryable,
  claims: readonly ClaimKey[],
): Promise<boolean[]> {
  const { rows } = await tx.query<ClaimRow>(MARK_DOT, claimArrays(claims))
  return matchClaims(claims, rows)
}

function matchClaims(claims: readonly ClaimKey[], rows: readonly ClaimRow[]): boolean[] {
  const held = new Set(rows.map(idOfRow))
  return claims.map((claim) => held.has(idOf(claim)))
}

const HOLD = statement(
  'sending.hold_claims',
  `select ${CLAIM_COLUMNS} from sending_queue q join ${CLAIMS} as c (tenant_id, ref_id, n, fence)
       on ${IS_CLAIM} for update of q`,
)

/** Per claim, whether it holds its row, which stays so until the end of the transaction. */
export async function holdClaims(tx: Queryable, claims: readonly ClaimKey[]): Promise<boolean[]> {
  const { rows } = await tx.query<ClaimRow>(HOLD, claimArrays(claims))
  return matchClaims(claims, rows)
}

const FINISH = statement(
  'sending.finish_claims',
  `delete from sending_queue q using ${CLAIMS} as c (tenant_id, ref_id, n, fence)
    where ${IS_CLAIM} returning ${CLAIM_COLUMNS}, q.started_at, now() as finished_at`,
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

interface FinishRow extends ClaimRow {
  started_at: Date
  finished_at: Date
  due_at?: Date
}

function matchFinished(
  claims: readonly ClaimKey[],
  rows: readonly FinishRow[],
): (FinishedClaim | undefined)[] {
  const byId = new Map(rows.map((row) => [idOfRow(row), row]))
  return claims.map((claim) => {
    const row = byId.get(idOf(claim))
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
     from ${givenRows('text', 'text', 'smallint', 'bigint', 'float8')}
       as c (tenant_id, ref_id, n, fence, wait_ms)
    where ${IS_CLAIM}
   returning ${CLAIM_COLUMNS}, q.due_at, q.started_at, now() as finished_at`,
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
     from ${givenRows('text', 'text', 'smallint', 'bigint', 'float8', 'text')}
       as c (tenant_id, ref_id, n, fence, wait_ms, was)
    where ${IS_CLAIM}
   returning ${CLAIM_COLUMNS}`,
)

/**
 * Attempts that surely sent nothing, taken back: the same number is run again, or it expires. One
 * that was claimed because an earlier claim ran out after the commit point stays so: that may have sent.
 */
export async function undoClaims(
  tx: Queryable,
  claims: readonly (ClaimKey & Pick<Claim, 'was'> & { readonly waitMs: number })[],
): Promise<boolean[]> {
  if (claims.length === 0) return []
  const { rows } = await tx.query<ClaimRow>(UNDO, [
    ...claimArrays(claims),
    claims.map((c) => c.waitMs),
    claims.map((c) => c.was),
  ])
  return matchClaims(claims, rows)
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

const WAS_QUEUED = statement(
  'sending.was_queued',
  `select from sending_email
    where day = $1 and queued_at > now() - $2::float8 * interval '1 millisecond' limit 1`,
)

/**
 * Whether an email of that day was queued within the last `ageMs`, later than when it was accepted.
 * Over all tenants: a day leaves for all of them at once.
 */
export async function wasQueuedLately(q: Queryable, day: string, ageMs: number): Promise<boolean> {
  return (await q.query(WAS_QUEUED, [day, ageMs])).rowCount > 0
}

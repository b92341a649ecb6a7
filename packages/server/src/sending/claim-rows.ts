/**
 * Claims rows of a lane as far as its mailer lets it now. Where it does not, that is said: the lane
 * rests, and no row of it is touched (invariant: waiting for a limit is not an attempt).
 */
import { hasRates, type MailerForSend, offerPermission, usePermission } from '../mailers/index.ts'
import type { Queryable, Tx } from '../platform/db/index.ts'
import type { Claim } from './attempt.ts'
import { claimDue } from './claim-store.ts'
import { type ClaimKind, freeOf, type Lane, type Rest, sizeOfClaim } from './lane.ts'
import { type LaneMailerDeps, mailerOf } from './lane-mailer.ts'

export interface ClaimedRows {
  readonly claims: readonly Claim[]
  /** There may be more that is due. */
  readonly isFull: boolean
  readonly rest?: { readonly because: Rest; readonly ms: number }
}

/** Until the mailer is looked at again, if it is not heard of before. */
const INACTIVE_REST_MS = 60_000
/** Until the limits are looked at again: they may have been raised. */
const LIMIT_REST_MS_MAX = 60_000

export interface WantedRows {
  readonly kind: ClaimKind
  readonly limit: number
  readonly leaseMs: number
}

export async function claimRows(
  deps: LaneMailerDeps,
  lane: Lane,
  wanted: WantedRows,
): Promise<ClaimedRows> {
  const mailer = await mailerOf(deps, lane)
  if (typeof mailer === 'object') {
    if (mailer.state !== 'active')
      return { claims: [], isFull: true, rest: { because: 'inactive', ms: INACTIVE_REST_MS } }
    if (hasRates(mailer.rates))
      return deps.db.transaction((tx) => claimPermitted(tx, mailer, lane, wanted))
  }
  return claimUpTo(deps.db, lane, wanted)
}

async function claimPermitted(
  tx: Tx,
  mailer: MailerForSend,
  lane: Lane,
  wanted: WantedRows,
): Promise<ClaimedRows> {
  // The first claim of a lane was decided before its mailer was known.
  const limit = lane.isPaced ? Math.min(wanted.limit, freeOf(lane)) : wanted.limit
  if (limit === 0) return { claims: [], isFull: true }
  const offer = await offerPermission(tx, mailer, limit)
  // Deleted a moment ago: its mail fails by itself.
  if (offer === undefined) return claimUpTo(tx, lane, wanted)
  const { count, waitMs, atMs } = offer
  if (count === 0) {
    const ms = Math.min(waitMs, LIMIT_REST_MS_MAX)
    return { claims: [], isFull: true, rest: { because: 'limited', ms } }
  }
  const claimed = await claimUpTo(tx, lane, { ...wanted, limit: count })
  await usePermission(tx, mailer, offer, claimed.claims.length)
  const claims = claimed.claims.map((claim) => ({ ...claim, permittedMs: atMs }))
  return { ...claimed, claims }
}

async function claimUpTo(
  q: Queryable,
  lane: Lane,
  { kind, limit, leaseMs }: WantedRows,
): Promise<ClaimedRows> {
  const { small, all } = sizeOfClaim(lane, kind, limit)
  const claims = await claimDue(q, lane, { small, all, leaseMs })
  const smallCount = claims.filter(({ isBulk }) => !isBulk).length
  if (smallCount < claims.length) lane.hasBulk = true
  else if (claims.length < all) lane.hasBulk = false
  return { claims, isFull: smallCount === small || (all > 0 && claims.length === all) }
}

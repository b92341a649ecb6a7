/**
 * Claims rows of a queue as far as its mailer lets it now. Where it does not, that is said: the queue
 * pauses, and no row of it is touched (invariant: waiting for a limit is not an attempt).
 */
import {
  hasRates,
  type MailerForSend,
  offerPermission,
  usePermission,
} from '../../../mailers/index.ts'
import type { Queryable, Tx } from '../../../platform/db/index.ts'
import type { Claim } from '../../attempt/attempt.ts'
import {
  bulkShareOf,
  type Classes,
  freeOf,
  type MailerQueue,
  type PauseReason,
} from '../mailer-queue.ts'
import { mailerOf, type QueueMailerDeps } from '../queue-mailer.ts'
import { claimDue } from './claim-store.ts'

export interface ClaimedRows {
  readonly claims: readonly Claim[]
  /** What may be due beside them. */
  readonly left: Classes
  readonly pause?: { readonly because: PauseReason; readonly ms: number }
}

/** Until the mailer is looked at again, if it is not heard of before. */
const INACTIVE_PAUSE_MS = 60_000
/** Until the limits are looked at again: they may have been raised. */
const LIMIT_REST_MS_MAX = 60_000

export interface WantedRows {
  readonly classes: Classes
  readonly limit: number
  readonly leaseMs: number
}

export async function claimRows(
  deps: QueueMailerDeps,
  queue: MailerQueue,
  wanted: WantedRows,
): Promise<ClaimedRows> {
  const mailer = await mailerOf(deps, queue)
  if (mailer === 'held' || (typeof mailer === 'object' && mailer.state !== 'active'))
    return {
      claims: [],
      left: wanted.classes,
      pause: { because: 'inactive', ms: INACTIVE_PAUSE_MS },
    }
  if (typeof mailer === 'object' && hasRates(mailer.rates))
    return deps.db.transaction((tx) => claimPermitted(tx, mailer, queue, wanted))
  return claimUpTo(deps.db, queue, wanted)
}

async function claimPermitted(
  tx: Tx,
  mailer: MailerForSend,
  queue: MailerQueue,
  wanted: WantedRows,
): Promise<ClaimedRows> {
  // The first claim of a queue was decided before its mailer was known.
  const limit = queue.hasRateLimit ? Math.min(wanted.limit, freeOf(queue)) : wanted.limit
  if (limit === 0) return { claims: [], left: wanted.classes }
  const offer = await offerPermission(tx, mailer, limit)
  // Deleted a moment ago: its mail fails by itself.
  if (offer === undefined) return claimUpTo(tx, queue, wanted)
  const { count, waitMs, atMs } = offer
  if (count === 0) {
    const ms = Math.min(waitMs, LIMIT_REST_MS_MAX)
    return { claims: [], left: wanted.classes, pause: { because: 'limited', ms } }
  }
  const claimed = await claimUpTo(tx, queue, { ...wanted, limit: count })
  await usePermission(tx, mailer, offer, claimed.claims.length)
  const claims = claimed.claims.map((claim) => ({ ...claim, permittedMs: atMs }))
  return { ...claimed, claims }
}

/**
 * First what is not bulk, up to the share of bulk mail, which has all that is left. In statements
 * of their own: of a limit that depends on another the planner expects the worst, and sorts.
 */
async function claimUpTo(
  q: Queryable,
  queue: MailerQueue,
  { classes, limit, leaseMs }: WantedRows,
): Promise<ClaimedRows> {
  const share = classes.small && classes.bulk ? bulkShareOf(queue, limit) : 0
  const claim = async (isBulk: boolean, count: number) => {
    const claims = count === 0 ? [] : await claimDue(q, queue, { isBulk, limit: count, leaseMs })
    return { claims, isFull: claims.length === count }
  }
  const small = await claim(false, classes.small ? limit - share : 0)
  const bulk = await claim(true, classes.bulk ? limit - small.claims.length : 0)
  return {
    claims: [...small.claims, ...bulk.claims],
    left: { small: classes.small && small.isFull, bulk: classes.bulk && bulk.isFull },
  }
}

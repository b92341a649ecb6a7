/**
 * Claims what was interrupted again and again, one row at a time and past its queue. The limits of its
 * mailer hold for it all the same: a row that they do not permit now is put off, and is no attempt.
 */
import {
  hasRates,
  loadMailerForSend,
  offerPermission,
  usePermission,
} from '../../../mailers/index.ts'
import { type Db, type Tx, transactByIndex } from '../../../platform/db/index.ts'
import { type KeyRing, SealedValueError } from '../../../platform/secrets/index.ts'
import { undoClaims } from '../queue-store.ts'
import { claimSuspect, type QueuedClaim, type QueueKey } from './claim-store.ts'

export interface ClaimPoisonDeps {
  readonly db: Db
  readonly keyRing: KeyRing
}

/** Deferred at once; the others are looked at in a second. */
const PUT_OFF_MAX = 100
const PUT_OFF_MS_MAX = 60_000

/** Undefined when there is none, or none that may be sent now. */
export async function claimPoisonRow(
  deps: ClaimPoisonDeps,
  buckets: readonly number[],
  leaseMs: number,
): Promise<QueuedClaim | undefined> {
  for (let i = 0; i < PUT_OFF_MAX; i++) {
    const taken = await transactByIndex(deps.db, (tx) => takeOne(tx, deps, buckets, leaseMs))
    if (taken !== 'put-off') return taken
  }
  return undefined
}

async function takeOne(
  tx: Tx,
  deps: ClaimPoisonDeps,
  buckets: readonly number[],
  leaseMs: number,
): Promise<QueuedClaim | 'put-off' | undefined> {
  const found = await claimSuspect(tx, buckets, leaseMs)
  // An expired one, and one that may have been sent already, sends nothing.
  if (found === undefined || found.claim.isExpired || found.claim.was === 'dot') return found
  const rates = await ratesOf(tx, deps, found)
  if (rates === undefined) return found
  const mailer = { ...found, rates }
  const offer = await offerPermission(tx, mailer, 1)
  if (offer === undefined) return found
  if (offer.count === 0) {
    const waitMs = Math.min(offer.waitMs, PUT_OFF_MS_MAX)
    await undoClaims(tx, [{ ...found.claim, waitMs }])
    return 'put-off'
  }
  await usePermission(tx, mailer, offer, 1)
  return { ...found, claim: { ...found.claim, permittedMs: offer.atMs } }
}

/** Undefined where it has none, is gone, or cannot be opened: what follows is the attempt's. */
async function ratesOf(tx: Tx, { keyRing }: ClaimPoisonDeps, { tenantId, mailerId }: QueueKey) {
  try {
    const mailer = await loadMailerForSend(tx, keyRing, tenantId, mailerId)
    return mailer !== undefined && hasRates(mailer.rates) ? mailer.rates : undefined
  } catch (error) {
    if (error instanceof SealedValueError) return undefined
    throw error
  }
}

/**
 * Which messages this process has claimed: tenants in their order, as many as the limits admit. Each is
 * leased by a lease, which is renewed until it is left.
 */
import { type Db, transactByIndex } from '../../platform/db/index.ts'
import { type AdmissionLimits, createAdmissionLimiter } from './admission-limiter.ts'
import {
  type ClaimedMessage,
  claimDue,
  type DueMessage,
  endMessages,
  findDue,
  putOffMessages,
  renewClaims,
} from './queue-store.ts'

export interface MessageClaims {
  /** Some that are due; none when nothing is due or the limits admit none. */
  claim(): Promise<readonly ClaimedMessage[]>
  /** It is recorded, or given back. */
  leave(claim: ClaimedMessage): void
  /** Gives it back to the queue; nothing of it counts against the message. Told to the database with the next claim. */
  returnLater(claim: ClaimedMessage): void
  putOff(claim: ClaimedMessage, o: { readonly isUntried: boolean }): Promise<void>
  /** There is nothing to be recorded of it. */
  drop(claim: ClaimedMessage): Promise<void>
  renew(): Promise<number>
  /** Before the process ends: nobody waits for the leases of what it has not read to its end. */
  giveUp(): Promise<void>
}

const TENANTS_MAX = 32
const OF_EACH_MAX = 8
/** Of a message that could not be recorded for no reason that is over at once. */
const PUT_OFF_MS = 30_000

export function createMessageClaims(o: {
  readonly db: Db
  readonly admission: AdmissionLimits
  readonly leaseMs: number
}): MessageClaims {
  const { db, leaseMs } = o
  const admission = createAdmissionLimiter(o.admission)
  const leased = new Set<ClaimedMessage>()
  let returned: readonly ClaimedMessage[] = []
  /** Whose turn was last. */
  let after = ''

  async function returnAll(): Promise<void> {
    const back = returned
    if (back.length === 0) return
    const unread = back.map((claim) => ({ ...claim, waitMs: 0, isTry: false }))
    await transactByIndex(db, (tx) => putOffMessages(tx, unread))
    returned = returned.filter((claim) => !back.includes(claim))
  }

  async function claimSome(): Promise<readonly ClaimedMessage[]> {
    const some = { after, tenantsMax: TENANTS_MAX, ofEachMax: OF_EACH_MAX }
    let admitted: readonly DueMessage[] = []
    let claimed: readonly ClaimedMessage[] = []
    try {
      claimed = await transactByIndex(db, async (tx) => {
        const due = await findDue(tx, some)
        const tenants = new Set(due.map(({ tenantId }) => tenantId))
        after = tenants.size < TENANTS_MAX ? '' : (due.at(-1)?.tenantId ?? '')
        admitted = admission.admit(due)
        return admitted.length === 0 ? [] : claimDue(tx, admitted, leaseMs)
      })
    } finally {
      const ids = new Set(claimed.map(({ inboundId }) => inboundId))
      for (const one of admitted) if (!ids.has(one.inboundId)) admission.leave(one)
    }
    for (const claim of claimed) leased.add(claim)
    return claimed
  }

  return {
    async claim() {
      await returnAll()
      // Until everybody had a turn, from the first on.
      for (let ends = after === '' ? 1 : 0; ends < 2 && !admission.isFull; ) {
        const claimed = await claimSome()
        if (claimed.length > 0) return claimed
        if (after === '') ends += 1
      }
      return []
    },
    leave(claim) {
      if (leased.delete(claim)) admission.leave(claim)
    },
    returnLater(claim) {
      returned = [...returned, claim]
    },
    async putOff(claim, { isUntried }) {
      const later = { ...claim, waitMs: PUT_OFF_MS, isTry: !isUntried }
      await transactByIndex(db, (tx) => putOffMessages(tx, [later]))
    },
    async drop(claim) {
      await transactByIndex(db, (tx) => endMessages(tx, [claim]))
    },
    async renew() {
      const claims = [...leased]
      if (claims.length > 0) await transactByIndex(db, (tx) => renewClaims(tx, claims, leaseMs))
      return claims.length
    },
    async giveUp() {
      await returnAll()
      const unread = [...leased].map((claim) => ({ ...claim, waitMs: 0, isTry: true }))
      if (unread.length > 0) await transactByIndex(db, (tx) => putOffMessages(tx, unread))
    },
  }
}

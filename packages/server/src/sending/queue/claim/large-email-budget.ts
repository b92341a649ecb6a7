/**
 * How many bytes of large emails may be in conversations under way, so that memory is bounded and
 * no tenant's slow servers use it up.
 *
 * Two budgets. What begins counts in the first, of which a tenant has at most half. What lasts too
 * long moves to the second, the slow one, so that the first is soon free again whatever servers do;
 * a tenant with something there has all in all at most an eighth of it. When the slow budget is
 * full, slow ones stay in the main budget until they fit: memory is bounded first of all.
 *
 * Smaller emails would overtake a large one for ever. The first that has to wait for
 * others keeps the budget until it has begun, unless it waits for slow ones.
 */
import { isDomainMailer } from '../../../mailers/index.ts'
import type { LeasedRecipient } from '../mailer-queue.ts'
import { LARGE_CONTENT_BYTES } from './large-emails.ts'

const FAST_BYTES_MAX = 100 * 1024 * 1024
const SLOW_BYTES_MAX = 300 * 1024 * 1024

export interface LargeBudget {
  /** Whether the row may begin as far as memory goes. */
  hasRoomFor(row: LeasedRecipient): boolean
  begin(row: LeasedRecipient): LargeUse
}

export interface LargeUse {
  slow(): void
  /** Twice is once. */
  end(): void
}

interface Use {
  readonly tenantId: string
  readonly bytes: number
  /** Counts in the first budget although it is slow. */
  isStuck: boolean
  isMoved: boolean
}

interface TenantBytes {
  fast: number
  slow: number
}

export function createLargeBudget(o: {
  /** Whether the row still waits, and could begin if it fitted. */
  readonly isWaiting: (row: LeasedRecipient) => boolean
}): LargeBudget {
  const tenants = new Map<string, TenantBytes>()
  const stuck = new Set<Use>()
  let fastBytes = 0
  let slowBytes = 0
  let stuckBytes = 0
  let next: LeasedRecipient | undefined

  function hasTenantRoom(row: LeasedRecipient): boolean {
    const own = tenants.get(row.queue.tenantId)
    if (own === undefined) return true
    const share = own.slow > 0 ? SLOW_BYTES_MAX / 8 : FAST_BYTES_MAX / 2
    return own.fast + own.slow + largeBytesOf(row) <= share
  }

  /** Waiting makes sense only for what will move on soon. */
  function canBeNext(row: LeasedRecipient): boolean {
    const willFit = stuckBytes === 0 || stuckBytes + largeBytesOf(row) <= FAST_BYTES_MAX
    return willFit && o.isWaiting(row) && hasTenantRoom(row)
  }

  function count(tenantId: string, fast: number, slow: number): void {
    const own = tenants.get(tenantId) ?? { fast: 0, slow: 0 }
    own.fast += fast
    own.slow += slow
    fastBytes += fast
    slowBytes += slow
    if (own.fast + own.slow > 0) tenants.set(tenantId, own)
    else tenants.delete(tenantId)
  }

  function setStuck(use: Use, isStuck: boolean): void {
    if (use.isStuck === isStuck) return
    use.isStuck = isStuck
    stuckBytes += isStuck ? use.bytes : -use.bytes
    if (isStuck) stuck.add(use)
    else stuck.delete(use)
  }

  function move(use: Use): void {
    const hasRoom = slowBytes === 0 || slowBytes + use.bytes <= SLOW_BYTES_MAX
    setStuck(use, !hasRoom)
    if (!hasRoom) return
    use.isMoved = true
    count(use.tenantId, -use.bytes, use.bytes)
  }

  return {
    hasRoomFor(row) {
      const bytes = largeBytesOf(row)
      if (bytes === 0) return true
      if (!hasTenantRoom(row)) return false
      if (next !== undefined && !canBeNext(next)) next = undefined
      if (next !== undefined && next !== row) return false
      if (fastBytes === 0 || fastBytes + bytes <= FAST_BYTES_MAX) return true
      if (canBeNext(row)) next = row
      return false
    },
    begin(row) {
      const bytes = largeBytesOf(row)
      if (bytes === 0) return NOTHING
      if (next === row) next = undefined
      const { tenantId } = row.queue
      const use: Use = { tenantId, bytes, isStuck: false, isMoved: false }
      let isEnded = false
      count(tenantId, bytes, 0)
      return {
        slow() {
          if (!isEnded && !use.isMoved) move(use)
        },
        end() {
          if (isEnded) return
          isEnded = true
          setStuck(use, false)
          if (use.isMoved) count(tenantId, 0, -bytes)
          else count(tenantId, -bytes, 0)
          for (const one of stuck) move(one)
        },
      }
    },
  }
}

/** 0 for what is not large. */
export function largeBytesOf({ loaded: { claim } }: LeasedRecipient): number {
  if (claim.contentBytes < LARGE_CONTENT_BYTES) return 0
  // A request to a relay provider is a text, and the bytes of that text.
  return isDomainMailer(claim.mailerId) ? claim.contentBytes * 2 : claim.contentBytes
}

const NOTHING: LargeUse = { slow: () => undefined, end: () => undefined }

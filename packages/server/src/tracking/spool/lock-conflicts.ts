/**
 * Whose hits are not tried for a while, as one of them has waited for a lock in vain: of what comes in
 * all of its tenant, whose others may be locked by the same transaction; of what was put off its
 * recipient alone, so that the others are recorded.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Hit } from '../intake/hit.ts'
import { recipientKey } from '../intake/judge-hits.ts'

export interface LockConflicts {
  /** It has waited for a lock alone. */
  block(hit: Hit): void
  /** Those among them whose recipients are still locked delay their tenants. */
  renew(late: readonly Hit[]): void
  isTenantBlocked(hit: Hit): boolean
  isRecipientBlocked(hit: Hit): boolean
  /** All are tried again. */
  forget(): void
}

/** Longer than it takes until what was put off is tried again: otherwise the search would begin anew. */
const TENANT_MS = 12_000
const RECIPIENT_MS = 20_000
const TENANTS_MAX = 1_000
const RECIPIENTS_MAX = 20_000

export function createLockConflicts(nowMs: () => number): LockConflicts {
  /** Until when. */
  const tenants = createBoundedMap<string, number>(TENANTS_MAX)
  const recipients = createBoundedMap<string, number>(RECIPIENTS_MAX)
  const isAhead = (untilMs: number | undefined) => untilMs !== undefined && nowMs() < untilMs
  const isRecipientBlocked = (hit: Hit) => isAhead(recipients.get(recipientKey(hit)))

  function blockTenant({ tenantId }: Hit): void {
    tenants.set(tenantId, nowMs() + TENANT_MS)
  }

  return {
    block(hit) {
      recipients.set(recipientKey(hit), nowMs() + RECIPIENT_MS)
      blockTenant(hit)
    },
    renew(late) {
      for (const hit of late) if (isRecipientBlocked(hit)) blockTenant(hit)
    },
    isTenantBlocked: ({ tenantId }) => isAhead(tenants.get(tenantId)),
    isRecipientBlocked,
    forget() {
      tenants.clear()
      recipients.clear()
    },
  }
}

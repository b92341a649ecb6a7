/** Whether a tenant may put mail into the queue (docs/reference/operator.md#suspension). */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { Limited } from './quotas/decide-quota.ts'
import { readSenders } from './quotas/sender-store.ts'

/** Throws `tenant_suspended`, or `unauthorized` for a tenant that is being deleted. Answers its quotas. */
export async function checkSender(q: Queryable, tenantId: string): Promise<Limited | undefined> {
  const { held, limited } = await readSenders(q, [tenantId])
  const state = held.get(tenantId)
  if (state !== undefined) throw new ApiError(refusalOfState(state))
  return limited.get(tenantId)
}

export function refusalOfState(state: 'suspended' | 'deleting') {
  return state === 'suspended' ? 'tenant_suspended' : 'unauthorized'
}

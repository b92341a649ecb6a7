/** Whether a tenant may put mail into the queue (docs/reference/operator.md#suspension). */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { readSenders } from './sender-store.ts'

/** Throws `tenant_suspended`, or `unauthorized` for a tenant that is being deleted. */
export async function checkSender(q: Queryable, tenantId: string): Promise<void> {
  const state = (await readSenders(q, [tenantId])).held.get(tenantId)
  if (state !== undefined) throw new ApiError(refusalOfState(state))
}

export function refusalOfState(state: 'suspended' | 'deleting') {
  return state === 'suspended' ? 'tenant_suspended' : 'unauthorized'
}

/** Changes a tenant: its name, whether it may send, its quotas (docs/reference/operator.md#suspension). */
import { type Quotas, quotaNames, type Tenant, type UpdateTenantBody } from '@postrider/contract'
import { ApiError } from '../platform/errors.ts'
import { checkName } from './check-name.ts'
import { getTenant } from './get-tenant.ts'
import { startUsage } from './quotas/quota-store.ts'
import { countUsage, recountUsage, type UsageDeps } from './quotas/recount-usage.ts'
import { readSenders } from './quotas/sender-store.ts'
import { lockTenant, storeTenant } from './state-store.ts'

/** Throws `not_found`; `conflict` for a tenant that is being deleted. */
export async function updateTenant(
  deps: UsageDeps,
  tenantId: string,
  change: UpdateTenantBody,
): Promise<Tenant> {
  if (change.name !== undefined) checkName(change.name)
  await deps.db.transaction(async (tx) => {
    const before = await lockTenant(tx, tenantId)
    if (before === undefined) throw new ApiError('not_found')
    if (before.state === 'deleting')
      throw new ApiError('conflict', { message: 'The tenant is being deleted' })
    const quotas = mergeQuotas(before.quotas, change.quotas)
    await storeTenant(tx, tenantId, {
      name: change.name ?? before.name,
      state: change.state ?? before.state,
      quotas,
    })
    if (!hasAny(quotas) || hasAny(before.quotas)) return
    const { now } = await readSenders(tx, [])
    const queuedMax = (quotas.queued_max ?? 0) + 1
    const counted = await countUsage(tx, deps, { tenantId, now, queuedMax })
    await startUsage(tx, tenantId, { ...counted, now })
  })
  // After the commit, from which on acceptance adds to the usage: what was accepted just before it.
  if (change.quotas !== undefined) await recountUsage(deps, tenantId)
  return getTenant(deps, tenantId)
}

/** What is left out stays. */
function mergeQuotas(before: Quotas, change: UpdateTenantBody['quotas']): Quotas {
  if (change === undefined) return before
  const quotaOf = (name: keyof Quotas) => {
    const value = change === null ? null : change[name]
    return value === undefined ? before[name] : value
  }
  return {
    emails_per_second: quotaOf('emails_per_second'),
    emails_per_day: quotaOf('emails_per_day'),
    queued_max: quotaOf('queued_max'),
    storage_bytes_max: quotaOf('storage_bytes_max'),
  }
}

function hasAny(quotas: Quotas): boolean {
  return quotaNames.some((name) => quotas[name] !== null)
}

/** Changes a tenant: its name, whether it may send, its quotas (docs/reference/operator.md#suspension). */
import { type Quotas, quotaNames, type Tenant, type UpdateTenantBody } from '@postrider/contract'
import { ApiError } from '../platform/errors.ts'
import { checkName } from './check-name.ts'
import { getTenant, type TenantDeps } from './get-tenant.ts'
import { lockTenant, storeTenant } from './state-store.ts'

/** Throws `not_found`; `conflict` for a tenant that is being deleted. */
export async function updateTenant(
  deps: TenantDeps,
  tenantId: string,
  change: UpdateTenantBody,
): Promise<Tenant> {
  if (change.name !== undefined) checkName(change.name)
  await deps.db.transaction(async (tx) => {
    const before = await lockTenant(tx, tenantId)
    if (before === undefined) throw new ApiError('not_found')
    if (before.state === 'deleting')
      throw new ApiError('conflict', { message: 'The tenant is being deleted' })
    await storeTenant(tx, tenantId, {
      name: change.name ?? before.name,
      state: change.state ?? before.state,
      quotas: mergeQuotas(before.quotas, change.quotas),
    })
  })
  return getTenant(deps, tenantId)
}

/** What is left out stays. */
function mergeQuotas(before: Quotas, change: UpdateTenantBody['quotas']): Quotas {
  if (change === undefined) return before
  const merged = quotaNames.map((name) => {
    const value = change === null ? null : change[name]
    return [name, value === undefined ? before[name] : value]
  })
  return Object.fromEntries(merged)
}

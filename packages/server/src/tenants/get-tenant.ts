/** Tenants with what they use of their quotas (docs/reference/operator.md#usage). */
import type { PageQuery, Tenant, TenantUsage } from '@postrider/contract'
import { ApiError } from '../platform/errors.ts'
import { pageOfTenants, toWireTenant } from './list-tenants.ts'
import type { CountedUsage } from './quotas/quota-store.ts'
import { countUsage, countUsages, type UsageDeps } from './quotas/recount-usage.ts'
import { readSenders } from './quotas/sender-store.ts'
import { findTenant } from './state-store.ts'

const QUEUED_MAX = 100_000
/** Of each tenant in a list. */
const QUEUED_IN_LIST_MAX = 10_000

/** Throws `not_found`. */
export async function getTenant(deps: UsageDeps, tenantId: string): Promise<Tenant> {
  const [tenant, { now }] = await Promise.all([
    findTenant(deps.db, tenantId),
    readSenders(deps.db, []),
  ])
  if (tenant === undefined) throw new ApiError('not_found')
  const used = await countUsage(deps.db, deps, { tenantId, now, queuedMax: QUEUED_MAX })
  return { ...toWireTenant(tenant), usage: toWireUsage(used) }
}

/** A page of tenants: three statements, however many tenants are on it. */
export async function pageOfTenantsWithUsage(
  deps: UsageDeps,
  query: PageQuery,
): Promise<{ tenants: Tenant[]; readonly nextPageToken?: string }> {
  const [{ tenants, ...token }, { now }] = await Promise.all([
    pageOfTenants(deps, query),
    readSenders(deps.db, []),
  ])
  const tenantIds = tenants.map((tenant) => tenant.tenant_id)
  const used = await countUsages(deps.db, deps, {
    ...{ tenantIds, now, queuedMax: QUEUED_IN_LIST_MAX },
  })
  const withUsage = tenants.flatMap((tenant) => {
    const usage = used.get(tenant.tenant_id)
    return usage === undefined ? [] : [{ ...tenant, usage: toWireUsage(usage) }]
  })
  return { tenants: withUsage, ...token }
}

function toWireUsage({ emailsToday, queued, storageBytes }: CountedUsage): TenantUsage {
  return { emails_today: emailsToday, queued, storage_bytes: storageBytes }
}

/** Tenants with what they use of their quotas (docs/reference/operator.md#usage). */
import type { PageQuery, Tenant, TenantUsage } from '@postrider/contract'
import { readByIndex } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { pageOfTenants, toWireTenant } from './list-tenants.ts'
import { type CountedUsage, readKeptUsage } from './quotas/quota-store.ts'
import {
  countUsage,
  countUsages,
  createUsageCounts,
  type UsageCounts,
  type UsageDeps,
} from './quotas/recount-usage.ts'
import { readSenders } from './quotas/sender-store.ts'
import { findTenant } from './state-store.ts'

const QUEUED_MAX = 100_000
/** Of each tenant in a list. */
const QUEUED_IN_LIST_MAX = 10_000

interface TenantDeps extends UsageDeps {
  /** Of callers that ask often; else each call counts anew. */
  readonly usageCounts?: UsageCounts
}

/** Throws `not_found`. On one connection: the limit of reads at once counts on it. */
export async function getTenant(deps: TenantDeps, tenantId: string): Promise<Tenant> {
  const found = await readByIndex(deps.db, async (tx) => {
    const tenant = await findTenant(tx, tenantId)
    if (tenant === undefined) return undefined
    const { now } = await readSenders(tx, [])
    const used = await countUsage(tx, deps, { tenantId, now, queuedMax: QUEUED_MAX })
    return { tenant, used }
  })
  if (found === undefined) throw new ApiError('not_found')
  const { tenant, used } = found
  const isCut = used.queued >= QUEUED_MAX && (tenant.quotas.queued_max ?? 0) > QUEUED_MAX
  const queued = isCut ? await readLongQueue(deps, tenantId) : used.queued
  return { ...toWireTenant(tenant), usage: toWireUsage({ ...used, queued }) }
}

/** Of a tenant with a quota for it: what acceptance keeps is the most that can wait, and is put right first. */
async function readLongQueue(deps: TenantDeps, tenantId: string): Promise<number> {
  const { usageCounts = createUsageCounts(deps) } = deps
  await usageCounts.freshen(tenantId)
  const kept = await readKeptUsage(deps.db, tenantId)
  return Math.max(QUEUED_MAX, kept?.queued ?? 0)
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

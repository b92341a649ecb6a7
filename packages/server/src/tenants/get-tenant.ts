/** A tenant with what it uses of its quotas (docs/reference/operator.md#usage). */
import type { Tenant } from '@postrider/contract'
import { ApiError } from '../platform/errors.ts'
import { toWireTenant } from './list-tenants.ts'
import { countUsage, type UsageDeps } from './quotas/recount-usage.ts'
import { readSenders } from './quotas/sender-store.ts'
import { findTenant } from './state-store.ts'

const QUEUED_MAX = 100_000

/** Throws `not_found`. */
export async function getTenant(deps: UsageDeps, tenantId: string): Promise<Tenant> {
  const [tenant, { now }] = await Promise.all([
    findTenant(deps.db, tenantId),
    readSenders(deps.db, []),
  ])
  if (tenant === undefined) throw new ApiError('not_found')
  const used = await countUsage(deps.db, deps, { tenantId, now, queuedMax: QUEUED_MAX })
  const usage = {
    emails_today: used.emailsToday,
    queued: used.queued,
    storage_bytes: used.storageBytes,
  }
  return { ...toWireTenant(tenant), usage }
}

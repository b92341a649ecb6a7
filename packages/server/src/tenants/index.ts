/** Tenants and API keys: the front door. */
export { isSoundApiKey, newApiKey } from './api-key.ts'
export { noTenant } from './audit-store.ts'
export { createKeyAuthenticator, type KeyAuthenticator } from './authenticate-key.ts'
export { checkName } from './check-name.ts'
export { checkSender, refusalOfState } from './check-sender.ts'
export { createApiKey } from './create-api-key.ts'
export { type CreatedTenant, createTenant } from './create-tenant.ts'
export { deleteTenant } from './deletion/delete-tenant.ts'
export { ensureFirstTenant } from './ensure-first-tenant.ts'
export { getTenant } from './get-tenant.ts'
export { pageOfApiKeys, pageOfTenants } from './list-tenants.ts'
export { createOperatorAccess } from './operator-access.ts'
export {
  type Charge,
  charged,
  decideQuota,
  isNearEdge,
  type Limited,
  type OverQuota,
  overTests,
} from './quotas/decide-quota.ts'
export { createKnownRefusals } from './quotas/known-refusals.ts'
export { overQuotaError } from './quotas/over-quota-error.ts'
export {
  chargeQueued,
  chargeQuotas,
  collide,
  findUsedQuotas,
  lockUsage,
} from './quotas/quota-store.ts'
export {
  createUsageCounts,
  doTestsFit,
  readTestsLeft,
  type UsageCounts,
  type UsageDeps,
  usageNames,
  usageSubject,
} from './quotas/recount-usage.ts'
export { readSenders, type Senders } from './quotas/sender-store.ts'
export { recordAudit } from './record-audit.ts'
export { revokeApiKey } from './revoke-api-key.ts'
export { findKeyOwner, listTenantIds } from './search-store.ts'
export { findActivatedTenants, findHeldTenants, holdUndeleted } from './state-store.ts'
export { findLiveApiKey, findTenants, hasAnyTenant, hasTenant, isTenantThere } from './store.ts'
export { updateTenant } from './update-tenant.ts'

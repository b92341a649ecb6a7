/** Tenants and API keys: the front door. */
export { isSoundApiKey, newApiKey } from './api-key.ts'
export { createKeyAuthenticator, type KeyAuthenticator } from './authenticate-key.ts'
export { createApiKey } from './create-api-key.ts'
export { type CreatedTenant, createTenant } from './create-tenant.ts'
export { ensureFirstTenant } from './ensure-first-tenant.ts'
export { pageOfApiKeys, pageOfTenants } from './list-tenants.ts'
export { revokeApiKey } from './revoke-api-key.ts'
export { hasAnyTenant, hasTenant } from './store.ts'

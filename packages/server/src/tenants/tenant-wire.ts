/** Tenants and keys as the operator's API shows them (docs/reference/operator.md#tenants-and-keys). */
import type { ApiKey as WireApiKey, Tenant as WireTenant } from '@postrider/contract'
import type { ApiKey, Tenant } from './store.ts'

export function toWireTenant(tenant: Tenant): WireTenant {
  return {
    tenant_id: tenant.tenantId,
    name: tenant.name,
    created_at: tenant.createdAt.toISOString(),
  }
}

export function toWireApiKey(key: ApiKey): WireApiKey {
  return {
    key_id: key.keyId,
    name: key.name,
    scopes: [...key.scopes],
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }
}

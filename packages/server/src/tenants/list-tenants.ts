/** Pages of tenants, and of one tenant's keys: newest first (docs/reference/http.md#lists). */
import type { ApiKey, ListedTenant, ListTenantsQuery, PageQuery } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { listTenants } from './state-store.ts'
import {
  hasTenant,
  listApiKeys,
  type ApiKey as StoredKey,
  type Tenant as StoredTenant,
} from './store.ts'

type WithToken = { readonly nextPageToken?: string }

export async function pageOfTenants(
  deps: { readonly db: Db },
  query: ListTenantsQuery,
): Promise<{ tenants: ListedTenant[] } & WithToken> {
  const page = readPage(query, 'tenants', /^tn_[0-9A-Z]{26}$/)
  const found = await listTenants(deps.db, {
    before: page.before,
    limit: page.limit + 1,
    namePart: query.name,
  })
  const { rows, ...token } = cutPage(found, page, (row) => row.tenantId)
  return { tenants: rows.map(toWireTenant), ...token }
}

export async function pageOfApiKeys(
  deps: { readonly db: Db },
  tenantId: string,
  query: PageQuery,
): Promise<{ keys: ApiKey[] } & WithToken> {
  const page = readPage(query, 'keys', /^key_[0-9A-Z]{26}$/)
  if (!(await hasTenant(deps.db, tenantId))) throw new ApiError('not_found')
  const found = await listApiKeys(deps.db, tenantId, {
    before: page.before,
    limit: page.limit + 1,
  })
  const { rows, ...token } = cutPage(found, page, (row) => row.keyId)
  return { keys: rows.map(toWireApiKey), ...token }
}

/** A tenant as the operator's API shows it (docs/reference/operator.md#tenants-and-keys). */
export function toWireTenant(tenant: StoredTenant): ListedTenant {
  return {
    tenant_id: tenant.tenantId,
    name: tenant.name,
    state: tenant.state,
    quotas: tenant.quotas,
    created_at: tenant.createdAt.toISOString(),
  }
}

/** An API key as it is shown, without the key itself. */
export function toWireApiKey(key: StoredKey): ApiKey {
  return {
    key_id: key.keyId,
    name: key.name,
    mode: key.mode,
    scopes: [...key.scopes],
    networks: [...key.networks],
    created_at: key.createdAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  }
}

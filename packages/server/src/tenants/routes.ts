/** The operator's API: tenants and their keys (docs/reference/operator.md#tenants-and-keys). */
import {
  apiKeyParams,
  createApiKeyAnswer,
  createApiKeyBody,
  createTenantAnswer,
  createTenantBody,
  listApiKeysAnswer,
  listTenantsAnswer,
  pageQuery,
  revokeApiKeyAnswer,
  tenantParams,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { addOperation } from '../platform/http/operation.ts'
import type { KeyAuthenticator } from './authenticate-key.ts'
import { createApiKey } from './create-api-key.ts'
import { createTenant } from './create-tenant.ts'
import { pageOfApiKeys, pageOfTenants } from './list-tenants.ts'
import { revokeApiKey } from './revoke-api-key.ts'

export interface TenantRoutesDeps {
  readonly db: Db
  readonly clock: Clock
  readonly authenticator: KeyAuthenticator
}

export function tenantRoutes(app: FastifyInstance, deps: TenantRoutesDeps): void {
  addOperation(app, 'createTenant', {
    summary: 'Create a tenant and its first API key',
    tag: 'Administration',
    body: createTenantBody,
    answer: createTenantAnswer,
    async handle({ body }) {
      const { tenantId, keyId, apiKey } = await createTenant(deps, body)
      return { message: 'Tenant Created', tenant_id: tenantId, key_id: keyId, api_key: apiKey }
    },
  })

  addOperation(app, 'listTenants', {
    summary: 'List the tenants',
    tag: 'Administration',
    query: pageQuery,
    answer: listTenantsAnswer,
    async handle({ query }) {
      return { message: 'Tenants', ...(await pageOfTenants(deps, query)) }
    },
  })

  addOperation(app, 'createApiKey', {
    summary: 'Create a further API key of a tenant',
    tag: 'Administration',
    params: tenantParams,
    body: createApiKeyBody,
    answer: createApiKeyAnswer,
    async handle({ params, body }) {
      const { keyId, apiKey } = await createApiKey(deps, params.tenant_id, body)
      return { message: 'API Key Created', key_id: keyId, api_key: apiKey }
    },
  })

  addOperation(app, 'listApiKeys', {
    summary: "List a tenant's API keys, without the keys themselves",
    tag: 'Administration',
    params: tenantParams,
    query: pageQuery,
    answer: listApiKeysAnswer,
    async handle({ params, query }) {
      return { message: 'API Keys', ...(await pageOfApiKeys(deps, params.tenant_id, query)) }
    },
  })

  addOperation(app, 'revokeApiKey', {
    summary: 'Revoke an API key',
    tag: 'Administration',
    params: apiKeyParams,
    answer: revokeApiKeyAnswer,
    async handle({ params }) {
      await revokeApiKey(deps, params.key_id)
      return { message: 'API Key Revoked' }
    },
  })
}

/**
 * The operator's API: tenants and their keys (docs/reference/operator.md#tenants-and-keys). A tenant's own
 * keys and its audit log (docs/reference/operator.md#keys-of-a-tenant).
 */
import {
  apiKeyParams,
  createApiKeyAnswer,
  createApiKeyBody,
  createKeyAnswer,
  createKeyBody,
  createTenantAnswer,
  createTenantBody,
  deleteTenantAnswer,
  deleteTenantQuery,
  getTenantAnswer,
  listApiKeysAnswer,
  listApiKeysQuery,
  listAuditAnswer,
  listAuditOfAllTenantsAnswer,
  listAuditOfAllTenantsQuery,
  listAuditQuery,
  listKeysAnswer,
  listKeysQuery,
  listTenantsAnswer,
  listTenantsQuery,
  revokeApiKeyAnswer,
  revokeKeyAnswer,
  tenantParams,
  updateTenantAnswer,
  updateTenantBody,
} from '@postrider/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../platform/clock.ts'
import { addOperation } from '../platform/http/operation.ts'
import { scopesOf } from '../platform/http/sessions/decide-permission.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { KeyAuthenticator } from './authenticate-key.ts'
import { createApiKey, type KeyMaker } from './create-api-key.ts'
import { createTenant } from './create-tenant.ts'
import { deleteTenant } from './deletion/delete-tenant.ts'
import { getTenant, pageOfTenantsWithUsage } from './get-tenant.ts'
import { pageOfAllAudit, pageOfAudit } from './list-audit.ts'
import { pageOfApiKeys, toWireApiKey } from './list-tenants.ts'
import type { UsageDeps } from './quotas/recount-usage.ts'
import { revokeApiKey } from './revoke-api-key.ts'
import { updateTenant } from './update-tenant.ts'

export interface TenantRoutesDeps extends UsageDeps {
  readonly clock: Clock
  readonly authenticator: KeyAuthenticator
  /** A tenant is to be deleted. */
  readonly wakeDeletions: () => void
}

export function tenantRoutes(app: FastifyInstance, deps: TenantRoutesDeps): void {
  keyRoutes(app, deps)
  operatorsTenantRoutes(app, deps)
  operatorsKeyRoutes(app, deps)
}

function operatorsTenantRoutes(app: FastifyInstance, deps: TenantRoutesDeps): void {
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
    summary: 'List the tenants, with their states, quotas and usage',
    tag: 'Administration',
    query: listTenantsQuery,
    answer: listTenantsAnswer,
    async handle({ query }) {
      return { message: 'Tenants', ...(await pageOfTenantsWithUsage(deps, query)) }
    },
  })

  addOperation(app, 'getTenant', {
    summary: 'Get a tenant, with its state, quotas and usage',
    tag: 'Administration',
    params: tenantParams,
    answer: getTenantAnswer,
    async handle({ params }) {
      return { message: 'Tenant', tenant: await getTenant(deps, params.tenant_id) }
    },
  })

  addOperation(app, 'updateTenant', {
    summary: 'Rename, suspend or activate a tenant, or change its quotas',
    description:
      'What you leave out stays. Processes that send learn of a new state within a second or two.',
    tag: 'Administration',
    params: tenantParams,
    body: updateTenantBody,
    answer: updateTenantAnswer,
    errors: ['conflict'],
    async handle({ params, body, request }) {
      const tenant = await updateTenant(deps, params.tenant_id, body, (changes) => {
        request.changes = changes
      })
      return { message: 'Tenant Updated', tenant }
    },
  })

  addOperation(app, 'deleteTenant', {
    summary: 'Delete a tenant with everything that it has',
    description:
      'Its keys are gone at once, and it sends nothing more. Its webhooks, its mail and all other rows are removed within 24 hours, most of them within minutes; until then getTenant shows it as `deleting`. May be repeated. It cannot be undone.',
    tag: 'Administration',
    params: tenantParams,
    query: deleteTenantQuery,
    answer: deleteTenantAnswer,
    async handle({ params, query }) {
      const tenant = await deleteTenant(deps, params.tenant_id, query.confirm)
      deps.authenticator.forgetTenant(params.tenant_id)
      deps.wakeDeletions()
      return { message: 'Tenant Is Being Deleted', tenant }
    },
  })
}

function operatorsKeyRoutes(app: FastifyInstance, deps: TenantRoutesDeps): void {
  addOperation(app, 'createApiKey', {
    summary: 'Create a further API key of a tenant',
    tag: 'Administration',
    params: tenantParams,
    body: createApiKeyBody,
    answer: createApiKeyAnswer,
    async handle({ params, body, request }) {
      const maker = makerOf(request)
      const { keyId, apiKey } = await createApiKey(deps, params.tenant_id, body, maker)
      return { message: 'API Key Created', key_id: keyId, api_key: apiKey }
    },
  })

  addOperation(app, 'listApiKeys', {
    summary: "List a tenant's API keys, without the keys themselves",
    tag: 'Administration',
    params: tenantParams,
    query: listApiKeysQuery,
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

  addOperation(app, 'listAuditOfAllTenants', {
    summary: 'List what was changed for tenants, and by whom',
    description:
      'With logins and commands. Newest first, for as long as entries are kept (`POSTRIDER_AUDIT_RETENTION`).',
    tag: 'Administration',
    query: listAuditOfAllTenantsQuery,
    answer: listAuditOfAllTenantsAnswer,
    async handle({ query }) {
      return { message: 'Audit Log', ...(await pageOfAllAudit(deps, query)) }
    },
  })
}

/** Undefined for the holder of the operator's token. */
function makerOf({ identity, isOperators, person }: FastifyRequest): KeyMaker | undefined {
  if (person?.operatorRole !== undefined)
    return { scopes: scopesOf({ role: person.operatorRole, content: person.content }) }
  if (isOperators || identity === undefined) return undefined
  return person === undefined ? { keyId: identity.keyId } : { scopes: identity.scopes }
}

const KEYS_TAG = 'Keys'
/** Of one tenant: a key that was revoked keeps its row. */
const KEYS_CREATED = { usesMax: 60, windowS: 3600 } as const

function keyRoutes(app: FastifyInstance, deps: TenantRoutesDeps): void {
  const creations = createRateLimit({ name: 'keys-created', ...KEYS_CREATED })
  addOperation(app, 'listKeys', {
    summary: 'List your API keys, without the keys themselves',
    tag: KEYS_TAG,
    query: listKeysQuery,
    answer: listKeysAnswer,
    scopes: ['keys'],
    async handle({ tenant: { tenantId }, query }) {
      return { message: 'API Keys', ...(await pageOfApiKeys(deps, tenantId, query)) }
    },
  })

  addOperation(app, 'createKey', {
    summary: 'Create an API key',
    description:
      'The key is shown once. A key makes keys of at most its own scopes, networks and expiry: what you leave out is taken over from the key that makes it, and more than that is 403.',
    tag: KEYS_TAG,
    body: createKeyBody,
    answer: createKeyAnswer,
    scopes: ['keys'],
    errors: ['conflict', 'rate_limited'],
    isAudited: true,
    async handle({ tenant: { tenantId }, body, request }) {
      await creations.use(tenantId)
      const { keyId, apiKey, key } = await createApiKey(deps, tenantId, body, makerOf(request))
      return {
        message: 'API Key Created',
        key_id: keyId,
        api_key: apiKey,
        key: toWireApiKey(key),
      }
    },
  })

  addOperation(app, 'revokeKey', {
    summary: 'Revoke an API key',
    description: 'It opens nothing from now on; other processes know within two seconds.',
    tag: KEYS_TAG,
    params: apiKeyParams,
    answer: revokeKeyAnswer,
    scopes: ['keys'],
    isAudited: true,
    async handle({ tenant: { tenantId }, params }) {
      await revokeApiKey(deps, params.key_id, { tenantId })
      return { message: 'API Key Revoked' }
    },
  })

  addOperation(app, 'listAudit', {
    summary: 'List what was changed in your account, and by whom',
    description:
      'What the operator and people changed for you, what your keys changed of your keys and members, and logins of your members: newest first, for as long as entries are kept (`POSTRIDER_AUDIT_RETENTION`).',
    tag: KEYS_TAG,
    query: listAuditQuery,
    answer: listAuditAnswer,
    scopes: ['keys'],
    async handle({ tenant: { tenantId }, query }) {
      return { message: 'Audit Log', ...(await pageOfAudit(deps, tenantId, query)) }
    },
  })
}

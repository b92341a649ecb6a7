/**
 * Bodies and answers of the operator's API under `/admin/v1` (docs/reference/operator.md#tenants-and-keys).
 *
 * An API key is shown once, in the answer that creates it.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  nextPageToken,
  orNull,
  pageQuery,
  plainAnswer,
  stringOrNull,
  timeOrDate,
  timestamp,
  timestampOrNull,
} from './common.ts'

export const tenantNameLengthMax = 200
export const apiKeyNameLengthMax = 200

/** What a key may do. A key without scopes may do everything. */
export const apiKeyScopes = ['send', 'webhooks', 'mailers', 'read', 'content', 'keys'] as const
export type ApiKeyScope = (typeof apiKeyScopes)[number]

const tenantName = Type.String({
  minLength: 1,
  maxLength: tenantNameLengthMax,
  description: 'Name of the tenant, for people',
})
const tenantId = Type.String({ description: 'Identifier of the tenant' })
const keyId = Type.String({ description: 'Identifier of the key' })
const scopes = Type.Array(Type.Enum([...apiKeyScopes]), {
  uniqueItems: true,
  description:
    '`send`: sendEmail, rescueEmails, retryEmails, cancelEmails, and who must not be sent to. `webhooks`, `mailers`: every operation on them. `read`: every operation that only reads, but for the content of mail. `content`: the content of mail. `keys`: the keys of the tenant, and its audit log. Empty: everything. Leave it out for such a key',
})

export const keyNetworksMax = 50
/** Of one tenant, that are neither revoked nor expired. The operator may make more. */
export const keysMax = 1_000

const networks = Type.Array(Type.String({ minLength: 2, maxLength: 49 }), {
  maxItems: keyNetworksMax,
  uniqueItems: true,
  description:
    'Networks as CIDR (`203.0.113.0/24`, `2001:db8::/32`) or single addresses. From elsewhere the key gets 403. Empty: from everywhere',
})

export const createTenantBody = closedObject({ name: tenantName })
export type CreateTenantBody = Static<typeof createTenantBody>

export const createTenantAnswer = answer({
  tenant_id: tenantId,
  key_id: keyId,
  api_key: Type.String({ description: 'Shown once' }),
})
export type CreateTenantAnswer = Static<typeof createTenantAnswer>

/** What the operator may set. `deleting` is the result of deleteTenant. */
export const tenantStates = ['active', 'suspended'] as const
export type TenantState = (typeof tenantStates)[number] | 'deleting'

/** What becomes of the mail that a key sends (docs/reference/test-mode.md#keys-of-test-mode). */
export const keyModes = ['live', 'test'] as const
export type KeyMode = (typeof keyModes)[number]

/** Recipients of test mail that a tenant may have in one day (UTC). It counts in none of its quotas. */
export const testEmailsPerDayMax = 10_000

/** In the order in which sendEmail checks them (docs/reference/operator.md#usage). */
export const quotaNames = [
  'storage_bytes_max',
  'queued_max',
  'emails_per_day',
  'emails_per_second',
] as const
export type QuotaName = (typeof quotaNames)[number]

const quotaDescriptions: Record<QuotaName, string> = {
  emails_per_second: 'Recipients whose mail is accepted within one second of the clock',
  emails_per_day: 'Recipients whose mail is accepted within one day (UTC)',
  queued_max: 'Recipients that wait at once: in the queue, and for their `send_at`',
  storage_bytes_max: 'Bytes of accepted emails that are kept',
}

/** PostgreSQL stores it exactly, and so does JSON. */
const quotaMax = Number.MAX_SAFE_INTEGER
const emailsPerSecondMax = 1_000_000_000

function quotaOf(name: QuotaName) {
  return orNull(
    Type.Integer({
      minimum: 0,
      maximum: name === 'emails_per_second' ? emailsPerSecondMax : quotaMax,
      description: `${quotaDescriptions[name]}. null: no quota`,
    }),
  )
}

export const quotas = closedObject(
  {
    emails_per_second: quotaOf('emails_per_second'),
    emails_per_day: quotaOf('emails_per_day'),
    queued_max: quotaOf('queued_max'),
    storage_bytes_max: quotaOf('storage_bytes_max'),
  },
  { description: 'Limits of a tenant. Beyond one of them sendEmail is 429 `quota_exceeded`' },
)
export type Quotas = Static<typeof quotas>

export const tenantState = Type.Enum([...tenantStates, 'deleting'], {
  description:
    '`suspended`: sends nothing, and its waiting mail is held. `deleting`: its keys are gone, and everything that it has is being removed',
})

const listedTenantFields = {
  tenant_id: tenantId,
  name: Type.String({ description: 'For people' }),
  state: tenantState,
  quotas,
  created_at: timestamp('When it was created'),
}
export const listedTenant = closedObject(listedTenantFields)
export type ListedTenant = Static<typeof listedTenant>

export const tenantUsage = closedObject(
  {
    emails_today: Type.Integer({
      minimum: 0,
      description: 'Recipients whose mail was accepted today (UTC), without suppressed ones',
    }),
    queued: Type.Integer({
      minimum: 0,
      description:
        'Recipients that wait, also for their `send_at`. Counted up to 100,000, in a list up to 10,000, and further where `queued_max` is larger: then it may be a few seconds old',
    }),
    storage_bytes: Type.Integer({
      minimum: 0,
      description: 'About how many bytes its accepted emails take, as long as they are kept',
    }),
  },
  { description: 'What the tenant uses of its quotas' },
)
export type TenantUsage = Static<typeof tenantUsage>

export const tenant = closedObject({ ...listedTenantFields, usage: tenantUsage })
export type Tenant = Static<typeof tenant>

export const getUsageAnswer = answer({ quotas, usage: tenantUsage })
export type GetUsageAnswer = Static<typeof getUsageAnswer>

export const listTenantsQuery = closedObject({
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: tenantNameLengthMax,
      description: 'Only those whose name has this in it, whatever the case',
      examples: ['shop'],
    }),
  ),
  ...pageQuery.properties,
})
export type ListTenantsQuery = Static<typeof listTenantsQuery>

export const listTenantsAnswer = answer({
  tenants: Type.Array(tenant, { description: 'Newest first' }),
  nextPageToken,
})
export type ListTenantsAnswer = Static<typeof listTenantsAnswer>

export const tenantParams = closedObject({
  tenant_id: Type.String({ maxLength: 64 }),
})
export type TenantParams = Static<typeof tenantParams>

export const getTenantAnswer = answer({ tenant })
export type GetTenantAnswer = Static<typeof getTenantAnswer>

export const updateTenantBody = changes({
  name: Type.Optional(tenantName),
  state: Type.Optional(
    Type.Enum([...tenantStates], {
      description:
        '`suspended`: sending is 403 `tenant_suspended`, and waiting mail is held until the tenant is `active` again',
    }),
  ),
  quotas: Type.Optional(
    orNull(
      changes(
        {
          emails_per_second: Type.Optional(quotaOf('emails_per_second')),
          emails_per_day: Type.Optional(quotaOf('emails_per_day')),
          queued_max: Type.Optional(quotaOf('queued_max')),
          storage_bytes_max: Type.Optional(quotaOf('storage_bytes_max')),
        },
        { description: 'What is left out stays; null removes a quota. null here removes all' },
      ),
    ),
  ),
})
export type UpdateTenantBody = Static<typeof updateTenantBody>

export const deleteTenantQuery = closedObject({
  confirm: Type.String({
    minLength: 1,
    maxLength: tenantNameLengthMax,
    description: 'The name of the tenant, so that no other one is deleted by mistake',
  }),
})
export type DeleteTenantQuery = Static<typeof deleteTenantQuery>

export const deleteTenantAnswer = answer({ tenant: listedTenant })
export type DeleteTenantAnswer = Static<typeof deleteTenantAnswer>

export const updateTenantAnswer = answer({ tenant })
export type UpdateTenantAnswer = Static<typeof updateTenantAnswer>

export const createApiKeyBody = closedObject({
  name: Type.Optional(
    Type.String({ minLength: 1, maxLength: apiKeyNameLengthMax, description: 'Name, for people' }),
  ),
  scopes: Type.Optional(scopes),
  expires_at: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'RFC 3339, in the future',
    }),
  ),
  networks: Type.Optional(networks),
  mode: Type.Optional(
    Type.Enum([...keyModes], {
      description:
        '`test`: what the key sends is checked and recorded like any other mail, and sent to nobody. Such a key reads, and changes nothing else. Left out: `live`',
    }),
  ),
})
export type CreateApiKeyBody = Static<typeof createApiKeyBody>

export const createApiKeyAnswer = answer({
  key_id: keyId,
  api_key: Type.String({ description: 'Shown once' }),
})
export type CreateApiKeyAnswer = Static<typeof createApiKeyAnswer>

export const apiKey = closedObject({
  key_id: keyId,
  name: stringOrNull('Name, for people'),
  mode: Type.Enum([...keyModes], {
    description: '`test`: what it sends goes to nobody',
  }),
  scopes,
  networks,
  created_at: timestamp('When it was created'),
  last_used_at: timestampOrNull('To the hour. null: never'),
  expires_at: timestampOrNull('null: never'),
  revoked_at: timestampOrNull('null: not revoked'),
})
export type ApiKey = Static<typeof apiKey>

export const listApiKeysQuery = pageQuery
export type ListApiKeysQuery = Static<typeof listApiKeysQuery>

export const listApiKeysAnswer = answer({
  keys: Type.Array(apiKey, { description: 'Newest first' }),
  nextPageToken,
})
export type ListApiKeysAnswer = Static<typeof listApiKeysAnswer>

export const apiKeyParams = closedObject({
  key_id: Type.String({ maxLength: 64 }),
})
export type ApiKeyParams = Static<typeof apiKeyParams>

export const revokeApiKeyAnswer = plainAnswer
export type RevokeApiKeyAnswer = Static<typeof revokeApiKeyAnswer>

export const listKeysQuery = pageQuery
export type ListKeysQuery = Static<typeof listKeysQuery>

export const listKeysAnswer = answer({
  keys: Type.Array(apiKey, { description: 'Newest first' }),
  nextPageToken,
})
export type ListKeysAnswer = Static<typeof listKeysAnswer>

export const revokeKeyAnswer = revokeApiKeyAnswer
export type RevokeKeyAnswer = Static<typeof revokeKeyAnswer>

/** The tenant's own key operations (docs/reference/operator.md#keys-of-a-tenant). */
export const createKeyBody = closedObject({
  ...createApiKeyBody.properties,
  name: Type.String({ minLength: 1, maxLength: apiKeyNameLengthMax, description: 'For people' }),
})
export type CreateKeyBody = Static<typeof createKeyBody>

export const createKeyAnswer = answer({
  key_id: keyId,
  api_key: Type.String({ description: 'Shown once' }),
  key: apiKey,
})
export type CreateKeyAnswer = Static<typeof createKeyAnswer>

const valueBefore = (description: string) =>
  Type.Unsafe<string | number | null>({ type: ['string', 'integer', 'null'], description })
export const auditedChange = closedObject(
  {
    path: Type.String({
      description: 'Where it stands in the body of updateTenant',
      examples: ['/quotas/emails_per_day'],
    }),
    before: valueBefore('What it was. null: no quota'),
    after: valueBefore('What it is since then. null: no quota'),
  },
  { description: 'A setting that a call changed' },
)
export type AuditedChange = Static<typeof auditedChange>

const auditFields = {
  at: timestamp('When it began'),
  actor: Type.String({
    description:
      '`operator`, or the id of a user or of an API key. `cli`: a command. `oidc`: the role claim of a login by OIDC. `nobody`: a login that failed',
  }),
  operation: Type.String({
    description:
      'Its name in this description. `GET /ui/oidc/callback`: a login by OIDC. `user invite`, `secrets rotate`, `suppression review`: these commands',
  }),
  target: stringOrNull(
    'What it changed: ids of its path, and the id of what it made. Of a login that failed: the user',
  ),
  from: Type.String({ description: "The caller's address. Of a command, the name of its host" }),
  status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'The status of the answer. null: the process ended before it answered',
  }),
  changes: Type.Union([Type.Array(auditedChange), Type.Null()], {
    description: 'What updateTenant changed. null: of other operations, which do not tell',
  }),
  request_id: Type.String({ description: 'The `request_id` of the answer' }),
}
export const auditEntry = closedObject(auditFields, {
  description: 'A change of an account: who made it, from where, and how it ended',
})
export type AuditEntry = Static<typeof auditEntry>

const auditFilter = (description: string, example: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 320, description, examples: [example] }))
export const listAuditQuery = closedObject({
  operation: auditFilter('Only of this operation or command', 'updateTenant'),
  actor: auditFilter('Only by this actor: an id, or a name such as `operator`', 'operator'),
  target: auditFilter(
    'Only with this target: one of its ids, or all of it',
    'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  ),
  start: Type.Optional(timeOrDate('Began at this time or later')),
  end: Type.Optional(timeOrDate('Began at this time or earlier')),
  ...pageQuery.properties,
})
export type ListAuditQuery = Static<typeof listAuditQuery>

const entriesOrder =
  'Newest first. With filters a page may have fewer than `pageSize` entries, even none, while there is a `nextPageToken`. It looks at a bounded number of entries'
export const listAuditAnswer = answer({
  entries: Type.Array(auditEntry, { description: entriesOrder }),
  nextPageToken,
})
export type ListAuditAnswer = Static<typeof listAuditAnswer>

export const tenantAuditEntry = closedObject(
  {
    ...auditFields,
    tenant_id: stringOrNull('Identifier of the tenant. null: a change under `/admin/v1`'),
  },
  { description: 'An entry of the audit log, with the account that it is about' },
)
export type TenantAuditEntry = Static<typeof tenantAuditEntry>

export const listAuditOfAllTenantsQuery = closedObject({ ...listAuditQuery.properties })
export type ListAuditOfAllTenantsQuery = Static<typeof listAuditOfAllTenantsQuery>

export const listAuditOfAllTenantsAnswer = answer({
  entries: Type.Array(tenantAuditEntry, { description: entriesOrder }),
  nextPageToken,
})
export type ListAuditOfAllTenantsAnswer = Static<typeof listAuditOfAllTenantsAnswer>

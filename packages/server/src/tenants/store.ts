/**
 * All SQL of tenants. These are the operator's tables: a statement without a tenant is one that
 * finds the tenant (by key) or lists all of them.
 */
import type { ApiKeyScope, KeyMode, Quotas, TenantState } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'

export interface Tenant {
  readonly tenantId: string
  readonly name: string
  readonly state: TenantState
  readonly quotas: Quotas
  readonly createdAt: Date
}

export interface ApiKey {
  readonly keyId: string
  readonly tenantId: string
  readonly name: string | null
  readonly mode: KeyMode
  readonly scopes: readonly ApiKeyScope[]
  /** Canonical CIDRs. Empty: from everywhere. */
  readonly networks: readonly string[]
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
}

export interface NewApiKey {
  readonly keyId: string
  readonly tenantId: string
  readonly keyHash: Buffer
  readonly name: string | undefined
  readonly mode: KeyMode
  readonly scopes: readonly ApiKeyScope[]
  readonly networks: readonly string[]
  readonly expiresAt: Date | undefined
}

export async function insertTenant(tx: Tx, tenantId: string, name: string): Promise<void> {
  await tx.query('insert into tenants_tenant (tenant_id, name) values ($1, $2)', [tenantId, name])
}

/** Until the transaction ends nobody else creates one, so "there is none" stays true. */
export async function lockTenants(tx: Tx): Promise<{ readonly isEmpty: boolean }> {
  await tx.query('lock table tenants_tenant in share row exclusive mode')
  const { rows } = await tx.query('select from tenants_tenant limit 1')
  return { isEmpty: rows.length === 0 }
}

export async function hasAnyTenant(q: Queryable): Promise<boolean> {
  const { rows } = await q.query('select from tenants_tenant limit 1')
  return rows.length > 0
}

/** One that is being deleted is none any more. */
export async function hasTenant(q: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await q.query(
    `select from tenants_tenant where tenant_id = $1 and state <> 'deleting'`,
    [tenantId],
  )
  return rows.length > 0
}

/** SQL: as `hasTenant`, of the tenant in a column of another capability's statement. */
export function isTenantThere(column: string): string {
  // By the key of each, whatever the statistics: an `exists` may be planned as a look at all tenants.
  return `(select t.state from tenants_tenant t where t.tenant_id = ${column}) <> 'deleting'`
}

/** By id. Those that do not exist are left out. */
export async function findTenants(
  q: Queryable,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, Pick<Tenant, 'name' | 'state'>>> {
  const { rows } = await q.query<Pick<Tenant, 'tenantId' | 'name' | 'state'>>(
    `select tenant_id as "tenantId", name, state from tenants_tenant
      where tenant_id = any($1::text[])`,
    [tenantIds],
  )
  return new Map(rows.map((row) => [row.tenantId, row]))
}

const COLUMNS = `key_id as "keyId", tenant_id as "tenantId", name, mode, scopes, networks::text[] as networks,
  created_at as "createdAt", last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt"`

const IS_LIVE = 'revoked_at is null and (expires_at is null or expires_at > now())'

/** Undefined when there is no such tenant. */
export async function insertApiKey(q: Queryable, key: NewApiKey): Promise<ApiKey | undefined> {
  const { rows } = await q.query<ApiKey>(
    `insert into tenants_api_key (key_id, tenant_id, key_hash, name, scopes, expires_at, networks, mode)
     select $1, tenant_id, $3, $4, $5, $6, $7::cidr[], $8 from tenants_tenant
      where tenant_id = $2 and state <> 'deleting'
     returning ${COLUMNS}`,
    [
      key.keyId,
      key.tenantId,
      key.keyHash,
      key.name ?? null,
      [...key.scopes],
      key.expiresAt ?? null,
      [...key.networks],
      key.mode,
    ],
  )
  return rows[0]
}

const FIND_BY_HASH = statement(
  'tenants.find_keys',
  `select ${COLUMNS}, encode(key_hash, 'hex') as "hash" from tenants_api_key
   where key_hash = any($1::bytea[])`,
)

/** In the order of the hashes. */
export async function findApiKeysByHash(
  q: Queryable,
  hashes: readonly Buffer[],
): Promise<(ApiKey | undefined)[]> {
  const { rows } = await q.query<ApiKey & { readonly hash: string }>(FIND_BY_HASH, [hashes])
  const found = new Map(rows.map(({ hash, ...key }) => [hash, key]))
  return hashes.map((hash) => found.get(hash.toString('hex')))
}

export async function listApiKeys(
  q: Queryable,
  tenantId: string,
  o: { readonly before: string | undefined; readonly limit: number },
): Promise<ApiKey[]> {
  const { rows } = await q.query<ApiKey>(
    `select ${COLUMNS} from tenants_api_key
     where tenant_id = $1 and ($2::text is null or key_id < $2) order by key_id desc limit $3`,
    [tenantId, o.before ?? null, o.limit],
  )
  return rows
}

/** Undefined also for one that was revoked or has expired. */
export async function findLiveApiKey(
  q: Queryable,
  tenantId: string,
  keyId: string,
): Promise<ApiKey | undefined> {
  const { rows } = await q.query<ApiKey>(
    `select ${COLUMNS} from tenants_api_key
      where tenant_id = $1 and key_id = $2 and ${IS_LIVE}`,
    [tenantId, keyId],
  )
  return rows[0]
}

/** Those that are neither revoked nor expired; counts no further than `max`. */
export async function countLiveApiKeys(q: Queryable, tenantId: string, max: number) {
  const { rows } = await q.query<{ readonly count: number }>(
    `select count(*)::int as count from (
       select from tenants_api_key
        where tenant_id = $1 and ${IS_LIVE} limit $2) live`,
    [tenantId, max],
  )
  return rows[0]?.count ?? 0
}

/** Writes the hour down, unless it is there. */
export async function markApiKeyUsed(q: Queryable, keyId: string): Promise<void> {
  await q.query(
    `update tenants_api_key set last_used_at = date_trunc('hour', now())
      where key_id = $1 and (last_used_at is null or last_used_at < date_trunc('hour', now()))`,
    [keyId],
  )
}

/**
 * False when there is no such key. A key that was revoked before keeps its time.
 *
 * @param tenantId of whom the key must be; undefined: of anyone
 */
export async function revokeApiKey(
  q: Queryable,
  keyId: string,
  tenantId: string | undefined,
): Promise<boolean> {
  const { rowCount } = await q.query(
    `update tenants_api_key set revoked_at = coalesce(revoked_at, now())
      where key_id = $1 and ($2::text is null or tenant_id = $2)`,
    [keyId, tenantId ?? null],
  )
  return rowCount === 1
}

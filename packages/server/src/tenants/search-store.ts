/** Tenants and keys, found by the operator. Over all tenants. */
import { type Queryable, statement } from '../platform/db/index.ts'

const LIST_IDS = statement(
  'tenants.list_ids',
  'select tenant_id as "tenantId" from tenants_tenant order by tenant_id desc limit $1',
)

/** The newest first. */
export async function listTenantIds(q: Queryable, limit: number): Promise<string[]> {
  const { rows } = await q.query<{ tenantId: string }>(LIST_IDS, [limit])
  return rows.map(({ tenantId }) => tenantId)
}

const FIND_KEY = statement(
  'tenants.find_key_owner',
  'select tenant_id as "tenantId", key_id as id from tenants_api_key where key_id = $1',
)

/** Whose key it is, also when it was revoked. */
export async function findKeyOwner(
  q: Queryable,
  keyId: string,
): Promise<{ readonly tenantId: string; readonly id: string }[]> {
  return (await q.query<{ tenantId: string; id: string }>(FIND_KEY, [keyId])).rows
}

/**
 * A look for one thing over all tenants, for the operator: one index probe for each tenant. The statement reads
 * at most `limit` rows of a tenant, and stops at `limit` rows in all.
 */
import { type Queryable, statement } from './statement.ts'

export interface FoundOfTenant {
  readonly tenantId: string
  readonly id: string
}

export type SearchTenants = (
  q: Queryable,
  o: {
    readonly tenantIds: readonly string[]
    /** What `$2` of the condition is. */
    readonly value: string
    /** What `$4` is, such as a day, where the condition has one. */
    readonly bound?: string
    readonly limit: number
  },
) => Promise<FoundOfTenant[]>

/** @param o.where beside the tenant; by an index that begins with the tenant, or with a hash that holds it */
export function searchTenants(o: {
  readonly name: string
  readonly table: string
  readonly id: string
  readonly where: string
}): SearchTenants {
  const bound = o.where.includes('$4')
  const search = statement(
    o.name,
    `select k.tenant_id as "tenantId", f.id
       from unnest($1::text[]) as k (tenant_id)
      cross join lateral (
        select ${o.id} as id from ${o.table} t
         where t.tenant_id = k.tenant_id and ${o.where} limit $3) f
      limit $3`,
  )
  return async (q, { tenantIds, value, bound: given, limit }) => {
    const values = [tenantIds, value, limit, ...(bound ? [given] : [])]
    return (await q.query<FoundOfTenant>(search, values)).rows
  }
}

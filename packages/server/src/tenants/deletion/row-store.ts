/**
 * SQL that removes the rows of one tenant from a table of any capability: composition hands the names of the
 * tables in (tenant-tables.ts). Each statement names the tenant, and removes a bounded number of rows.
 */
import type { Queryable } from '../../platform/db/index.ts'

/** The table itself, or its partitions. */
export async function listLeaves(q: Queryable, table: string): Promise<string[]> {
  const { rows } = await q.query<{ name: string }>(
    `select coalesce(leaf.relid, parent)::regclass::text as name
       from (select $1::regclass) p (parent)
       left join pg_partition_tree(parent) as leaf on true
      where leaf.isleaf is not false`,
    [table],
  )
  return rows.map(({ name }) => name)
}

/**
 * Answers how many went. By their places, so that no plan reads more than these; a row that moves meanwhile is left
 * to the next call.
 *
 * @param leaf as `listLeaves` names it
 */
export async function deleteRows(
  q: Queryable,
  leaf: string,
  tenantId: string,
  limit: number,
): Promise<number> {
  const { rowCount } = await q.query(
    `delete from ${leaf} where tenant_id = $1
        and ctid = any(array(select ctid from ${leaf} where tenant_id = $1 limit $2))`,
    [tenantId, limit],
  )
  return rowCount
}

/**
 * Empties tables between the tests of a file.
 *
 * TRUNCATE makes new files for each table, partition and index, even for empty ones: up to a second for
 * the tables of sending and their day partitions. Here only tables that hold pages are touched. Rows are
 * deleted, in one statement, so that foreign keys among the tables hold. A table of more than 64 kB is
 * truncated, unless a foreign key leads to it: statements become slow among many deleted rows. Tests that
 * look at plans or at sizes of tables truncate for themselves.
 */
import type { Queryable } from '../src/platform/db/index.ts'

const DELETED_BYTES_MAX = 64 * 1024

export async function emptyTables(db: Queryable, ...tables: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ name: string; is_large: boolean }>(
    `with part as (
       select coalesce(leaf.relid, parent) as id
         from unnest($1::regclass[]) as parent left join pg_partition_tree(parent) as leaf on true
        where leaf.isleaf is not false)
     select id::text as name,
            pg_relation_size(id) > $2
              and not exists (select from pg_constraint where confrelid = id) as is_large
       from part where pg_relation_size(id) > 0`,
    [tables, DELETED_BYTES_MAX],
  )
  const large = rows.filter((row) => row.is_large).map(({ name }) => name)
  if (large.length > 0) await db.query(`truncate ${large.join(', ')}`)
  const small = rows.filter((row) => !row.is_large)
  if (small.length === 0) return
  const deletes = small.map(({ name }, i) => `d${i} as (delete from ${name})`)
  await db.query(`with ${deletes.join(', ')} select`)
}

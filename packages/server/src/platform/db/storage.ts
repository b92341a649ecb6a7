/** SQL of how large the database is. Over all tenants: it is the operator's. */
import { type Queryable, statement } from './statement.ts'

// By the planner's statistics: asking the disk about each partition and index would take long.
const TABLES = statement(
  'platform.largest_tables',
  `with relation as (
     select coalesce(pg_partition_root(c.oid), c.oid) as root, c.oid, c.reltuples, c.relpages
       from pg_class c join pg_namespace s on s.oid = c.relnamespace
      where c.relkind = 'r' and s.nspname = current_schema()
   )
   select r.root::regclass::text as name,
          (sum(r.relpages + coalesce(t.relpages, 0)
               + coalesce((select sum(i.relpages) from pg_index x join pg_class i on i.oid = x.indexrelid
                            where x.indrelid = r.oid), 0))
           * current_setting('block_size')::bigint)::float8 as bytes,
          sum(greatest(r.reltuples, 0))::float8 as rows
     from relation r
     join pg_class c on c.oid = r.oid
     left join pg_class t on t.oid = c.reltoastrelid
    group by r.root order by bytes desc, name limit $1`,
)

export interface TableSize {
  readonly name: string
  readonly bytes: number
  readonly rows: number
}

/** The largest first, each with its partitions. */
export async function listLargestTables(q: Queryable, limit: number): Promise<TableSize[]> {
  return (await q.query<TableSize>(TABLES, [limit])).rows
}

const DATABASE = statement(
  'platform.database_size',
  `select current_setting('server_version') as version,
          pg_database_size(current_database())::float8 as bytes`,
)

export async function readDatabase(
  q: Queryable,
): Promise<{ readonly version: string; readonly bytes: number }> {
  const { rows } = await q.query<{ version: string; bytes: number }>(DATABASE)
  return rows[0] ?? { version: '', bytes: 0 }
}

const NOW = statement(
  'platform.time',
  'select (extract(epoch from now()) * 1000)::float8 as "nowMs"',
)

/** When the transaction began, by the database's clock. */
export async function readNowMs(q: Queryable): Promise<number> {
  const { rows } = await q.query<{ nowMs: number }>(NOW)
  return rows[0]?.nowMs ?? Date.now()
}

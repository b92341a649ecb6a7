/** How many rows a table has, without counting them. */
import { type Queryable, statement } from './statement.ts'

const ESTIMATE = statement(
  'platform_estimate_rows',
  `select (reltuples / greatest(relpages, 1)
           * (pg_relation_size(oid) / current_setting('block_size')::int))::float8 as n
     from pg_class where oid = $1::regclass and reltuples >= 0`,
)

/**
 * As the planner does it: the rows that a page had at the last vacuum or analyze, times the pages
 * that there are now. 0 when there was neither yet.
 */
export async function estimateRows(q: Queryable, table: string): Promise<number> {
  const { rows } = await q.query<{ n: number }>(ESTIMATE, [table])
  return rows[0]?.n ?? 0
}

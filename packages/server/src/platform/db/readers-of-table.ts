/** SQL of who else reads a table at the moment. Over all tenants: locks name none. */
import { type Queryable, statement } from './statement.ts'

const READERS = statement(
  'platform.readers_of_table',
  `select distinct virtualtransaction as "id" from pg_locks
    where database = (select oid from pg_database where datname = current_database())
      and relation = $1::text::regclass and pid <> pg_backend_pid()
      and ($2::text[] is null or virtualtransaction = any($2))`,
)

/**
 * The transactions that have looked at the table, and go on. A lock of a table is kept to the end of the
 * transaction.
 *
 * @param among undefined: all of them
 */
export async function readersOfTable(
  q: Queryable,
  table: string,
  among?: readonly string[],
): Promise<string[]> {
  const { rows } = await q.query<{ readonly id: string }>(READERS, [table, among ?? null])
  return rows.map(({ id }) => id)
}

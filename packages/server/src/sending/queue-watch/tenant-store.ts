/** SQL of how many recipients of one tenant wait. */
import { type Queryable, statement } from '../../platform/db/index.ts'

const COUNT = statement(
  'sending.count_of_tenant',
  `select (select count(*) from (select from sending_queue where tenant_id = $1 limit $2) q)::float8
        + (select count(*) from (select from sending_scheduled where tenant_id = $1 limit $2) s)::float8
       as n`,
)

/**
 * In the queue and beside it, in one statement: a recipient that moves is counted once. It reads at most `max`
 * entries of each table's primary key, and answers no more.
 */
export async function countQueued(q: Queryable, tenantId: string, max: number): Promise<number> {
  const { rows } = await q.query<{ n: number }>(COUNT, [tenantId, max])
  return Math.min(max, rows[0]?.n ?? 0)
}

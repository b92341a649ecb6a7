/** SQL of how many recipients of tenants wait. Test mail is not counted: it is in no quota. */
import { type Queryable, statement } from '../../platform/db/index.ts'

// In the order of the primary key: else all entries of a tenant may be read before the limit counts.
const COUNT = statement(
  'sending.count_of_tenants',
  `select t.tenant_id as "tenantId",
          (select count(*) from (select from sending_queue w where w.tenant_id = t.tenant_id
              and not starts_with(w.mailer_id, 'test_') order by w.ref_id, w.n limit $2) q)::float8
        + (select count(*) from (select from sending_scheduled w where w.tenant_id = t.tenant_id
              and not starts_with(w.mailer_id, 'test_') order by w.ref_id, w.n limit $2) s)::float8
       as n
     from unnest($1::text[]) as t (tenant_id)`,
)

/**
 * In the queue and beside it, in one statement: a recipient that moves is counted once. For each tenant it reads at
 * most `max` entries of each table's primary key, and answers no more.
 */
export async function countQueued(
  q: Queryable,
  tenantIds: readonly string[],
  max: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await q.query<{ tenantId: string; n: number }>(COUNT, [tenantIds, max])
  return new Map(rows.map(({ tenantId, n }) => [tenantId, Math.min(max, n)]))
}

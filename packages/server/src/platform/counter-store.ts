/**
 * Exact counts by hour. A change is a row in the transaction of the fact, so that nothing is counted that
 * was rolled back, and nothing twice. Changes are folded into sums later.
 */
import { insertRows, type Queryable, statement, type Tx } from './db/index.ts'

export interface CounterChange {
  readonly tenantId: string
  /** What it concerns, such as a mailer. */
  readonly subject: string
  readonly name: string
  /** When it happened; counted under its hour, UTC. */
  readonly at: Date
  readonly n: number
}

const HOUR_MS = 3_600_000

/** One row for each that differs, however often it happened. */
export async function addCounterChanges(tx: Tx, changes: readonly CounterChange[]): Promise<void> {
  const sums = new Map<
    string,
    { tenantId: string; subject: string; name: string; at: Date; n: number }
  >()
  for (const { tenantId, subject, name, at, n } of changes) {
    if (n === 0) continue
    const hour = Math.floor(at.getTime() / HOUR_MS)
    // None of them has a space.
    const key = `${tenantId} ${subject} ${name} ${hour}`
    const sum = sums.get(key)
    if (sum !== undefined) sum.n += n
    else sums.set(key, { tenantId, subject, name, at: new Date(hour * HOUR_MS), n })
  }
  const rows = [...sums.values()].filter(({ n }) => n !== 0)
  if (rows.length === 0) return
  await insertRows(tx, {
    name: 'platform.add_counter_changes',
    into: 'platform_counter_change',
    columns: ['tenant_id', 'subject', 'hour', 'name', 'n'],
    rows: rows.map(({ tenantId, subject, at, name, n }) => [tenantId, subject, at, name, n]),
  })
}

// Over all tenants: the janitor's. Rows are added in one order, so that two janitors do not wait
// for each other in a circle.
const FOLD = statement(
  'platform.fold_counters',
  `with found as (
     select tenant_id, change_id from platform_counter_change limit $1 for update skip locked
   ), folded as (
     delete from platform_counter_change c using found f
      where c.tenant_id = f.tenant_id and c.change_id = f.change_id
     returning c.tenant_id, c.subject, c.hour, c.name, c.n
   ), summed as (
     insert into platform_counter as t (tenant_id, subject, hour, name, n)
     select tenant_id, subject, hour, name, sum(n) from folded
      group by tenant_id, hour, subject, name order by tenant_id, hour, subject, name
     on conflict (tenant_id, hour, subject, name) do update set n = t.n + excluded.n
   )
   select count(*)::integer as n from folded`,
)

/** Answers how many changes are in the sums now that were not before, at most `limit`. */
export async function foldCounters(q: Queryable, limit: number): Promise<number> {
  const { rows } = await q.query<{ n: number }>(FOLD, [limit])
  return rows[0]?.n ?? 0
}

// Over all tenants: the janitor's.
const DROP = statement(
  'platform.drop_counters',
  `delete from platform_counter where hour < now() - $1 * interval '1 ms'`,
)

export async function dropOldCounters(q: Queryable, ageMs: number): Promise<void> {
  await q.query(DROP, [ageMs])
}

export interface Counter {
  readonly subject: string
  readonly name: string
  readonly at: Date
  readonly n: number
}

const READ = statement(
  'platform.read_counters',
  `select subject, name, date_trunc($5, hour, 'UTC') as at, sum(n)::float8 as n
     from (
       select subject, name, hour, n from platform_counter
        where tenant_id = $1 and hour >= $2 and hour < $3 and ($4::text is null or subject = $4)
       union all
       select subject, name, hour, n from platform_counter_change
        where tenant_id = $1 and hour >= $2 and hour < $3 and ($4::text is null or subject = $4)
     ) known
    group by 1, 2, 3`,
)

/** In one statement, which sees each change exactly once: as such, or in its sum. */
export async function readCounters(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly from: Date
    readonly before: Date
    readonly subject: string | undefined
    readonly interval: 'hour' | 'day'
  },
): Promise<Counter[]> {
  const values = [o.tenantId, o.from, o.before, o.subject ?? null, o.interval]
  const { rows } = await q.query<Counter>(READ, values)
  return rows
}

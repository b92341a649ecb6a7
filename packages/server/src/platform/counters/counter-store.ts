/**
 * Exact counts by time. A change of a counter is in the transaction of what it counts, so that nothing is
 * counted that was rolled back, and nothing twice. Changes are folded into sums later.
 *
 * What happens is counted for its subject, and under each of its groups (`{ recipient_domain: 'example.com' }`). One
 * row holds the changes of a transaction for a tenant: a group more makes the row longer. Measured with 64 mails
 * to a transaction: 6 octets of WAL for a mail where all go to one domain, 13 where each goes to another.
 */
import { insertRows, type Queryable, statement, type Tx } from '../db/index.ts'
import { isTestId } from '../ids.ts'

/** Under which names it is counted as well, by what it is grouped by. */
export type CounterGroups = Readonly<Record<string, string>>

export interface CounterChange {
  readonly tenantId: string
  /** What it concerns, such as a mailer. */
  readonly subject: string
  readonly name: string
  /** When it happened; counted under its ten minutes, UTC. */
  readonly at: Date
  readonly n: number
  readonly groups?: CounterGroups
}

const SLOT_MS = 600_000
/** As many as a campaign's name or a domain may have: two groups are never one. */
const GROUP_CHARS_MAX = 255
/** Of one row, so that a fold of so many rows is a fold of so many changes at most. */
const ENTRIES_MAX = 200

/** Of a change, within the JSON of its row. */
interface Entry {
  readonly subject: string
  readonly name: string
  readonly groups?: CounterGroups
  n: number
}

/**
 * One row for each tenant and ten minutes, more where it is long; one entry for each that differs. What a subject
 * of test mode does is in no statistics (docs/reference/test-mode.md#what-test-mail-leaves-alone).
 */
export async function addCounterChanges(tx: Tx, changes: readonly CounterChange[]): Promise<void> {
  const rows = new Map<string, { tenantId: string; at: Date; entries: Map<string, Entry> }>()
  for (const { tenantId, subject, name, at, n, groups } of changes) {
    if (n === 0 || isTestId(subject)) continue
    const slot = Math.floor(at.getTime() / SLOT_MS)
    const rowKey = `${tenantId} ${slot}`
    const row = rows.get(rowKey) ?? { tenantId, at: new Date(slot * SLOT_MS), entries: new Map() }
    rows.set(rowKey, row)
    const key = JSON.stringify([subject, name, groups])
    const entry = row.entries.get(key)
    if (entry === undefined) row.entries.set(key, { subject, name, n, ...shortened(groups) })
    else entry.n += n
  }
  const told = [...rows.values()].flatMap(({ tenantId, at, entries }) => {
    const counts = [...entries.values()].filter(({ n }) => n !== 0)
    const pieces = Math.ceil(counts.length / ENTRIES_MAX)
    return Array.from({ length: pieces }, (_, i) => {
      const piece = counts.slice(i * ENTRIES_MAX, (i + 1) * ENTRIES_MAX)
      return [tenantId, at, JSON.stringify(piece)]
    })
  })
  if (told.length === 0) return
  await insertRows(tx, {
    name: 'platform.add_counter_changes',
    into: 'platform_counter_change',
    columns: ['tenant_id', 'at', 'counts'],
    rows: told,
  })
}

/** PostgreSQL takes no zero byte, and the group is part of a key. */
function shortened(groups: CounterGroups | undefined): { groups?: CounterGroups } {
  if (groups === undefined) return {}
  const entries = Object.entries(groups).map(([by, key]) => [
    by,
    key.replaceAll('\0', '').slice(0, GROUP_CHARS_MAX).toWellFormed(),
  ])
  return { groups: Object.fromEntries(entries) }
}

/** The changes of rows `c`, one by one. */
const ENTRIES = `json_to_recordset(c.counts)
       as e (subject text, name text, n integer, groups json)`

/** The beginning of the interval `$n` in which `at` is, UTC. */
const binned = (interval: string, at: string) =>
  `date_bin(${interval}::interval, ${at}, timestamptz '2000-01-01T00:00:00Z')`

const SPAN_OF_GROUPS = 'tenant_id, grouped_by, span, at'
/** Of the groups in the span of the row `g`. A scalar subquery, as an `exists` may hash a whole table. */
const OF_GROUP = (which: string, what: string) => `(
       select ${what} from platform_counter_group t
        where t.tenant_id = g.tenant_id and t.grouped_by = g.grouped_by and t.span = g.span
          and t.at = g.at and ${which} limit 1)`

// Over all tenants: the janitor's. Rows are added in one order, so that two janitors do not wait
// for each other in a circle. Windows in place of joins, which may compare each group with each.
const FOLD = statement(
  'platform.fold_counters',
  `with found as (
     select tenant_id, change_id from platform_counter_change limit $1 for update skip locked
   ), folded as (
     delete from platform_counter_change c using found f
      where c.tenant_id = f.tenant_id and c.change_id = f.change_id
     returning c.tenant_id, c.at, c.counts
   ), binned as materialized (
     select *, ${binned("'1 hour'", 'at')} as hour, ${binned("'1 day'", 'at')} as day from folded
   ), counted as materialized (
     select c.tenant_id, c.at, c.hour, c.day, e.subject collate "C" as subject,
            e.name collate "C" as name, e.n, e.groups
       from binned c cross join lateral ${ENTRIES}
   ), subjects as (
     insert into platform_counter as t (tenant_id, subject, span, at, name, n)
     select tenant_id, subject, s.span, s.at, name, sum(n)
       from counted c
      cross join lateral (values ('ten_minutes', c.at), ('hour', c.hour)) as s (span, at)
      group by 1, 3, 4, 2, 5 order by 1, 3, 4, 2, 5
     on conflict (tenant_id, span, at, subject, name) do update set n = t.n + excluded.n
   ), grouped as materialized (
     select tenant_id, g.key collate "C" as grouped_by, s.span collate "C" as span, s.at,
            g.value collate "C" as key, name, sum(n) as n
       from counted c
      cross join lateral json_each_text(coalesce(groups, '{}')) g
      cross join lateral (values ('hour', c.hour), ('day', c.day)) as s (span, at)
      group by 1, 2, 3, 4, 5, 6
   ), known as (
     select g.*, ${OF_GROUP('t.key = g.key', 'true')} is not null as is_known,
            sum(n) over (partition by ${SPAN_OF_GROUPS}, key) as total,
            row_number() over (partition by ${SPAN_OF_GROUPS}) as nth
       from grouped g
   ), placed as (
     select g.*,
            dense_rank() over (partition by ${SPAN_OF_GROUPS}, is_known order by total desc, key) as place,
            case when nth = 1 then ${OF_GROUP("t.key <> ''", 'count(distinct key)')} end as held
       from known g
   ), judged as (
     select p.*, place + max(held) over (partition by ${SPAN_OF_GROUPS}) as nth_group from placed p
   ), groups as (
     insert into platform_counter_group as t (tenant_id, grouped_by, span, at, key, name, n)
     select tenant_id, grouped_by, span, at,
            case when is_known or nth_group <= $2 then key else '' end, name, sum(n)
       from judged
      group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6
     on conflict (tenant_id, grouped_by, span, at, key, name) do update set n = t.n + excluded.n
   )
   select count(*)::integer as n from folded`,
)

/** Answers how many changes are in the sums now that were not before, at most `limit`. */
export async function foldCounters(
  q: Queryable,
  o: { readonly limit: number; readonly groupsMax: number },
): Promise<number> {
  const { rows } = await q.query<{ n: number }>(FOLD, [o.limit, o.groupsMax])
  return rows[0]?.n ?? 0
}

const KEPT = [
  ['platform_counter', 'ten_minutes'],
  ['platform_counter', 'hour'],
  ['platform_counter_group', 'hour'],
  ['platform_counter_group', 'day'],
] as const

// Over all tenants: the janitor's.
const DROPS = KEPT.map(([table, span]) =>
  statement(
    `platform.drop_${table}_${span}`,
    `delete from ${table} where span = '${span}' and at < now() - $1 * interval '1 ms'`,
  ),
)

export interface KeptCounters {
  readonly tenMinutesMs: number
  readonly hoursMs: number
  readonly groupHoursMs: number
  readonly groupDaysMs: number
}

export async function dropOldCounters(q: Queryable, kept: KeptCounters): Promise<void> {
  const ages = [kept.tenMinutesMs, kept.hoursMs, kept.groupHoursMs, kept.groupDaysMs]
  for (const [i, drop] of DROPS.entries()) await q.query(drop, [ages[i]])
}

export type CounterInterval = 'ten_minutes' | 'hour' | 'day'

const WIDTHS: Readonly<Record<CounterInterval, string>> = {
  ten_minutes: '10 minutes',
  hour: '1 hour',
  day: '1 day',
}

export interface Counter {
  readonly subject: string
  readonly name: string
  readonly at: Date
  readonly n: number
}

const READ = statement(
  'platform.read_counters',
  `select subject, name, ${binned('$5', 'at')} as at, sum(n)::float8 as n
     from (
       select subject, name, at, n from platform_counter
        where tenant_id = $1 and span = $6 and at >= $2 and at < $3
          and ($4::text is null or subject = $4)
       union all
       select e.subject, e.name, c.at, e.n
         from platform_counter_change c cross join lateral ${ENTRIES}
        where c.tenant_id = $1 and c.at >= $2 and c.at < $3
          and ($4::text is null or e.subject = $4)
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
    readonly interval: CounterInterval
  },
): Promise<Counter[]> {
  const span = o.interval === 'ten_minutes' ? 'ten_minutes' : 'hour'
  const of = [o.tenantId, o.from, o.before, o.subject ?? null]
  const { rows } = await q.query<Counter>(READ, [...of, WIDTHS[o.interval], span])
  return rows
}

// Tenant by tenant: one scan for all of them may read what all other tenants have, too.
const READ_SUMS = statement(
  'platform.read_counter_sums',
  `select t.tenant_id as "tenantId", s.name, s.n, s.since as "nSince"
     from unnest($1::text[]) as t (tenant_id)
    cross join lateral (
      select name, sum(n)::float8 as n, coalesce(sum(n) filter (where at >= $4), 0)::float8 as since
        from (
          select name, at, n from platform_counter
           where tenant_id = t.tenant_id and span = 'hour' and at >= $2 and at < $3 and subject = $5
          union all
          select e.name, c.at, e.n
            from platform_counter_change c cross join lateral ${ENTRIES}
           where c.tenant_id = t.tenant_id and c.at >= $2 and c.at < $3 and e.subject = $5
        ) known
       group by name) s`,
)

export interface CounterSum {
  readonly tenantId: string
  readonly name: string
  readonly n: number
  /** Of these, from `since` on. */
  readonly nSince: number
}

/** The sums of one subject of each tenant, as `readCounters` reads. */
export async function readCounterSums(
  q: Queryable,
  o: {
    readonly tenantIds: readonly string[]
    readonly from: Date
    readonly before: Date
    readonly since: Date
    readonly subject: string
  },
): Promise<CounterSum[]> {
  const of = [o.tenantIds, o.from, o.before, o.since, o.subject]
  return (await q.query<CounterSum>(READ_SUMS, of)).rows
}

const READ_TENANT_SUMS = statement(
  'platform.read_tenant_sums',
  `select tenant_id as "tenantId", name, sum(n)::float8 as n
     from (
       select tenant_id, name, n from platform_counter
        where span = 'hour' and at >= $2 and name = any($3)
          and ($1::text[] is null or tenant_id = any($1))
       union all
       select c.tenant_id, e.name, e.n
         from platform_counter_change c cross join lateral ${ENTRIES}
        where c.at >= $2 and e.name = any($3) and ($1::text[] is null or c.tenant_id = any($1))
     ) known
    group by 1, 2`,
)

/** Of some tenants, or of all: the sums since a time, to the hour, by their names. */
export async function readTenantSums(
  q: Queryable,
  o: {
    readonly tenantIds: readonly string[] | null
    readonly from: Date
    readonly names: readonly string[]
  },
): Promise<ReadonlyMap<string, ReadonlyMap<string, number>>> {
  const { rows } = await q.query<{ tenantId: string; name: string; n: number }>(READ_TENANT_SUMS, [
    ...[o.tenantIds, o.from, o.names],
  ])
  const sums = new Map<string, Map<string, number>>()
  for (const { tenantId, name, n } of rows) {
    const counts = sums.get(tenantId) ?? new Map<string, number>()
    sums.set(tenantId, counts.set(name, n))
  }
  return sums
}

export interface GroupCounter {
  /** `''`: all groups that have no sum of their own. */
  readonly key: string
  readonly name: string
  readonly n: number
}

const READ_GROUPS = statement(
  'platform.read_counter_groups',
  `with known as materialized (
     select key, name, n from platform_counter_group
      where tenant_id = $1 and grouped_by = $2 and span = $3 and at >= $4 and at < $5
     union all
     select e.groups ->> $2, e.name, e.n
       from platform_counter_change c cross join lateral ${ENTRIES}
      where c.tenant_id = $1 and c.at >= $4 and c.at < $5 and e.groups ->> $2 is not null
   ), most as (
     select key, sum(n) as n from known where key <> '' and ($7::text[] is null or name = any($7))
      group by key order by 2 desc, key limit $6
   )
   select coalesce(m.key, '') as key, k.name, sum(k.n)::float8 as n
     from known k left join most m on m.key = k.key
    group by 1, 2`,
)

/** Of the groups with the highest sums, as `readCounters` reads. */
export async function readGroups(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly groupedBy: string
    readonly from: Date
    readonly before: Date
    readonly interval: 'hour' | 'day'
    readonly limit: number
    /** What makes a sum high; all of it when left out. */
    readonly rankedBy?: readonly string[]
  },
): Promise<GroupCounter[]> {
  const of = [o.tenantId, o.groupedBy, o.interval, o.from, o.before, o.limit, o.rankedBy ?? null]
  const { rows } = await q.query<GroupCounter>(READ_GROUPS, of)
  return rows
}

/**
 * SQL of what tenants with quotas have used. Every statement names the tenants; one statement for a group of
 * requests, whatever their tenants.
 */
import { type Queryable, readersOfTable, statement, type Tx } from '../../platform/db/index.ts'
import { type CaseLimits, caseValues, selectCases } from '../../platform/limits/case-limits.ts'
import { type Charge, utcDay } from './decide-quota.ts'

const LOCK = statement(
  'tenants.lock_usage',
  `select from tenants_usage where tenant_id = any($1::text[]) order by tenant_id for update`,
)

/** Until the end of the transaction nobody else adds to it. */
export async function lockUsage(tx: Tx, tenantIds: readonly string[]): Promise<void> {
  await tx.query(LOCK, [tenantIds])
}

/** Whether it fits: null where nobody knows any more what was accepted in that second, or on that day. */
const FITS = `
      (l.emails_per_second is null or l.emails = 0 or l.emails_per_second >= l.emails + case
         when $4 > l.second then 0 when $4 = l.second then l.in_second
         when $4 = l.second - 1 then l.second_before end)
  and (l.emails_per_day is null or l.emails = 0 or l.emails_per_day >= l.emails + case
         when $5 > l.day then 0 when $5 = l.day then l.in_day end)
  and (l.queued_max is null or l.emails = 0 or l.queued_max >= l.queued + l.emails)
  and (l.storage_bytes_max is null or l.bytes = 0 or l.storage_bytes_max >= l.storage_bytes + l.bytes)`

// Rows are locked in one order, so that two groups do not wait for each other in a circle.
const ADD = statement(
  'tenants.charge_quotas',
  `with locked as (
     select u.*, a.emails, a.bytes, t.emails_per_second, t.emails_per_day, t.queued_max,
            t.storage_bytes_max
       from unnest($1::text[], $2::bigint[], $3::bigint[]) as a (tenant_id, emails, bytes)
       join tenants_usage u on u.tenant_id = a.tenant_id
       join tenants_tenant t on t.tenant_id = a.tenant_id
      order by u.tenant_id for update of u
   )
   update tenants_usage u
      set second = greatest(l.second, $4::bigint),
          in_second = case when $4 > l.second then l.emails when $4 = l.second then l.in_second + l.emails
                           else l.in_second end,
          second_before = case when $4 = l.second + 1 then l.in_second when $4 > l.second then 0
                               when $4 = l.second - 1 then l.second_before + l.emails
                               else l.second_before end,
          day = greatest(l.day, $5::date),
          in_day = case when $5 > l.day then l.emails when $5 = l.day then l.in_day + l.emails
                        else l.in_day end,
          queued = l.queued + l.emails,
          storage_bytes = l.storage_bytes + l.bytes
     from locked l
    where u.tenant_id = l.tenant_id and (${FITS})`,
)

/** False, when one of them does not fit: then the transaction must not be committed as it is. */
export async function chargeQuotas(tx: Tx, charges: readonly Charge[], at: Date): Promise<boolean> {
  const { rowCount } = await tx.query(ADD, [
    charges.map(({ tenantId }) => tenantId),
    charges.map(({ emails }) => emails),
    charges.map(({ bytes }) => bytes),
    Math.floor(at.getTime() / 1_000),
    utcDay(at),
  ])
  return rowCount === charges.length
}

// As PostgreSQL reports a transaction that collided with another: it is run again.
const COLLIDE = `do $$ begin
  raise exception 'the usage of a quota has moved' using errcode = 'serialization_failure';
end $$`

/** Ends the transaction, to be run again. */
export async function collide(tx: Tx): Promise<void> {
  await tx.query(COLLIDE)
}

const QUEUE = statement(
  'tenants.charge_queued',
  `update tenants_usage u set queued = u.queued + $2::bigint from tenants_tenant t
    where u.tenant_id = $1 and t.tenant_id = u.tenant_id
      and (t.queued_max is null or t.queued_max >= u.queued + $2)`,
)

/** Recipients that are queued again: they were accepted, and are stored. False, when they do not fit. */
export async function chargeQueued(tx: Tx, tenantId: string, emails: number): Promise<boolean> {
  return (await tx.query(QUEUE, [tenantId, emails])).rowCount === 1
}

const START = statement(
  'tenants.start_usage',
  `insert into tenants_usage (tenant_id, day, in_day, queued, storage_bytes) values ($1, $2, $3, $4, $5)
   on conflict (tenant_id) do update
     set day = excluded.day, in_day = excluded.in_day, queued = excluded.queued,
         storage_bytes = excluded.storage_bytes, counts = tenants_usage.counts + 1`,
)

/** Of a tenant that gets its first quota: from what was counted. */
export async function startUsage(
  tx: Tx,
  tenantId: string,
  { now, ...counted }: CountedUsage & { readonly now: Date },
): Promise<void> {
  const { emailsToday, queued, storageBytes } = counted
  await tx.query(START, [tenantId, utcDay(now), emailsToday, queued, storageBytes])
}

/** The transactions that have looked at the usage of tenants, and go on; `among`: those of them. */
export function usageReaders(q: Queryable, among?: readonly string[]): Promise<string[]> {
  return readersOfTable(q, 'tenants_usage', among)
}

export interface CountedUsage {
  readonly emailsToday: number
  readonly queued: number
  readonly storageBytes: number
}

interface KeptUsage {
  readonly now: Date
  readonly counts: string
  readonly day: string
  readonly inDay: number
  readonly queued: number
  readonly storageBytes: number
  readonly queuedMax: number | null
}

const READ = statement(
  'tenants.read_usage',
  `select now() as now, u.counts, u.day, u.in_day::float8 as "inDay", u.queued::float8 as queued,
          u.storage_bytes::float8 as "storageBytes", t.queued_max::float8 as "queuedMax"
     from tenants_usage u join tenants_tenant t on t.tenant_id = u.tenant_id where u.tenant_id = $1`,
)

export async function readKeptUsage(
  q: Queryable,
  tenantId: string,
): Promise<KeptUsage | undefined> {
  return (await q.query<KeptUsage>(READ, [tenantId])).rows[0]
}

const CORRECT = statement(
  'tenants.correct_usage',
  `update tenants_usage
      set queued = queued + $3::bigint, storage_bytes = storage_bytes + $4::bigint,
          day = greatest(day, $5::date),
          in_day = case when day = $5 then in_day + $6::bigint when day < $5 then $7::bigint
                        else in_day end,
          counts = counts + 1
    where tenant_id = $1 and counts = $2`,
)

/**
 * Puts right what was read as `kept`, and counted afterwards. What was accepted in between was counted twice, if
 * at all: too much for a while, and never too little.
 */
export async function correctUsage(
  q: Queryable,
  tenantId: string,
  kept: KeptUsage,
  counted: CountedUsage,
): Promise<void> {
  const today = utcDay(kept.now)
  // What was kept of a day before says nothing of today.
  const keptToday = kept.day === today ? kept.inDay : 0
  await q.query(CORRECT, [
    ...[tenantId, kept.counts],
    ...[counted.queued - kept.queued, counted.storageBytes - kept.storageBytes, today],
    ...[counted.emailsToday - keptToday, counted.emailsToday],
  ])
}

const USED = statement(
  'tenants.find_used_quotas',
  selectCases({
    columns: 't.tenant_id as "tenantId", t.quota, t.used::float8 as used, t.max::float8 as max',
    from: `(select u.tenant_id, k.*
                     from tenants_usage u join tenants_tenant n on n.tenant_id = u.tenant_id
                    cross join lateral (values
                      ('emails_per_day',
                       case when u.day = (now() at time zone 'UTC')::date then u.in_day else 0 end,
                       n.emails_per_day),
                      ('queued_max', u.queued, n.queued_max),
                      ('storage_bytes_max', u.storage_bytes, n.storage_bytes_max)
                    ) as k (quota, used, max))`,
    where: 't.max > 0 and t.used >= t.max * $6::float8',
    subject: 't.quota',
    orderBy: 't.quota',
  }),
)

export interface UsedQuota {
  readonly tenantId: string
  readonly quota: string
  readonly used: number
  readonly max: number
}

/** Of some tenants, or of all: quotas of which a share is used. That of a second comes and goes. */
export async function findUsedQuotas(
  q: Queryable,
  limits: CaseLimits,
  share: number,
): Promise<UsedQuota[]> {
  return (await q.query<UsedQuota>(USED, [...caseValues(limits), share])).rows
}

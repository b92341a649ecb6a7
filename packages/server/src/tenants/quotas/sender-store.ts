/** SQL of what acceptance asks about tenants. One statement for a group of requests, whatever their tenants. */
import type { Quotas } from '@postrider/contract'
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { Limited, QuotaUsage } from './decide-quota.ts'

export interface Senders {
  /** The database's time: what the queue's times are compared with, whatever this machine's clock. */
  readonly now: Date
  /** Those that may not send. */
  readonly held: ReadonlyMap<string, 'suspended' | 'deleting'>
  /** Those that have quotas. */
  readonly limited: ReadonlyMap<string, Limited>
}

interface Row {
  readonly now: Date
  readonly tenant_id: string | null
  readonly state: 'active' | 'suspended' | 'deleting'
  readonly quotas: Quotas | null
  readonly usage: QuotaUsage | null
}

// The time has a row of its own, so that one statement tells all.
const READ = statement(
  'tenants.read_senders',
  `select now() as now, t.tenant_id, t.state,
          json_build_object('emails_per_second', t.emails_per_second, 'emails_per_day',
            t.emails_per_day, 'queued_max', t.queued_max, 'storage_bytes_max',
            t.storage_bytes_max) as quotas,
          case when u.tenant_id is not null then
            json_build_object('second', u.second, 'inSecond', u.in_second, 'secondBefore',
              u.second_before, 'day', u.day, 'inDay', u.in_day, 'queued', u.queued,
              'storageBytes', u.storage_bytes) end as usage
     from (select) as one
     left join tenants_tenant t on t.tenant_id = any($1::text[])
       and (t.state <> 'active' or num_nonnulls(t.emails_per_second, t.emails_per_day,
              t.queued_max, t.storage_bytes_max) > 0)
     left join tenants_usage u on u.tenant_id = t.tenant_id`,
)

export async function readSenders(q: Queryable, tenantIds: readonly string[]): Promise<Senders> {
  const { rows } = await q.query<Row>(READ, [[...new Set(tenantIds)]])
  const [first] = rows
  if (first === undefined) throw new Error('the database told no time')
  const held = new Map<string, 'suspended' | 'deleting'>()
  const limited = new Map<string, Limited>()
  for (const { tenant_id: id, state, quotas, usage } of rows) {
    if (id === null) continue
    if (state !== 'active') held.set(id, state)
    else if (quotas !== null && usage !== null) limited.set(id, { quotas, usage })
  }
  return { now: first.now, held, limited }
}

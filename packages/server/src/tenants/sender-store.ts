/** SQL of what acceptance asks about tenants. One statement for a group of requests, whatever their tenants. */
import { type Queryable, statement } from '../platform/db/index.ts'

export interface Senders {
  /** The database's time: what the queue's times are compared with, whatever this machine's clock. */
  readonly now: Date
  /** Those that may not send. */
  readonly held: ReadonlyMap<string, 'suspended' | 'deleting'>
}

// The time has a row of its own, so that one statement tells both.
const READ = statement(
  'tenants.read_senders',
  `select now() as now, t.tenant_id, t.state
     from (select) as one
     left join tenants_tenant t on t.tenant_id = any($1::text[]) and t.state <> 'active'`,
)

export async function readSenders(q: Queryable, tenantIds: readonly string[]): Promise<Senders> {
  const { rows } = await q.query<{
    now: Date
    tenant_id: string | null
    state: 'suspended' | 'deleting'
  }>(READ, [[...new Set(tenantIds)]])
  const [first] = rows
  if (first === undefined) throw new Error('the database told no time')
  const held = rows.flatMap(({ tenant_id: id, state }) =>
    id === null ? [] : [[id, state] as const],
  )
  return { now: first.now, held: new Map(held) }
}

/** SQL of tenants that are being deleted. A statement without a tenant finds the next one of all. */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { type Claimed, createJobs } from '../../platform/work/jobs.ts'

interface DeletionKey {
  readonly tenantId: string
}

export type Deletion = Claimed<DeletionKey> & { readonly requestedAt: Date }

const { isDue, ...jobs } = createJobs<DeletionKey, Deletion>({
  ...{ name: 'tenants.deletions', table: 'tenants_deletion', claimedUntil: 'due_at' },
  key: ['tenantId'],
  columns: ['requested_at'],
})

export const { renew: renewDeletions, putOff: putOffDeletions } = jobs

/** The keys go at once: nobody calls for the tenant any more. */
export async function beginDeletion(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(
    `update tenants_tenant set state = 'deleting', state_changed_at = now() where tenant_id = $1`,
    [tenantId],
  )
  await tx.query('delete from tenants_api_key where tenant_id = $1', [tenantId])
  await tx.query('insert into tenants_deletion (tenant_id) values ($1) on conflict do nothing', [
    tenantId,
  ])
}

const FIND = statement(
  'tenants.find_deletion',
  `select tenant_id as "tenantId" from tenants_deletion where ${isDue} order by due_at limit 1`,
)

/** The one that is due for longest. */
export async function claimDeletion(tx: Tx, leaseMs: number): Promise<Deletion | undefined> {
  const { rows } = await tx.query<DeletionKey>(FIND)
  const [claimed] = await jobs.claim(tx, rows, leaseMs)
  return claimed
}

/** For how long it has been asked for, by the database's clock. */
export async function readAgeMs(q: Queryable, { tenantId }: DeletionKey): Promise<number> {
  const { rows } = await q.query<{ ms: number }>(
    `select (extract(epoch from now() - requested_at) * 1000)::float8 as ms
       from tenants_deletion where tenant_id = $1`,
    [tenantId],
  )
  return rows[0]?.ms ?? 0
}

/** The tenant's own rows. False, when somebody else has the claim. */
export async function endDeletion(tx: Tx, deletion: Deletion): Promise<boolean> {
  const [held] = await jobs.hold(tx, [deletion])
  if (held === undefined) return false
  await jobs.end(tx, [deletion])
  for (const table of ['tenants_api_key', 'tenants_usage', 'tenants_tenant'])
    await tx.query(`delete from ${table} where tenant_id = $1`, [deletion.tenantId])
  return true
}

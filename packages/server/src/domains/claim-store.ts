/**
 * SQL of claims: whose a domain is, over all tenants. Statements name the domain, which is what they
 * are about; what they answer says nothing of another tenant but that there is one.
 */
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { DomainKey } from './domain.ts'

const IS_TAKEN = statement(
  'domains.is_taken',
  'select 1 from domains_claim where domain = $2 and tenant_id <> $1',
)

export async function isTaken(q: Queryable, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rowCount } = await q.query(IS_TAKEN, [tenantId, domain])
  return rowCount > 0
}

const CLAIM = statement(
  'domains.claim',
  `insert into domains_claim (domain, tenant_id) values ($2, $1)
   on conflict (domain) do update set tenant_id = domains_claim.tenant_id
   returning tenant_id = $1 as is_own`,
)

/** The first has it; whoever tries at the same moment waits for the first one's commit. */
export async function claimDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rows } = await tx.query<{ is_own: boolean }>(CLAIM, [tenantId, domain])
  return rows[0]?.is_own === true
}

const RELEASE = statement(
  'domains.release',
  'delete from domains_claim where domain = $2 and tenant_id = $1',
)

export async function releaseDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<void> {
  await tx.query(RELEASE, [tenantId, domain])
}

/**
 * SQL of ownership: whose a domain is, over all tenants. Statements name the domain, which is what they
 * are about; what they answer says nothing of another tenant but that there is one.
 */
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { DomainKey } from './domain.ts'

const IS_TAKEN = statement(
  'domains.is_taken',
  'select 1 from domains_ownership where domain = $2 and tenant_id <> $1',
)

export async function isTaken(q: Queryable, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rowCount } = await q.query(IS_TAKEN, [tenantId, domain])
  return rowCount > 0
}

const ACQUIRE = statement(
  'domains.acquire',
  `insert into domains_ownership (domain, tenant_id) values ($2, $1)
   on conflict (domain) do update set tenant_id = domains_ownership.tenant_id
   returning tenant_id = $1 as is_own`,
)

/** The first tenant gets it; a concurrent one waits for that commit. */
export async function acquireDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rows } = await tx.query<{ is_own: boolean }>(ACQUIRE, [tenantId, domain])
  return rows[0]?.is_own === true
}

const RELEASE = statement(
  'domains.release',
  'delete from domains_ownership where domain = $2 and tenant_id = $1',
)

export async function releaseDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<void> {
  await tx.query(RELEASE, [tenantId, domain])
}

const FIND_PROOF = statement(
  'domains.find_proof',
  `select d.ownership_token as token,
          d.verified_at is not null and exists (select 1 from domains_ownership c
            where c.domain = d.domain and c.tenant_id = d.tenant_id) as "isProven"
     from domains_domain d
    where d.tenant_id = $1 and d.domain = $2 and d.relay <> 'simulator' and d.stage <> 'deleting'`,
)

export interface OwnershipProof {
  /** Stands in the record that proves ownership. */
  readonly token: string
  readonly isProven: boolean
}

/** Of the tenant's sending domain of that name, if it has one for which somebody is asked. */
export async function findOwnershipProof(
  q: Queryable,
  { tenantId, domain }: DomainKey,
): Promise<OwnershipProof | undefined> {
  const { rows } = await q.query<OwnershipProof>(FIND_PROOF, [tenantId, domain])
  return rows[0]
}

/** All SQL of inbound domains. Every statement names the tenant, or says why not. */
import type { DomainKey } from '../domains/index.ts'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { InboundDomain, NewInboundDomain } from './domain.ts'

interface Row {
  tenant_id: string
  domain: string
  id: string
  ownership_token: string
  record_states: InboundDomain['recordStates']
  verified_at: Date | null
  is_taken: boolean
  checked_at: Date | null
  created_at: Date
  updated_at: Date
}

/** Of claims of other tenants, nothing but whether there is one. */
const COLUMNS = `d.tenant_id, d.domain, d.id, d.ownership_token, d.record_states, d.verified_at,
  exists (select 1 from inbound_claim c
    where c.domain = d.domain and c.tenant_id <> d.tenant_id) as is_taken,
  d.checked_at, d.created_at, d.updated_at`

const GET = statement(
  'inbound.get_domain',
  `select ${COLUMNS} from inbound_domain d where d.tenant_id = $1 and d.domain = $2`,
)

export async function getDomain(
  q: Queryable,
  { tenantId, domain }: DomainKey,
): Promise<InboundDomain | undefined> {
  const { rows } = await q.query<Row>(GET, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const LOCK = statement(
  'inbound.lock_domain',
  `select ${COLUMNS} from inbound_domain d where d.tenant_id = $1 and d.domain = $2 for update of d`,
)

/** For a change of it or of one of its usernames: of two at once, the second sees the first. */
export async function lockDomain(
  tx: Tx,
  { tenantId, domain }: DomainKey,
): Promise<InboundDomain | undefined> {
  const { rows } = await tx.query<Row>(LOCK, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const LIST = statement(
  'inbound.list_domains',
  `select ${COLUMNS} from inbound_domain d
    where d.tenant_id = $1 and ($2::text is null or d.id < $2) order by d.id desc limit $3`,
)

/** Newest first. */
export async function listDomains(
  q: Queryable,
  o: { readonly tenantId: string; readonly before: string | undefined; readonly limit: number },
): Promise<InboundDomain[]> {
  const { rows } = await q.query<Row>(LIST, [o.tenantId, o.before ?? null, o.limit])
  return rows.map(toDomain)
}

const INSERT = statement(
  'inbound.insert_domain',
  `insert into inbound_domain (tenant_id, domain, id, ownership_token) values ($1, $2, $3, $4)
   on conflict (tenant_id, domain) do nothing`,
)

/** False when the tenant has it. */
export async function insertDomain(tx: Tx, d: NewInboundDomain): Promise<boolean> {
  const values = [d.tenantId, d.domain, d.id, d.ownershipToken]
  return (await tx.query(INSERT, values)).rowCount > 0
}

const SAVE_CHECK = statement(
  'inbound.save_check',
  `update inbound_domain
      set record_states = $3, checked_at = $4,
          verified_at = case when $5 then coalesce(verified_at, now()) end, updated_at = now()
    where tenant_id = $1 and domain = $2`,
)

export async function saveCheck(
  tx: Tx,
  { tenantId, domain, recordStates }: Pick<InboundDomain, 'tenantId' | 'domain' | 'recordStates'>,
  o: { readonly now: Date; readonly isVerified: boolean },
): Promise<void> {
  const states = JSON.stringify(recordStates)
  await tx.query(SAVE_CHECK, [tenantId, domain, states, o.now, o.isVerified])
}

const TOUCH = statement(
  'inbound.touch_domain',
  'update inbound_domain set updated_at = now() where tenant_id = $1 and domain = $2',
)

export async function touchDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<void> {
  await tx.query(TOUCH, [tenantId, domain])
}

const DELETE = statement(
  'inbound.delete_domain',
  'delete from inbound_domain where tenant_id = $1 and domain = $2',
)

/** With its claim and its usernames, whose webhooks are deleted before. */
export async function deleteDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<void> {
  await tx.query(DELETE, [tenantId, domain])
}

const FIND_HOLDER = statement(
  'inbound.find_holder',
  `select ${COLUMNS} from inbound_claim holder
     join inbound_domain d on d.tenant_id = holder.tenant_id and d.domain = holder.domain
    where holder.domain = $2 and holder.tenant_id <> $1`,
)

/** Over all tenants: who else has proven it. Nothing of it is for anybody but to look it up by. */
export async function findHolder(
  q: Queryable,
  { tenantId, domain }: DomainKey,
): Promise<InboundDomain | undefined> {
  const { rows } = await q.query<Row>(FIND_HOLDER, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const IS_OLDEST = statement(
  'inbound.is_oldest',
  `select not exists (
     select 1 from inbound_domain other
      where other.domain = d.domain and other.verified_at is null
        and (other.created_at, other.tenant_id) < (d.created_at, d.tenant_id)) as is_oldest
     from inbound_domain d where d.tenant_id = $1 and d.domain = $2`,
)

/**
 * Over all tenants: whether nobody who has yet to prove it configured it before. One that is being
 * configured at this moment comes after all that stand.
 */
export async function isOldestUnproven(tx: Tx, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rows } = await tx.query<{ is_oldest: boolean }>(IS_OLDEST, [tenantId, domain])
  return rows[0]?.is_oldest === true
}

const LIST_UNPROVEN = statement(
  'inbound.list_unproven',
  `select ${COLUMNS} from inbound_domain d
    where d.domain = $1 and d.verified_at is null order by d.created_at, d.tenant_id limit $2`,
)

/** Over all tenants, oldest first: mail names a domain, and no tenant. */
export async function listUnproven(
  q: Queryable,
  o: { readonly domain: string; readonly limit: number },
): Promise<InboundDomain[]> {
  const { rows } = await q.query<Row>(LIST_UNPROVEN, [o.domain, o.limit])
  return rows.map(toDomain)
}

const CLAIM = statement(
  'inbound.claim_domain',
  `insert into inbound_claim (domain, tenant_id) values ($2, $1)
   on conflict (domain) do update set tenant_id = inbound_claim.tenant_id
   returning tenant_id = $1 as is_own`,
)

/** Over all tenants: the first has it; who tries at the same moment waits for the first one's commit. */
export async function claimDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rows } = await tx.query<{ is_own: boolean }>(CLAIM, [tenantId, domain])
  return rows[0]?.is_own === true
}

const RELEASE = statement(
  'inbound.release',
  `with unverified as (
     update inbound_domain set verified_at = null, updated_at = now()
      where tenant_id = $1 and domain = $2 and id = $3
      returning tenant_id, domain)
   delete from inbound_claim c using unverified u
    where c.tenant_id = u.tenant_id and c.domain = u.domain`,
)

/** Not any more, when it was deleted and configured again meanwhile. */
export async function releaseDomain(tx: Tx, d: NewInboundDomain): Promise<void> {
  await tx.query(RELEASE, [d.tenantId, d.domain, d.id])
}

function toDomain(row: Row): InboundDomain {
  return {
    tenantId: row.tenant_id,
    domain: row.domain,
    id: row.id,
    ownershipToken: row.ownership_token,
    recordStates: row.record_states,
    ...(row.verified_at === null ? {} : { verifiedAt: row.verified_at }),
    isTaken: row.is_taken,
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** All SQL of inbound domains. Every statement names the tenant, or says why not. */
import type { DomainKey } from '../../domains/index.ts'
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { InboundDomain, NewInboundDomain } from './domain.ts'

interface Row {
  tenant_id: string
  domain: string
  id: string
  ownership_token: string
  record_states: InboundDomain['recordStates']
  verified_at: Date | null
  is_taken: boolean
  is_contested: boolean
  checked_at: Date | null
  created_at: Date
  updated_at: Date
}

/** Of other tenants, nothing but whether there is one that owns or has configured it. */
const COLUMNS = `d.tenant_id, d.domain, d.id, d.ownership_token, d.record_states, d.verified_at,
  exists (select 1 from inbound_ownership c
    where c.domain = d.domain and c.tenant_id <> d.tenant_id) as is_taken,
  (exists (select 1 from inbound_domain o
     where o.domain = d.domain and o.verified_at is null and o.tenant_id <> d.tenant_id)
   or exists (select 1
     from generate_series(1, cardinality(string_to_array(d.domain, '.')) - 1) level
    -- Of the name itself, too. Laterally: a probe of the index for each, whatever the statistics say.
    cross join lateral (
      select 1 from inbound_ownership c
       where c.domain = array_to_string((string_to_array(d.domain, '.'))[level:], '.')
         and c.tenant_id <> d.tenant_id
       limit 1) above)) as is_contested,
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

const LOCK_NAME = statement(
  'inbound.lock_name',
  `select pg_advisory_xact_lock(hashtextextended('inbound.domain ' || $1, 0))`,
)

/** Over all tenants, before any row of it: whose it is is settled for one tenant after the other. */
export async function lockName(tx: Tx, domain: string): Promise<void> {
  await tx.query(LOCK_NAME, [domain])
}

const LOCK_UNVERIFIED = statement(
  'inbound.lock_unverified',
  `select pg_advisory_xact_lock(hashtextextended('inbound.unverified ' || $1, 0))`,
)

/** Before the name is locked: domains that one tenant configures at once are counted one by one. */
export async function lockUnverified(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(LOCK_UNVERIFIED, [tenantId])
}

const COUNT_UNVERIFIED = statement(
  'inbound.count_unverified',
  `select count(*)::integer as count from (
     select 1 from inbound_domain where tenant_id = $1 and verified_at is null limit $2) unverified`,
)

/** Up to a number, so that it costs no more than that. */
export async function countUnverified(tx: Tx, tenantId: string, upTo: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(COUNT_UNVERIFIED, [tenantId, upTo])
  return rows[0]?.count ?? 0
}

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

/** With its ownership and its usernames, whose webhooks are deleted before. */
export async function deleteDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<void> {
  await tx.query(DELETE, [tenantId, domain])
}

const FIND_HOLDER = statement(
  'inbound.find_holder',
  `select ${COLUMNS} from inbound_ownership holder
     join inbound_domain d on d.tenant_id = holder.tenant_id and d.domain = holder.domain
    where holder.domain = $2 and holder.tenant_id <> $1`,
)

/** Over all tenants: who else has proven it. Nothing of it is for any answer. */
export async function findHolder(
  q: Queryable,
  { tenantId, domain }: DomainKey,
): Promise<InboundDomain | undefined> {
  const { rows } = await q.query<Row>(FIND_HOLDER, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const IS_OWNED = statement(
  'inbound.is_owned',
  'select 1 from inbound_ownership where tenant_id = $1 and domain = $2 for share',
)

/** Whether the tenant has proven it. One that is being deleted, or lost, is waited for. */
export async function isOwned(q: Queryable, { tenantId, domain }: DomainKey): Promise<boolean> {
  return (await q.query(IS_OWNED, [tenantId, domain])).rowCount > 0
}

const LIST_UNPROVEN = statement(
  'inbound.list_unproven',
  `select ${COLUMNS} from inbound_domain d
    where d.domain = $1 and d.verified_at is null
    order by d.ownership_token = any($2::text[]) desc, d.created_at, d.tenant_id limit $3`,
)

/** Over all tenants, since mail names none: those with one of the tokens first, then the oldest. */
export async function listUnproven(
  q: Queryable,
  o: { readonly domain: string; readonly tokens: readonly string[]; readonly limit: number },
): Promise<InboundDomain[]> {
  const { rows } = await q.query<Row>(LIST_UNPROVEN, [o.domain, o.tokens, o.limit])
  return rows.map(toDomain)
}

const ACQUIRE = statement(
  'inbound.acquire_domain',
  `insert into inbound_ownership (domain, tenant_id) values ($2, $1)
   on conflict (domain) do update set tenant_id = inbound_ownership.tenant_id
   returning tenant_id = $1 as is_own`,
)

/** Over all tenants: the first has it; who tries at the same moment waits for the first one's commit. */
export async function acquireDomain(tx: Tx, { tenantId, domain }: DomainKey): Promise<boolean> {
  const { rows } = await tx.query<{ is_own: boolean }>(ACQUIRE, [tenantId, domain])
  return rows[0]?.is_own === true
}

const RELEASE = statement(
  'inbound.release',
  `with unverified as (
     update inbound_domain set verified_at = null, record_states = '{}', updated_at = now()
      where tenant_id = $1 and domain = $2 and id = $3
      returning tenant_id, domain)
   delete from inbound_ownership c using unverified u
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
    isContested: row.is_contested,
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** All SQL of sending domains. Every statement names the tenant, or says why not. */
import type { DomainState, JsonObject, RelayKind } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { type CaseLimits, caseValues, selectCases } from '../platform/limits/case-limits.ts'
import type { RelayRecord } from '../relays/index.ts'
import type { DomainKey, NewDomain, SendingDomain, Stage } from './domain.ts'

export interface DomainRow {
  tenant_id: string
  domain: string
  mailer_id: string
  relay: RelayKind
  stage: Stage
  provider_id: string | null
  was_there: boolean
  custom_args: JsonObject | null
  options: SendingDomain['options']
  ownership_token: string
  dkim_keys: SendingDomain['keys']
  provider_records: readonly RelayRecord[]
  record_states: SendingDomain['recordStates']
  provider_state: SendingDomain['provider']
  verified_at: Date | null
  state: DomainState
  checked_at: Date | null
  due_at: Date | null
  tries: number
  is_busy: boolean
  created_at: Date
  updated_at: Date
}

/** Of ownership by other tenants, nothing but whether there is one. The simulator's names are nobody's. */
const STATE = `case when d.stage = 'creating' then 'creating'
    when d.relay <> 'simulator' and exists (select 1 from domains_ownership c
      where c.domain = d.domain and c.tenant_id <> d.tenant_id) then 'taken'
    when d.verified_at is not null then 'verified'
    when d.was_verified then 'unverified' else 'pending' end`

export const DOMAIN_COLUMNS = `d.tenant_id, d.domain, d.mailer_id, d.relay, d.stage, d.provider_id, d.was_there,
  d.custom_args, d.options, d.ownership_token, d.dkim_keys, d.provider_records, d.record_states,
  d.provider_state, d.verified_at, d.checked_at, d.due_at, d.tries,
  coalesce(d.busy_until > now(), false) as is_busy, d.created_at, d.updated_at, ${STATE} as state`

const GET = statement(
  'domains.get',
  `select ${DOMAIN_COLUMNS} from domains_domain d where d.tenant_id = $1 and d.domain = $2`,
)

export async function getDomain(
  q: Queryable,
  { tenantId, domain }: DomainKey,
): Promise<SendingDomain | undefined> {
  const { rows } = await q.query<DomainRow>(GET, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const LOCK = statement(
  'domains.lock',
  `select ${DOMAIN_COLUMNS} from domains_domain d where d.tenant_id = $1 and d.domain = $2 for update of d`,
)

export async function lockDomain(
  tx: Tx,
  { tenantId, domain }: DomainKey,
): Promise<SendingDomain | undefined> {
  const { rows } = await tx.query<DomainRow>(LOCK, [tenantId, domain])
  return rows[0] === undefined ? undefined : toDomain(rows[0])
}

const LIST = statement(
  'domains.list',
  `select ${DOMAIN_COLUMNS} from domains_domain d
    where d.tenant_id = $1 and d.stage <> 'deleting' and ($2::text is null or d.mailer_id < $2)
      and ($3::text is null or ${STATE} = $3)
    order by d.mailer_id desc limit $4`,
)

/** Newest first. */
export async function listDomains(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly state: DomainState | undefined
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<SendingDomain[]> {
  const { rows } = await q.query<DomainRow>(LIST, [
    o.tenantId,
    o.before ?? null,
    o.state ?? null,
    o.limit,
  ])
  return rows.map(toDomain)
}

const INSERT = statement(
  'domains.insert',
  `insert into domains_domain (tenant_id, domain, mailer_id, relay, stage, custom_args, options,
     ownership_token, dkim_keys, provider_state, verified_at, was_verified, due_at, busy_until)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, case when $11 then now() end, $11,
     now() + $12 * interval '1 ms', now() + $12 * interval '1 ms')
   on conflict (tenant_id, domain) do nothing`,
)

/** False when the tenant has it. @param leaseMs for how long nobody else goes on with it */
export async function insertDomain(tx: Tx, d: NewDomain, leaseMs: number | null): Promise<boolean> {
  const { rowCount } = await tx.query(INSERT, [
    d.tenantId,
    d.domain,
    d.mailerId,
    d.relay,
    d.stage,
    d.customArgs === null ? null : JSON.stringify(d.customArgs),
    JSON.stringify(d.options),
    d.ownershipToken,
    JSON.stringify(d.keys),
    JSON.stringify(d.provider),
    d.isVerified,
    leaseMs,
  ])
  return rowCount > 0
}

const DELETE = statement(
  'domains.delete',
  'delete from domains_domain where tenant_id = $1 and domain = $2 and mailer_id = $3',
)

export async function deleteDomain(
  tx: Tx,
  { tenantId, domain, mailerId }: DomainKey & { readonly mailerId: string },
): Promise<void> {
  await tx.query(DELETE, [tenantId, domain, mailerId])
}

const SAVE_CHECK = statement(
  'domains.save_check',
  `update domains_domain
      set dkim_keys = $4, provider_records = $5, record_states = $6, provider_state = $7,
          verified_at = case when $8 then coalesce(verified_at, now()) end,
          was_verified = was_verified or $8, provider_id = coalesce($9, provider_id),
          checked_at = $10, tries = $11, due_at = now() + $12 * interval '1 ms', updated_at = now()
    where tenant_id = $1 and domain = $2 and mailer_id = $3`,
)

export async function saveCheck(
  tx: Tx,
  d: SendingDomain,
  o: { readonly isVerified: boolean; readonly now: Date; readonly nextMs: number | undefined },
): Promise<void> {
  await tx.query(SAVE_CHECK, [
    d.tenantId,
    d.domain,
    d.mailerId,
    JSON.stringify(d.keys),
    JSON.stringify(d.providerRecords),
    JSON.stringify(d.recordStates),
    JSON.stringify(d.provider),
    o.isVerified,
    d.providerId ?? null,
    o.now,
    d.tries,
    o.nextMs ?? null,
  ])
}

const SAVE_KEYS = statement(
  'domains.save_keys',
  `update domains_domain
      set dkim_keys = $4, tries = 0, due_at = now() + $5 * interval '1 ms', updated_at = now()
    where tenant_id = $1 and domain = $2 and mailer_id = $3`,
)

export async function saveKeys(
  tx: Tx,
  d: Pick<SendingDomain, 'tenantId' | 'domain' | 'mailerId' | 'keys'>,
  nextMs: number,
): Promise<void> {
  await tx.query(SAVE_KEYS, [d.tenantId, d.domain, d.mailerId, JSON.stringify(d.keys), nextMs])
}

export function toDomain(row: DomainRow): SendingDomain {
  return {
    tenantId: row.tenant_id,
    domain: row.domain,
    mailerId: row.mailer_id,
    relay: row.relay,
    stage: row.stage,
    ...(row.provider_id === null ? {} : { providerId: row.provider_id }),
    wasThere: row.was_there,
    customArgs: row.custom_args,
    options: row.options,
    ownershipToken: row.ownership_token,
    keys: row.dkim_keys,
    providerRecords: row.provider_records,
    recordStates: row.record_states,
    provider: row.provider_state,
    ...(row.verified_at === null ? {} : { verifiedAt: row.verified_at }),
    state: row.state,
    ...(row.checked_at === null ? {} : { checkedAt: row.checked_at }),
    ...(row.due_at === null ? {} : { dueAt: row.due_at }),
    tries: row.tries,
    isBusy: row.is_busy,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

/** Of some tenants, or of all: those that were verified and are not any more. */
export async function findInvalidDomains(
  q: Queryable,
  limits: CaseLimits,
): Promise<{ readonly tenantId: string; readonly domain: string; readonly mailerId: string }[]> {
  const { rows } = await q.query<{ tenantId: string; domain: string; mailerId: string }>(
    selectCases({
      columns: 't.tenant_id as "tenantId", t.domain, t.mailer_id as "mailerId"',
      from: 'domains_domain',
      where: `t.was_verified and t.verified_at is null and t.stage = 'ready'`,
      subject: 't.domain',
      orderBy: 't.domain',
    }),
    caseValues(limits),
  )
  return rows
}

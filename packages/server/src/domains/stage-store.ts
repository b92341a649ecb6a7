/**
 * SQL of creations and deletions at a provider: who goes on with one, and what came of it. What is
 * found counts only under the fence that it was begun with. Every statement names the tenant, or says
 * why not.
 */
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { RelayRecord } from '../relays/index.ts'
import type {
  DkimKey,
  DomainKey,
  NewDomain,
  ProviderState,
  SendingDomain,
  Stage,
} from './domain.ts'
import { DOMAIN_COLUMNS, type DomainRow, toDomain } from './store.ts'

/** A domain at one of its stages, and the right to go on with it. */
export interface Turn {
  readonly domain: SendingDomain
  readonly fence: string
}

/** Of a row as it was stored: nobody has gone on with it. */
export const FIRST_FENCE = '0'

const TAKE_TURN = statement(
  'domains.take_turn',
  `update domains_domain d
      set busy_until = now() + $4 * interval '1 ms', due_at = now() + $4 * interval '1 ms',
          fence = fence + 1
    where tenant_id = $1 and domain = $2 and stage = $3
      and (busy_until is null or busy_until <= now())
    returning fence, ${DOMAIN_COLUMNS}`,
)

/** Undefined when somebody else is at it, or it is at that stage no more. */
export async function takeTurn(
  q: Queryable,
  { tenantId, domain }: DomainKey,
  stage: Exclude<Stage, 'ready'>,
  leaseMs: number,
): Promise<Turn | undefined> {
  const { rows } = await q.query<DomainRow & { fence: string }>(TAKE_TURN, [
    tenantId,
    domain,
    stage,
    leaseMs,
  ])
  return rows[0] === undefined ? undefined : { domain: toDomain(rows[0]), fence: rows[0].fence }
}

const RENEW = statement(
  'domains.renew_creating',
  `update domains_domain d
      set custom_args = $5, options = $6, dkim_keys = $7, tries = 0, updated_at = now()
    where tenant_id = $1 and domain = $2 and mailer_id = $3 and fence = $4 and stage = 'creating'
    returning fence, ${DOMAIN_COLUMNS}`,
)

/** With what its caller wants now; undefined when somebody else has gone on with it. */
export async function renewCreating(
  q: Queryable,
  { domain: d, fence }: Turn,
  o: Pick<NewDomain, 'customArgs' | 'options' | 'keys'>,
): Promise<Turn | undefined> {
  const { rows } = await q.query<DomainRow & { fence: string }>(RENEW, [
    d.tenantId,
    d.domain,
    d.mailerId,
    fence,
    o.customArgs === null ? null : JSON.stringify(o.customArgs),
    JSON.stringify(o.options),
    JSON.stringify(o.keys),
  ])
  return rows[0] === undefined ? undefined : { domain: toDomain(rows[0]), fence: rows[0].fence }
}

const START_DELETING = statement(
  'domains.start_deleting',
  `update domains_domain d
      set stage = 'deleting', fence = fence + 1, tries = 0, provider_state = '{"agrees":false}',
          verified_at = null,
          -- A creation under way ends first.
          busy_until = greatest(busy_until, now() + $3 * interval '1 ms'),
          due_at = greatest(busy_until, now() + $3 * interval '1 ms')
    where tenant_id = $1 and domain = $2 and stage <> 'deleting'
    returning fence, ${DOMAIN_COLUMNS}`,
)

/** With the right to go on; undefined when it is not there. */
export async function startDeleting(
  tx: Tx,
  { tenantId, domain }: DomainKey,
  leaseMs: number,
): Promise<Turn | undefined> {
  const { rows } = await tx.query<DomainRow & { fence: string }>(START_DELETING, [
    tenantId,
    domain,
    leaseMs,
  ])
  return rows[0] === undefined ? undefined : { domain: toDomain(rows[0]), fence: rows[0].fence }
}

const FINISH_CREATING = statement(
  'domains.finish_creating',
  `update domains_domain
      set stage = 'ready', provider_id = $5, provider_records = $6, dkim_keys = $7,
          provider_state = $8, was_there = $9, busy_until = null, tries = 0,
          due_at = now() + $10 * interval '1 ms', updated_at = now()
    where tenant_id = $1 and domain = $2 and mailer_id = $3 and fence = $4 and stage = 'creating'`,
)

/** False when somebody else has gone on with it. */
export async function finishCreating(
  q: Queryable,
  { domain: d, fence }: Turn,
  o: {
    readonly providerId: string | undefined
    readonly records: readonly RelayRecord[]
    readonly keys: readonly DkimKey[]
    readonly provider: ProviderState
    readonly wasThere: boolean
    readonly nextMs: number
  },
): Promise<boolean> {
  const { rowCount } = await q.query(FINISH_CREATING, [
    d.tenantId,
    d.domain,
    d.mailerId,
    fence,
    o.providerId ?? null,
    JSON.stringify(o.records),
    JSON.stringify(o.keys),
    JSON.stringify(o.provider),
    o.wasThere,
    o.nextMs,
  ])
  return rowCount > 0
}

const PUT_OFF = statement(
  'domains.put_off',
  `update domains_domain
      set provider_state = $5, tries = tries + 1, busy_until = null,
          due_at = now() + $6 * interval '1 ms', updated_at = now()
    where tenant_id = $1 and domain = $2 and mailer_id = $3 and fence = $4`,
)

/** Nothing definite was said: it is tried again. */
export async function putOff(
  q: Queryable,
  { domain: d, fence }: Turn,
  detail: string,
  waitMs: number,
): Promise<void> {
  const provider: ProviderState = { agrees: false, detail }
  const key = [d.tenantId, d.domain, d.mailerId, fence]
  await q.query(PUT_OFF, [...key, JSON.stringify(provider), waitMs])
}

const END = statement(
  'domains.end_turn',
  `delete from domains_domain
    where tenant_id = $1 and domain = $2 and mailer_id = $3 and fence = $4`,
)

/** The domain is gone; false when somebody else has gone on with it. */
export async function endDomain(q: Queryable, { domain: d, fence }: Turn): Promise<boolean> {
  const { rowCount } = await q.query(END, [d.tenantId, d.domain, d.mailerId, fence])
  return rowCount > 0
}

/**
 * Over all tenants, for each in turn: the work is the installation's. Of a tenant no more than a few
 * at once, so that one with many, or slow, name servers holds nobody else up.
 */
const CLAIM_DUE = statement(
  'domains.claim_due',
  `with due as (
     select tenant_id, domain, due_at,
            row_number() over (partition by tenant_id order by due_at) as turn
       from domains_domain where due_at <= now()),
   picked as (
     select d.tenant_id, d.domain from domains_domain d
       join (select tenant_id, domain from due where turn <= $2 order by turn, due_at limit $1) p
         on p.tenant_id = d.tenant_id and p.domain = d.domain
      where d.due_at <= now()
      order by d.tenant_id, d.domain for update of d skip locked)
   update domains_domain d
      set due_at = now() + $3 * interval '1 ms'
     from picked where d.tenant_id = picked.tenant_id and d.domain = picked.domain
   returning ${DOMAIN_COLUMNS}`,
)

/** What is to be checked or gone on with now; nobody else gets it for so long. */
export async function claimDue(
  q: Queryable,
  o: { readonly limit: number; readonly perTenant: number; readonly leaseMs: number },
): Promise<SendingDomain[]> {
  const { rows } = await q.query<DomainRow>(CLAIM_DUE, [o.limit, o.perTenant, o.leaseMs])
  return rows.map(toDomain)
}

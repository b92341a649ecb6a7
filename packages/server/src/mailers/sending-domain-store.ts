/** SQL of sending domains as mailers. Every statement names the tenant. */
import type { DomainLimits, RelayKind, UncertainPolicy } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { defaultUncertain, domainKeyOf } from './mailer.ts'
import type { MailerKey } from './state/state-store.ts'
import { deleteMailer } from './store.ts'

export interface NewDomainMailer extends MailerKey {
  readonly name: string
  /** In wire form. */
  readonly domain: string
  readonly relay: RelayKind
}

const INSERT = statement(
  'mailers.insert_domain',
  `insert into mailers_mailer (tenant_id, mailer_id, name, email, email_key, config_type,
     connection_type, relay, domain, domain_verified, uncertain, limits)
   values ($1, $2, $3, '', $4, 'domain', 'relay', $5, $6, false, $7, '{}')`,
)

/** Unverified: nothing is accepted for it yet. */
export async function insertDomainMailer(tx: Tx, m: NewDomainMailer): Promise<void> {
  const { tenantId, mailerId, name, domain, relay } = m
  const key = domainKeyOf(domain)
  await tx.query(INSERT, [tenantId, mailerId, name, key, relay, domain, defaultUncertain])
}

const SET_VERIFIED = statement(
  'mailers.set_domain_verified',
  `update mailers_mailer set domain_verified = $3, updated_at = now()
    where tenant_id = $1 and mailer_id = $2 and connection_type = 'relay'
      and domain_verified <> $3`,
)

/** What was accepted before is sent, or refused by the provider. */
export async function setDomainVerified(
  tx: Tx,
  { tenantId, mailerId }: MailerKey,
  isVerified: boolean,
): Promise<void> {
  await tx.query(SET_VERIFIED, [tenantId, mailerId, isVerified])
}

/** How a sending domain sends: what its tenant may change of its mailer. */
export interface DomainSettings {
  readonly limits: DomainLimits
  readonly uncertain: UncertainPolicy
}

const READ_SETTINGS = statement(
  'mailers.read_domain_settings',
  `select mailer_id as "mailerId", limits, uncertain from mailers_mailer
    where tenant_id = $1 and mailer_id = any($2::text[])`,
)

/** By the ids of the mailers. */
export async function readDomainSettings(
  q: Queryable,
  tenantId: string,
  mailerIds: readonly string[],
): Promise<ReadonlyMap<string, DomainSettings>> {
  const values = [tenantId, mailerIds]
  const { rows } = await q.query<DomainSettings & { mailerId: string }>(READ_SETTINGS, values)
  return new Map(rows.map(({ mailerId, ...settings }) => [mailerId, settings]))
}

const CHANGE_SETTINGS = statement(
  'mailers.change_domain_settings',
  `update mailers_mailer
      set limits = coalesce($3::json, limits), uncertain = coalesce($4, uncertain),
          config_version = config_version + 1, updated_at = now()
    where tenant_id = $1 and mailer_id = $2 and connection_type = 'relay'
    returning limits, uncertain`,
)

/** What is undefined stays. Undefined when there is no such domain; else its queue is to be woken. */
export async function changeDomainSettings(
  q: Queryable,
  { tenantId, mailerId }: MailerKey,
  { limits, uncertain }: { [Name in keyof DomainSettings]: DomainSettings[Name] | undefined },
): Promise<DomainSettings | undefined> {
  const { rows } = await q.query<DomainSettings>(CHANGE_SETTINGS, [
    tenantId,
    mailerId,
    limits === undefined ? null : JSON.stringify(limits),
    uncertain ?? null,
  ])
  return rows[0]
}

const LIST_OF_RELAY = statement(
  'mailers.list_domains_of_relay',
  `select domain from mailers_mailer where tenant_id = $1 and relay = $2 order by domain limit $3`,
)

/** Which domains send by the tenant's account at a relay: the first few of them. */
export async function listDomainsOfRelay(
  q: Queryable,
  { tenantId, kind }: { readonly tenantId: string; readonly kind: RelayKind },
  limit: number,
): Promise<string[]> {
  const { rows } = await q.query<{ domain: string }>(LIST_OF_RELAY, [tenantId, kind, limit])
  return rows.map(({ domain }) => domain)
}

// In the order of their ids, like all code that locks several mailers.
const RENEW = statement(
  'mailers.renew_of_relay',
  `with found as (
     select mailer_id from mailers_mailer
      where tenant_id = $1 and relay = $2 order by mailer_id for no key update)
   update mailers_mailer m
      set config_version = config_version + 1, updated_at = now(),
          state = case when state = 'deactivated' then 'active' else state end,
          state_reason = case when state = 'deactivated' then null else state_reason end,
          state_evidence = case when state = 'deactivated' then null else state_evidence end,
          state_changed_at = case when state = 'deactivated' then now() else state_changed_at end
     from found where m.tenant_id = $1 and m.mailer_id = found.mailer_id
   returning m.tenant_id as "tenantId", m.mailer_id as "mailerId"`,
)

/**
 * Key or address of the tenant's account at a relay have changed: what was found out about them
 * before counts no more. Those of its mailers that were deactivated are active again (a disabled one
 * stays so), as after any other new credentials. Answers all of them; their queues are to be woken
 * after the commit.
 */
export async function noteRelayChanged(
  tx: Tx,
  { tenantId, kind }: { readonly tenantId: string; readonly kind: RelayKind },
): Promise<MailerKey[]> {
  const { rows } = await tx.query<MailerKey>(RENEW, [tenantId, kind])
  return rows
}

/**
 * Mail that waits for it fails at its next attempt (docs/reference/mailers.md#deletion); its queue is to be
 * woken after the commit.
 */
export async function deleteDomainMailer(
  tx: Tx,
  { tenantId, mailerId }: MailerKey,
): Promise<boolean> {
  return deleteMailer(tx, tenantId, mailerId)
}

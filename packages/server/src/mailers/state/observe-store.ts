/**
 * SQL of what an operator is shown of mailers with queued mail. Over all tenants: it is asked about
 * mailers that were found in the queue, each named with its tenant.
 */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { type CaseLimits, caseValues, selectCases } from '../../platform/limits/case-limits.ts'
import { findHeldTenants } from '../../tenants/index.ts'
import type { Used } from '../limits/decide-permission.ts'
import type { Mailer } from '../mailer.ts'
import { MAILER_COLUMNS, type MailerRow, toMailer } from '../store.ts'
import type { MailerKey } from './state-store.ts'

const KEYS = 'unnest($1::text[], $2::text[]) as k (tenant_id, mailer_id)'

function keyArrays(keys: readonly MailerKey[]): [string[], string[]] {
  return [keys.map((key) => key.tenantId), keys.map((key) => key.mailerId)]
}

const INACTIVE = statement(
  'mailers.find_inactive_of',
  `select k.tenant_id as "tenantId", k.mailer_id as "mailerId"
     from ${KEYS} cross join lateral (
       select state from mailers_mailer
        where tenant_id = k.tenant_id and mailer_id = k.mailer_id limit 1) m
    where m.state <> 'active'`,
)

/** Those of `keys` whose mail is held: the mailer is not active, or the tenant sends nothing. */
export async function findHeldOf<K extends MailerKey>(
  q: Queryable,
  keys: readonly K[],
): Promise<K[]> {
  if (keys.length === 0) return []
  const [{ rows }, tenants] = await Promise.all([
    q.query<MailerKey>(INACTIVE, keyArrays(keys)),
    findHeldTenants(
      q,
      keys.map(({ tenantId }) => tenantId),
    ),
  ])
  const inactive = new Set(rows.map(({ tenantId, mailerId }) => `${tenantId}/${mailerId}`))
  return keys.filter(
    ({ tenantId, mailerId }) => tenants.has(tenantId) || inactive.has(`${tenantId}/${mailerId}`),
  )
}

const LOAD = statement(
  'mailers.observe',
  `select m.*, p.used, (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
     from ${KEYS}
    cross join lateral (
      select ${MAILER_COLUMNS} from mailers_mailer
       where tenant_id = k.tenant_id and mailer_id = k.mailer_id limit 1) m
     left join lateral (
      select used from mailers_permission
       where tenant_id = k.tenant_id and mailer_id = k.mailer_id limit 1) p on true`,
)

export interface ObservedMailer {
  readonly mailer: Mailer
  /** What its limits have permitted, by the database's clock. */
  readonly used: Used
  readonly nowMs: number
}

/** Mailers that are gone are left out. */
export async function observeMailers(
  q: Queryable,
  keys: readonly MailerKey[],
): Promise<ObservedMailer[]> {
  if (keys.length === 0) return []
  const { rows } = await q.query<MailerRow & { used: Used | null; now_ms: number }>(
    LOAD,
    keyArrays(keys),
  )
  return rows.map((row) => ({ mailer: toMailer(row), used: row.used ?? {}, nowMs: row.now_ms }))
}

const DEACTIVATED = statement(
  'mailers.find_deactivated',
  selectCases({
    columns: `t.tenant_id as "tenantId", t.mailer_id as "mailerId", t.email,
          coalesce(t.state_reason, '') as reason, coalesce(t.state_evidence, '') as evidence,
          t.state_changed_at as since`,
    from: 'mailers_mailer',
    where: `t.state = 'deactivated' and t.state <> 'active'`,
    subject: 't.mailer_id',
    orderBy: 't.state_changed_at desc',
  }),
)

export interface DeactivatedMailer extends MailerKey {
  readonly email: string
  readonly reason: string
  readonly evidence: string
  readonly since: Date
}

/** Of some tenants, or of all, in turn: one tenant with many hides no other's. */
export async function findDeactivated(
  q: Queryable,
  limits: CaseLimits,
): Promise<DeactivatedMailer[]> {
  return (await q.query<DeactivatedMailer>(DEACTIVATED, caseValues(limits))).rows
}

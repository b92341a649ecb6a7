/** SQL of mailers' states. Every statement names the tenant, or says why not. */
import type { MailerState } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { findHeldTenants } from '../../tenants/index.ts'
import type { Mailer, ServerMailer } from '../mailer.ts'
import { MAILER_COLUMNS, type MailerRow, toMailer } from '../store.ts'

export type MailerKey = Pick<Mailer, 'tenantId' | 'mailerId'>

const LOCK = statement(
  'mailers.lock',
  `select ${MAILER_COLUMNS} from mailers_mailer
    where tenant_id = $1 and mailer_id = $2 for no key update`,
)

/** Until the end of the transaction nobody else changes it. Undefined when it is gone. */
export async function lockMailer(tx: Tx, key: MailerKey): Promise<Mailer | undefined> {
  const { rows } = await tx.query<MailerRow>(LOCK, [key.tenantId, key.mailerId])
  return rows[0] === undefined ? undefined : toMailer(rows[0])
}

const SET_STATE = statement(
  'mailers.set_state',
  `update mailers_mailer
      set state = $3, state_reason = $4, state_evidence = $5, state_changed_at = now(),
          -- What was found out under an earlier activation does not end this one.
          config_version = config_version + case when $3 = 'active' then 1 else 0 end,
          refused_at = case when $3 = 'active' then null else refused_at end
    where tenant_id = $1 and mailer_id = $2
    returning ${MAILER_COLUMNS}`,
)

/** Of a locked one. */
export async function setState(
  tx: Tx,
  key: MailerKey,
  state: MailerState,
  why?: { readonly reason: string; readonly evidence: string },
): Promise<Mailer> {
  const { rows } = await tx.query<MailerRow>(SET_STATE, [
    key.tenantId,
    key.mailerId,
    state,
    why?.reason ?? null,
    why?.evidence ?? null,
  ])
  if (rows[0] === undefined) throw new Error(`the locked mailer ${key.mailerId} is gone`)
  return toMailer(rows[0])
}

const FIND_RELEASED = statement(
  'mailers.find_released',
  `select tenant_id as "tenantId", mailer_id as "mailerId" from mailers_mailer
    where state = 'active' and state_changed_at > now() - $1 * interval '1 ms'
   union all
   select k.tenant_id, k.mailer_id from unnest($2::text[], $3::text[]) as k (tenant_id, mailer_id)
    where not exists (select from mailers_mailer m
                       where m.tenant_id = k.tenant_id and m.mailer_id = k.mailer_id)`,
)

/**
 * Mailers that became active within `withinMs`, and those of `held` that were deleted. Of all
 * tenants: it is asked by senders, about mailers whose mail they hold.
 */
export async function findReleased(
  q: Queryable,
  o: { readonly withinMs: number; readonly held: readonly MailerKey[] },
): Promise<MailerKey[]> {
  const { rows } = await q.query<MailerKey>(FIND_RELEASED, [
    o.withinMs,
    o.held.map(({ tenantId }) => tenantId),
    o.held.map(({ mailerId }) => mailerId),
  ])
  return rows
}

const FIND_INACTIVE = statement(
  'mailers.find_inactive',
  `select mailer_id as "mailerId" from mailers_mailer where tenant_id = $1 and state <> 'active'`,
)
const FIND_ALL = statement(
  'mailers.find_ids',
  `select mailer_id as "mailerId" from mailers_mailer where tenant_id = $1`,
)

/** Those whose mail is held: because of themselves, or all because their tenant is suspended. */
export async function findInactive(q: Queryable, tenantId: string): Promise<string[]> {
  const isHeld = (await findHeldTenants(q, [tenantId])).has(tenantId)
  const { rows } = await q.query<{ mailerId: string }>(isHeld ? FIND_ALL : FIND_INACTIVE, [
    tenantId,
  ])
  return rows.map(({ mailerId }) => mailerId)
}

const LOCK_REFUSALS = statement(
  'mailers.lock_refusals',
  `select pg_advisory_xact_lock(hashtextextended('mailers.refusals|' || $1, 0))`,
)

/** One rejected login of a tenant is judged after the other. */
export async function lockRefusals(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(LOCK_REFUSALS, [tenantId])
}

const NOTE_REFUSED = statement(
  'mailers.note_refused',
  `update mailers_mailer
      set refused_at = case when refused_at > worked_at then refused_at else now() end
    where tenant_id = $1 and mailer_id = $2
    returning refused_at > now() - $3 * interval '1 ms' as is_recent`,
)

const COUNT_LOGINS = statement(
  'mailers.count_logins',
  `with lately as (
     select refused_at, worked_at,
            min(refused_at) filter (where refused_at > now() - $4 * interval '1 ms') over () as since
       from mailers_mailer
      where tenant_id = $1 and host = $2 and port = $3 and worked_at is not null)
   select count(*) filter (where refused_at >= since)::int as refused,
          count(*) filter (where worked_at >= since
                             and (refused_at is null or refused_at < worked_at))::int as worked
     from lately`,
)

export interface RefusalRecord {
  /** Its refusals began within the window. */
  readonly isRecent: boolean
  /** Of mailers on the same server, itself included: refused since within the window. */
  readonly refused: number
  /** Of them, those that have logged in since the first of these refusals. */
  readonly worked: number
}

/**
 * Notes a rejected login, and answers what became of the tenant's mailers on the same server lately.
 * Ones that never logged in count for nothing: their password may always have been wrong. Nor do
 * other tenants': nobody can keep the mailers of another in use.
 */
export async function noteRefused(
  tx: Tx,
  { tenantId, mailerId, config: { host, port } }: ServerMailer,
  windowMs: number,
): Promise<RefusalRecord> {
  const noted = await tx.query<{ is_recent: boolean }>(NOTE_REFUSED, [tenantId, mailerId, windowMs])
  const { rows } = await tx.query<{ refused: number; worked: number }>(COUNT_LOGINS, [
    tenantId,
    host,
    port,
    windowMs,
  ])
  const { refused = 0, worked = 0 } = rows[0] ?? {}
  return { isRecent: noted.rows[0]?.is_recent === true, refused, worked }
}

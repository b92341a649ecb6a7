/**
 * SQL of a tenant's state and quotas. A statement over several tenants is asked about tenants that were found
 * elsewhere, such as in the send queue.
 */
import type { Quotas, TenantState } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { Tenant } from './store.ts'

const HELD = statement(
  'tenants.find_held',
  `select tenant_id as "tenantId", state, state_changed_at as since from tenants_tenant
    where tenant_id = any($1::text[]) and state <> 'active'`,
)

export interface HeldTenant {
  readonly state: Exclude<TenantState, 'active'>
  readonly since: Date
}

/** Those that send nothing: suspended, or being deleted. */
export async function findHeldTenants(
  q: Queryable,
  tenantIds: readonly string[],
): Promise<ReadonlyMap<string, HeldTenant>> {
  if (tenantIds.length === 0) return new Map()
  const values = [[...new Set(tenantIds)]]
  const { rows } = await q.query<HeldTenant & { tenantId: string }>(HELD, values)
  return new Map(rows.map((row) => [row.tenantId, row]))
}

const ACTIVATED = statement(
  'tenants.find_activated',
  `select tenant_id as "tenantId" from tenants_tenant
    where tenant_id = any($1::text[]) and state = 'active'
      and state_changed_at > now() - $2::float8 * interval '1 ms'`,
)

/** Those that became active within `withinMs`. */
export async function findActivatedTenants(
  q: Queryable,
  o: { readonly tenantIds: readonly string[]; readonly withinMs: number },
): Promise<ReadonlySet<string>> {
  if (o.tenantIds.length === 0) return new Set()
  const values = [[...new Set(o.tenantIds)], o.withinMs]
  const { rows } = await q.query<{ tenantId: string }>(ACTIVATED, values)
  return new Set(rows.map(({ tenantId }) => tenantId))
}

const HOLD_UNDELETED = statement(
  'tenants.hold_undeleted',
  `select tenant_id as "tenantId" from tenants_tenant
    where tenant_id = any($1::text[]) and state <> 'deleting' order by tenant_id for share`,
)

/**
 * Those that may have rows. To the end of the transaction no deletion of them begins, so it finds all that is
 * written until then.
 */
export async function holdUndeleted(tx: Tx, tenantIds: readonly string[]): Promise<string[]> {
  const { rows } = await tx.query<{ tenantId: string }>(HOLD_UNDELETED, [tenantIds])
  return rows.map(({ tenantId }) => tenantId)
}

const TENANT = `tenant_id as "tenantId", name, state, created_at as "createdAt",
  json_build_object('emails_per_second', emails_per_second, 'emails_per_day', emails_per_day,
    'queued_max', queued_max, 'storage_bytes_max', storage_bytes_max) as quotas`

export async function listTenants(
  q: Queryable,
  o: {
    readonly before: string | undefined
    readonly limit: number
    /** Has to be in the name, whatever the case. */
    readonly namePart?: string | undefined
  },
): Promise<Tenant[]> {
  const { rows } = await q.query<Tenant>(
    `select ${TENANT} from tenants_tenant
     where ($1::text is null or tenant_id < $1)
       and ($3::text is null or strpos(lower(name), lower($3)) > 0)
     order by tenant_id desc limit $2`,
    [o.before ?? null, o.limit, o.namePart ?? null],
  )
  return rows
}

export async function findTenant(q: Queryable, tenantId: string): Promise<Tenant | undefined> {
  const { rows } = await q.query<Tenant>(
    `select ${TENANT} from tenants_tenant where tenant_id = $1`,
    [tenantId],
  )
  return rows[0]
}

/** Until the end of the transaction nobody else changes it. */
export async function lockTenant(tx: Tx, tenantId: string): Promise<Tenant | undefined> {
  const { rows } = await tx.query<Tenant>(
    `select ${TENANT} from tenants_tenant where tenant_id = $1 for no key update`,
    [tenantId],
  )
  return rows[0]
}

export async function storeTenant(
  tx: Tx,
  tenantId: string,
  o: { readonly name: string; readonly state: TenantState; readonly quotas: Quotas },
): Promise<void> {
  const { quotas } = o
  await tx.query(
    `update tenants_tenant
        set name = $2, state = $3, emails_per_second = $4, emails_per_day = $5, queued_max = $6,
            storage_bytes_max = $7,
            state_changed_at = case when state = $3 then state_changed_at else now() end
      where tenant_id = $1`,
    [
      ...[tenantId, o.name, o.state, quotas.emails_per_second, quotas.emails_per_day],
      ...[quotas.queued_max, quotas.storage_bytes_max],
    ],
  )
}

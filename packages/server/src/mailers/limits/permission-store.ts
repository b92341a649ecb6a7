/** SQL of what mailers with limits were permitted. Every statement names the tenant. */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { Used } from './decide-permission.ts'

export interface PermissionKey {
  readonly tenantId: string
  readonly mailerId: string
}

const LOCK = statement(
  'mailers.lock_permission',
  'select used from mailers_permission where tenant_id = $1 and mailer_id = $2 for update',
)

// After the lock: a time from before it would be that of somebody who waited.
const NOW = statement(
  'mailers.permission_time',
  'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms',
)

const ADD = statement(
  'mailers.add_permission',
  `insert into mailers_permission (tenant_id, mailer_id, used)
   select tenant_id, mailer_id, '{}' from mailers_mailer where tenant_id = $1 and mailer_id = $2
   on conflict do nothing`,
)

export interface LockedPermission {
  readonly used: Used
  /** By the database's clock. */
  readonly nowMs: number
}

/** For this transaction alone. Undefined when there is no such row. */
export async function lockPermission(
  tx: Tx,
  { tenantId, mailerId }: PermissionKey,
): Promise<LockedPermission | undefined> {
  const [{ rows }, time] = await Promise.all([
    tx.query<{ used: Used }>(LOCK, [tenantId, mailerId]),
    tx.query<{ now_ms: number }>(NOW),
  ])
  const [row] = rows
  const nowMs = time.rows[0]?.now_ms
  return row === undefined || nowMs === undefined
    ? undefined
    : { used: row.used, nowMs: Math.floor(nowMs) }
}

/** Nothing when the mailer is gone. */
export async function addPermission(
  q: Queryable,
  { tenantId, mailerId }: PermissionKey,
): Promise<void> {
  await q.query(ADD, [tenantId, mailerId])
}

const KEEP = statement(
  'mailers.keep_permission',
  'update mailers_permission set used = $3 where tenant_id = $1 and mailer_id = $2',
)

export async function keepPermission(
  tx: Tx,
  { tenantId, mailerId }: PermissionKey,
  used: Used,
): Promise<void> {
  await tx.query(KEEP, [tenantId, mailerId, JSON.stringify(used)])
}

/**
 * SQL of the audit log: what the operator and people changed, and what a tenant's keys changed of its keys.
 * Every statement names the tenant, but for the operator's list and the one that removes old entries.
 */
import { type Queryable, statement } from '../platform/db/index.ts'

/** In place of a tenant, for changes that are not about the data of one. */
export const noTenant = ''

export interface AuditKey {
  readonly tenantId: string
  readonly entryId: string
}

export interface AuditEntry extends AuditKey {
  readonly actor: string
  readonly operation: string
  readonly target: string | undefined
  readonly from: string
  readonly requestId: string
}

const INSERT = statement(
  'tenants.insert_audit_entry',
  `insert into tenants_audit_entry
     (tenant_id, entry_id, actor, operation, target, from_address, request_id)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

export async function insertAuditEntry(q: Queryable, e: AuditEntry): Promise<void> {
  await q.query(INSERT, [
    ...[e.tenantId, e.entryId, e.actor, e.operation, e.target ?? null, e.from, e.requestId],
  ])
}

const END = statement(
  'tenants.end_audit_entry',
  `update tenants_audit_entry set status = $3, target = coalesce($4, target)
    where tenant_id = $1 and entry_id = $2`,
)

export async function endAuditEntry(
  q: Queryable,
  { tenantId, entryId }: AuditKey,
  o: { readonly status: number; readonly target: string | undefined },
): Promise<void> {
  await q.query(END, [tenantId, entryId, o.status, o.target ?? null])
}

export interface ListedAuditEntry extends AuditKey {
  readonly at: Date
  readonly actor: string
  readonly operation: string
  readonly target: string | null
  readonly from: string
  readonly requestId: string
  readonly status: number | null
}

/**
 * Newest first.
 *
 * @param o.tenantId undefined: of all tenants, for the operator
 */
export async function listAuditEntries(
  q: Queryable,
  o: {
    readonly tenantId: string | undefined
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<ListedAuditEntry[]> {
  const [own, others] = o.tenantId === undefined ? ['', ''] : ['tenant_id = $3 and', o.tenantId]
  const { rows } = await q.query<ListedAuditEntry>(
    `select tenant_id as "tenantId", entry_id as "entryId", at, actor, operation, target,
            from_address as "from", request_id as "requestId", status
       from tenants_audit_entry
      where ${own} ($1::text is null or entry_id < $1) order by entry_id desc limit $2`,
    [o.before ?? null, o.limit, ...(others === '' ? [] : [others])],
  )
  return rows
}

const DELETE_OLD = statement(
  'tenants.delete_old_audit_entries',
  // By their places: a plan that joins by the key may read the whole table.
  `delete from tenants_audit_entry where ctid = any(array(
     select place
       from (select ctid as place, at from tenants_audit_entry order by entry_id limit $2) oldest
      where at < now() - $1::float8 * interval '1 ms'))`,
)

/**
 * Over all tenants: removes what is older than `ageMs` among the `limit` oldest entries. It reads no more
 * than these, by the index of entry ids.
 */
export async function deleteOldAuditEntries(
  q: Queryable,
  ageMs: number,
  limit: number,
): Promise<number> {
  return (await q.query(DELETE_OLD, [ageMs, limit])).rowCount
}

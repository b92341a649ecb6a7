/**
 * Entries of the audit log for what is no call of an audited operation, such as a login. Written where it is done,
 * in its transaction if it has one (docs/reference/operator.md#audit-log).
 */
import { insertRows, type Queryable } from '../platform/db/index.ts'
import { newUlid } from '../platform/ids.ts'
import { type AuditEntry, noTenant } from './audit-store.ts'

export interface AuditedFact extends Omit<AuditEntry, 'tenantId' | 'entryId'> {
  /** Each has an entry. None: the operator has it. */
  readonly tenantIds: readonly string[]
  readonly status: number
}

export async function recordAudit(q: Queryable, fact: AuditedFact): Promise<void> {
  const { tenantIds, actor, operation, target, from, requestId, status } = fact
  await insertRows(q, {
    name: 'tenants.insert_audit_entries',
    into: 'tenants_audit_entry',
    columns: [
      'tenant_id',
      'entry_id',
      'actor',
      'operation',
      'target',
      'from_address',
      'request_id',
      'status',
    ],
    rows: (tenantIds.length === 0 ? [noTenant] : tenantIds).map((tenantId) => [
      ...[tenantId, newUlid(), actor, operation, target ?? null, from, requestId, status],
    ]),
  })
}

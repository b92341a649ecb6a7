/**
 * The operator acts for a tenant (docs/reference/operator.md#acting-for-a-tenant): who may be acted for, and
 * the record of it. What people change, and what a tenant's keys change of its keys, is recorded in the same
 * way.
 *
 * An entry is committed before the change is begun, so a change without an entry cannot be, also
 * where the process ends in between. How it was answered is added afterwards.
 */
import type { Db } from '../platform/db/index.ts'
import type { OperatorAccess } from '../platform/http/act-for-tenant.ts'
import { newUlid } from '../platform/ids.ts'
import type { Logger } from '../platform/log.ts'
import { endAuditEntry, insertAuditEntry, noTenant } from './audit-store.ts'
import { hasTenant } from './store.ts'

const ACTED: Readonly<Record<string, string>> = {
  operator: 'operator.acted',
  user: 'user.acted',
  cli: 'cli.acted',
}

export function createOperatorAccess({
  db,
  log,
}: {
  readonly db: Db
  readonly log: Logger
}): OperatorAccess {
  return {
    hasTenant: (tenantId) => hasTenant(db, tenantId),
    async begin(call) {
      const entry = { ...call, tenantId: call.tenantId ?? noTenant, entryId: newUlid() }
      await insertAuditEntry(db, entry)
      return async ({ status, target: made, changes }) => {
        const target = targetOf(call.target, status === 201 ? made : undefined) ?? made
        log.info(
          {
            request_id: call.requestId,
            tenant_id: call.tenantId,
            actor: call.actor,
            operation: call.operation,
            // Of a suppression it is an address: that is in the record alone.
            target: target?.includes('@') === true ? undefined : target,
            from: call.from,
            status,
          },
          ACTED[call.actor.split('_', 1)[0] ?? ''] ?? 'key.acted',
        )
        await endAuditEntry(db, entry, { status, target, changes }).catch((error: unknown) =>
          log.warn({ err: error, request_id: call.requestId }, 'audit_entry.not_ended'),
        )
      }
    },
  }
}

/** What was made stands behind what the path names, such as a key behind its tenant. */
function targetOf(named: string | undefined, made: string | undefined): string | undefined {
  if (named === undefined || made === undefined || named.split('/').includes(made)) return named
  return `${named}/${made}`
}

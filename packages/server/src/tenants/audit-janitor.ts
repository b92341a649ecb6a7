/**
 * Removes entries of the audit log that are older than `AUDIT_RETENTION`
 * (docs/reference/operator.md#audit-log).
 */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createJanitor } from '../platform/work/janitor.ts'
import type { PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteOldAuditEntries } from './audit-store.ts'

/** A round answers how many entries it removed. */
export function createAuditJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createJanitor({
    name: 'audit janitor',
    log,
    async round(inPieces) {
      const removed = await inPieces((limit) => deleteOldAuditEntries(db, retentionMs, limit))
      if (removed > 0) log.info({ removed }, 'audit_entries.removed')
      return removed
    },
    failed: 'audit_janitor.failed',
  })
}

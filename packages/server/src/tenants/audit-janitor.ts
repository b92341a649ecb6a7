/**
 * Removes entries of the audit log that are older than `AUDIT_RETENTION`
 * (docs/reference/operator.md#acting-for-a-tenant).
 */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteOldAuditEntries } from './audit-store.ts'

const INTERVAL_MS = 10 * 60_000
const PIECE = 1_000
const PIECES_MAX = 200

/** A round answers how many entries it removed. */
export function createAuditJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createPeriodicTask({
    name: 'audit janitor',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    async round(inPieces) {
      const removed = await inPieces(() => deleteOldAuditEntries(db, retentionMs, PIECE))
      if (removed > 0) log.info({ removed }, 'audit_entries.removed')
      return removed
    },
    failed: 'audit_janitor.failed',
  })
}

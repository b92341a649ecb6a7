/** Removes suppressions that have ended. Nobody waits for that: each reader compares with the time. */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createJanitor } from '../platform/work/janitor.ts'
import type { PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteEnded } from './store.ts'

/** A round answers how many it removed. */
export function createExpiryJanitor({
  db,
  log,
}: {
  readonly db: Db
  readonly log: Logger
}): PeriodicTask {
  return createJanitor({
    name: 'suppression janitor',
    log,
    async round(inPieces) {
      const removed = await inPieces((limit) => deleteEnded(db, limit))
      if (removed > 0) log.info({ removed }, 'suppressions.ended')
      return removed
    },
    failed: 'suppression_janitor.failed',
  })
}

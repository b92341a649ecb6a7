/** Forgets what was seen longer ago than a message is recognised. */
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createJanitor } from '../../platform/work/janitor.ts'
import type { PeriodicTask } from '../../platform/work/periodic-task.ts'
import { dropOldSeen } from './seen-store.ts'

const INTERVAL_MS = 60_000

/** A round answers how many went. */
export function createInboundJanitor(deps: {
  readonly db: Db
  readonly log: Logger
}): PeriodicTask {
  const { db, log } = deps
  return createJanitor({
    name: 'inbound janitor',
    log,
    intervalMs: INTERVAL_MS,
    round: (inPieces) => inPieces((limit) => dropOldSeen(db, limit)),
    failed: 'inbound_janitor.failed',
  })
}

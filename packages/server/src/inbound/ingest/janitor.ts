/** Forgets what was seen longer ago than a message is recognised. */
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createPeriodicTask, type PeriodicTask } from '../../platform/work/periodic-task.ts'
import { dropOldSeen } from './seen-store.ts'

const INTERVAL_MS = 60_000
const PIECE = 1_000
const PIECES_MAX = 200

/** A round answers how many went. */
export function createInboundJanitor(deps: {
  readonly db: Db
  readonly log: Logger
}): PeriodicTask {
  const { db, log } = deps
  return createPeriodicTask({
    name: 'inbound janitor',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    round: (inPieces) => inPieces(() => dropOldSeen(db, PIECE)),
    failed: 'inbound_janitor.failed',
  })
}

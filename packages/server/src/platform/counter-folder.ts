/** Folds counter changes into hourly sums, and deletes sums after 400 days. */

import { dropOldCounters, foldCounters } from './counter-store.ts'
import type { Db } from './db/index.ts'
import type { Logger } from './log.ts'
import { createPeriodicTask, type PeriodicTask } from './work/periodic-task.ts'

const INTERVAL_MS = 10_000
const PIECE = 5_000
const PIECES_MAX = 100
const KEPT_MS = 400 * 86_400_000

/** A round answers how many changes were folded. */
export function createCounterFolder(deps: {
  readonly db: Db
  readonly log: Logger
  /** A smaller one, for tests. */
  readonly piece?: number
}): PeriodicTask {
  const { db, log, piece = PIECE } = deps
  return createPeriodicTask({
    name: 'counters',
    log,
    intervalMs: INTERVAL_MS,
    piece,
    piecesMax: PIECES_MAX,
    async round(inPieces) {
      const folded = await inPieces(() => foldCounters(db, piece))
      await dropOldCounters(db, KEPT_MS)
      return folded
    },
    failed: 'counters.not_folded',
  })
}

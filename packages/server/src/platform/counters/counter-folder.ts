/** Folds counter changes into sums, and deletes sums that are too old. */

import type { Db } from '../db/index.ts'
import type { Logger } from '../log.ts'
import { createPeriodicTask, type PeriodicTask } from '../work/periodic-task.ts'
import { dropOldCounters, foldCounters, type KeptCounters } from './counter-store.ts'

const INTERVAL_MS = 10_000
/** Each row has at most 200 changes, which take about 0.1 ms each where all groups differ. */
const PIECE = 100
const PIECES_MAX = 5_000
/**
 * Of a tenant in an hour, and in a day, for each that is grouped by. A stranger can be written to at a
 * million domains: what comes after these is summed up as one.
 */
export const groupsMax = 200
const DAY_MS = 86_400_000
/** A day longer than what is asked for: intervals at both ends belong to it. */
const KEPT: KeptCounters = {
  tenMinutesMs: 2 * DAY_MS,
  hoursMs: 400 * DAY_MS,
  groupHoursMs: 33 * DAY_MS,
  groupDaysMs: 400 * DAY_MS,
}

/** A round answers how many changes were folded. */
export function createCounterFolder(deps: {
  readonly db: Db
  readonly log: Logger
  /** Smaller ones, for tests. */
  readonly piece?: number
  readonly groupsMax?: number
}): PeriodicTask {
  const { db, log, piece: limit = PIECE } = deps
  return createPeriodicTask({
    name: 'counters',
    log,
    intervalMs: INTERVAL_MS,
    piece: limit,
    piecesMax: PIECES_MAX,
    async round(inPieces) {
      const most = deps.groupsMax ?? groupsMax
      const folded = await inPieces(() => foldCounters(db, { limit, groupsMax: most }))
      await dropOldCounters(db, KEPT)
      return folded
    },
    failed: 'counters.not_folded',
  })
}

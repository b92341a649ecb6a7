/** Removes what is kept aside and what stayed unmatched, when it is older than what is kept of emails. */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { dropOldUnmatched } from './apply/unmatched-store.ts'
import { dropOldRefused } from './intake/inbox-store.ts'

const INTERVAL_MS = 10 * 60_000
const PIECE = 1_000
const PIECES_MAX = 200

/** A round answers how many callbacks and reports went. */
export function createFeedbackJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createPeriodicTask({
    name: 'feedback janitor',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    async round(inPieces) {
      const callbacks = await inPieces(() => dropOldRefused(db, retentionMs, PIECE))
      const reports = await inPieces(() => dropOldUnmatched(db, retentionMs, PIECE))
      if (callbacks + reports > 0) log.info({ callbacks, reports }, 'unmatched_feedback.removed')
      return callbacks + reports
    },
    failed: 'feedback_janitor.failed',
  })
}

/** Removes what is kept aside and what stayed unmatched, when it is older than what is kept of emails. */
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createJanitor } from '../platform/work/janitor.ts'
import type { PeriodicTask } from '../platform/work/periodic-task.ts'
import { dropOldUnmatched } from './apply/unmatched-store.ts'
import { dropOldRefused } from './intake/inbox-store.ts'

/** A round answers how many callbacks and reports went. */
export function createFeedbackJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createJanitor({
    name: 'feedback janitor',
    log,
    async round(inPieces) {
      const callbacks = await inPieces((limit) => dropOldRefused(db, retentionMs, limit))
      const reports = await inPieces((limit) => dropOldUnmatched(db, retentionMs, limit))
      if (callbacks + reports > 0) log.info({ callbacks, reports }, 'unmatched_feedback.removed')
      return callbacks + reports
    },
    failed: 'feedback_janitor.failed',
  })
}

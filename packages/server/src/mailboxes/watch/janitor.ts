/** Forgets messages of mailboxes that were fetched longer ago than anything of them is kept. */
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createJanitor } from '../../platform/work/janitor.ts'
import type { PeriodicTask } from '../../platform/work/periodic-task.ts'
import { dropOldFetched } from './mailbox-store.ts'

/** A round answers how many went. */
export function createMailboxJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  // A day longer than a watcher takes it for known.
  const olderThanMs = retentionMs + 86_400_000
  return createJanitor({
    name: 'mailbox janitor',
    log,
    round: (inPieces) => inPieces((limit) => dropOldFetched(db, { olderThanMs, limit })),
    failed: 'mailbox_janitor.failed',
  })
}

/** Forgets messages of mailboxes that were fetched longer ago than anything of them is kept. */
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createPeriodicTask, type PeriodicTask } from '../../platform/work/periodic-task.ts'
import { dropOldFetched } from './mailbox-store.ts'

const INTERVAL_MS = 10 * 60_000
const PIECE = 1_000
const PIECES_MAX = 200

/** A round answers how many went. */
export function createMailboxJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  // A day longer than a watcher takes it for known.
  const olderThanMs = retentionMs + 86_400_000
  return createPeriodicTask({
    name: 'mailbox janitor',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    round: (inPieces) => inPieces(() => dropOldFetched(db, { olderThanMs, limit: PIECE })),
    failed: 'mailbox_janitor.failed',
  })
}

/**
 * Removes idempotency keys whose 24 hours are over (docs/reference/idempotency.md#the-key), a bounded piece
 * at a time, and the last errors of mailers, and copies for Sent folders, that are older than what else is
 * kept of emails.
 */
import { deleteOldErrors } from '../mailers/index.ts'
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteOldKeys } from './accept/key-store.ts'
import { dropOldSentCopies } from './sent-copies/claim-store.ts'

const INTERVAL_MS = 10 * 60_000
const PIECE = 5_000
const PIECES_MAX = 200

/** A round answers how many keys went. */
export function createJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createPeriodicTask({
    name: 'janitor',
    log,
    intervalMs: INTERVAL_MS,
    piece: PIECE,
    piecesMax: PIECES_MAX,
    async round(inPieces) {
      await deleteOldErrors(db, retentionMs)
      const copies = await inPieces(() => dropOldSentCopies(db, retentionMs, PIECE))
      if (copies > 0) log.info({ copies }, 'sent_copies.removed')
      const removed = await inPieces(() => deleteOldKeys(db, PIECE))
      if (removed > 0) log.info({ removed }, 'idempotency_keys.removed')
      return removed
    },
    failed: 'janitor.failed',
  })
}

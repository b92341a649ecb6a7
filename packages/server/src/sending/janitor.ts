/**
 * Removes idempotency keys whose 24 hours are over (docs/reference/idempotency.md#the-key), a bounded piece
 * at a time, and the last errors of mailers, and copies for Sent folders, that are older than what else is
 * kept of emails. Emails and their content leave by the day: `retention-days.ts`.
 */
import { deleteOldErrors } from '../mailers/index.ts'
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { createJanitor } from '../platform/work/janitor.ts'
import type { PeriodicTask } from '../platform/work/periodic-task.ts'
import { deleteOldKeys } from './accept/key-store.ts'
import { dropOldSentCopies } from './sent-copies/copy-jobs-store.ts'

const PIECE = 5_000

/** A round answers how many keys went. */
export function createSendingJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): PeriodicTask {
  const { db, log, retentionMs } = deps
  return createJanitor({
    name: 'janitor',
    log,
    piece: PIECE,
    async round(inPieces) {
      await deleteOldErrors(db, retentionMs)
      const copies = await inPieces((limit) => dropOldSentCopies(db, retentionMs, limit))
      if (copies > 0) log.info({ copies }, 'sent_copies.removed')
      const removed = await inPieces((limit) => deleteOldKeys(db, limit))
      if (removed > 0) log.info({ removed }, 'idempotency_keys.removed')
      return removed
    },
    failed: 'janitor.failed',
  })
}

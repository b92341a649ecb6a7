/**
 * Removes idempotency keys whose 24 hours are over (contract §2), a bounded piece at a time, and the
 * last errors of mailers that are older than what else is kept of emails.
 */
import { deleteOldErrors } from '../mailers/index.ts'
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import type { Service } from '../platform/service.ts'
import { deleteOldKeys } from './key-store.ts'

export interface Janitor extends Service {
  /** Answers how many keys went. */
  runOnce(): Promise<number>
}

const INTERVAL_MS = 10 * 60_000
const PIECE = 5_000
const PIECES_MAX = 200

export function createJanitor(deps: {
  readonly db: Db
  readonly log: Logger
  readonly retentionMs: number
}): Janitor {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  async function runOnce(): Promise<number> {
    await deleteOldErrors(deps.db, deps.retentionMs)
    let removed = 0
    for (let i = 0; i < PIECES_MAX && !isStopped; i++) {
      const piece = await deleteOldKeys(deps.db, PIECE)
      removed += piece
      if (piece < PIECE) break
    }
    if (removed > 0) deps.log.info({ removed }, 'idempotency_keys.removed')
    return removed
  }

  function run(): void {
    running ??= runOnce()
      .then(() => undefined)
      .catch((error: unknown) => deps.log.warn({ err: error }, 'janitor.failed'))
      .finally(() => {
        running = undefined
      })
  }

  return {
    name: 'janitor',
    runOnce,
    async start() {
      isStopped = false
      timer ??= setInterval(run, INTERVAL_MS)
    },
    async stop() {
      isStopped = true
      clearInterval(timer)
      timer = undefined
      await running
    },
  }
}

/** Folds changes of tallies into their sums, and forgets sums after 400 days. */
import type { Db } from './db/index.ts'
import type { Logger } from './log.ts'
import type { Service } from './service.ts'
import { dropOldTallies, foldTallies } from './tally-store.ts'

export interface TallyFolder extends Service {
  /** Answers how many changes were folded. */
  runOnce(): Promise<number>
}

const INTERVAL_MS = 10_000
const PIECE = 5_000
const PIECES_MAX = 100
const KEPT_MS = 400 * 86_400_000

export function createTallyFolder(deps: {
  readonly db: Db
  readonly log: Logger
  /** A smaller one, for tests. */
  readonly piece?: number
}): TallyFolder {
  const { piece = PIECE } = deps
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isStopped = false

  async function runOnce(): Promise<number> {
    let folded = 0
    for (let i = 0; i < PIECES_MAX && !isStopped; i++) {
      const n = await foldTallies(deps.db, piece)
      folded += n
      if (n < piece) break
    }
    await dropOldTallies(deps.db, KEPT_MS)
    return folded
  }

  function run(): void {
    running ??= runOnce()
      .then(() => undefined)
      .catch((error: unknown) => deps.log.warn({ err: error }, 'tallies.not_folded'))
      .finally(() => {
        running = undefined
      })
  }

  return {
    name: 'tallies',
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

/** Tells in the database that this process runs, what it does, and of which version it is. */
import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import type { Db } from '../db/index.ts'
import type { Logger } from '../log.ts'
import { createLoop } from '../work/loop.ts'
import { forgetProcess, type ProcessFacts, tellProcess } from './process-store.ts'

const INTERVAL_MS = 15_000
const FORGET_WITHIN_MS = 1_000
/** Three of its tellings are missing. */
export const processGoneAfterMs = 60_000

export interface ProcessRegistry extends Service {
  runOnce(): Promise<void>
}

export function createProcessRegistry(o: {
  readonly db: Db
  readonly log: Logger
  readonly facts: ProcessFacts
}): ProcessRegistry {
  const { db, log, facts } = o
  let isTold = false
  const runOnce = async () => {
    isTold = true
    await tellProcess(db, facts, processGoneAfterMs)
  }
  const loop = createLoop({
    ...{ name: 'process registry', log, failed: 'process.not_told' },
    ...{ sweepMs: INTERVAL_MS, backOffMs: INTERVAL_MS },
    pass: runOnce,
  })
  return {
    ...loop,
    runOnce,
    async stop() {
      await loop.stop()
      // It is forgotten soon in any case, also when the database is away.
      const forgotten = isTold ? forgetProcess(db, facts.processId) : undefined
      await waitAtMost(
        Promise.resolve(forgotten).catch(() => undefined),
        FORGET_WITHIN_MS,
      )
    },
  }
}

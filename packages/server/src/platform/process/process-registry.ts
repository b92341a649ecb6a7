/** Tells in the database that this process runs, what it does, and of which version it is. */
import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import type { Db } from '../db/index.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
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
  readonly metrics: Metrics
  readonly facts: ProcessFacts
}): ProcessRegistry {
  const { db, log, facts } = o
  let isTold = false
  let offsetS = 0
  const runOnce = async () => {
    isTold = true
    const askedMs = Date.now()
    const { nowS } = await tellProcess(db, facts, processGoneAfterMs)
    offsetS = (askedMs + Date.now()) / 2_000 - nowS
  }
  o.metrics.gaugeRead(
    'clock_offset_seconds',
    "How far this host's clock is ahead of the database's",
    () => offsetS,
  )
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

/** Work in rounds: at an interval, one round at a time, each in a bounded number of pieces. */

import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../log.ts'
import { createLoop } from './loop.ts'

export interface PeriodicTask extends Service {
  /** One round, now; answers what it does. */
  runOnce(): Promise<number>
}

/** Repeats a step until it did less than a whole piece; answers how much it did in all. */
export type InPieces = (step: () => Promise<number>) => Promise<number>

export function createPeriodicTask(o: {
  readonly name: string
  readonly log: Logger
  readonly intervalMs: number
  readonly piece?: number
  /** In one round; the next goes on. */
  readonly piecesMax?: number
  readonly round: (inPieces: InPieces) => Promise<number>
  /** What the log says of a round that failed; the next comes all the same. */
  readonly failed: string
}): PeriodicTask {
  const { name, log, failed, intervalMs, piece = 1, piecesMax = 1 } = o
  let isStopped = false

  async function inPieces(step: () => Promise<number>): Promise<number> {
    let done = 0
    for (let i = 0; i < piecesMax && !isStopped; i++) {
      const count = await step()
      done += count
      if (count < piece) break
    }
    return done
  }

  const runOnce = () => o.round(inPieces)
  const times = { sweepMs: intervalMs, firstMs: intervalMs, backOffMs: intervalMs }
  const loop = createLoop({ name, log, failed, ...times, backOffMsMax: intervalMs, pass: runOnce })

  return {
    name,
    runOnce,
    async start() {
      isStopped = false
      await loop.start()
    },
    async stop() {
      isStopped = true
      await loop.stop()
    },
  }
}

/** A janitor removes what is not kept any longer: every ten minutes, in pieces of a bounded size. */
import type { Logger } from '../log.ts'
import { createPeriodicTask, type PeriodicTask } from './periodic-task.ts'

const INTERVAL_MS = 10 * 60_000
const PIECE = 1_000
const PIECES_MAX = 200

/** Repeats a step that removes so many at the most, until less was left; answers how many went. */
export type RemoveInPieces = (step: (limit: number) => Promise<number>) => Promise<number>

export function createJanitor(o: {
  readonly name: string
  readonly log: Logger
  readonly intervalMs?: number
  readonly piece?: number
  /** Answers how many went. */
  readonly round: (inPieces: RemoveInPieces) => Promise<number>
  /** What the log says of a round that failed; the next comes all the same. */
  readonly failed: string
}): PeriodicTask {
  const { name, log, failed, intervalMs = INTERVAL_MS, piece = PIECE } = o
  return createPeriodicTask({
    ...{ name, log, failed, intervalMs, piece, piecesMax: PIECES_MAX },
    round: (inPieces) => o.round((step) => inPieces(() => step(piece))),
  })
}

/**
 * Applies stored callbacks and unmatched reports, for as long as there is anything. Told of what this process
 * has stored; what others have, and what became due, it finds by looking.
 */
import type { Logger } from '../../platform/log.ts'
import { createLoop, type Loop } from '../../platform/work/loop.ts'
import type { CallbackApplier } from './apply-callbacks.ts'
import type { UnmatchedApplier } from './apply-unmatched.ts'

export interface FeedbackWorker extends Loop {
  /** Until nothing is left that is due; answers how many callbacks and unmatched reports that was. */
  runOnce(): Promise<number>
}

const SWEEP_MS = 1_000

export function createFeedbackWorker(deps: {
  readonly log: Logger
  readonly callbacks: CallbackApplier
  readonly unmatched: UnmatchedApplier
}): FeedbackWorker {
  const { callbacks, unmatched, log } = deps

  async function runOnce(mayGoOn = () => true): Promise<number> {
    let done = 0
    while (mayGoOn()) {
      const piece = (await callbacks.runOnce(mayGoOn)) + (await unmatched.runOnce())
      done += piece
      if (piece === 0) break
    }
    return done
  }

  const loop = createLoop({
    ...{ name: 'feedback', log, failed: 'feedback.failed', sweepMs: SWEEP_MS },
    pass: runOnce,
  })
  return { ...loop, runOnce: () => runOnce() }
}

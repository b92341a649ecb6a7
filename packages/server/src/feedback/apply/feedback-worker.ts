/**
 * Applies what is stored and what is parked, for as long as there is anything. Told of what this process
 * has stored; what others have, and what became due, it finds by looking.
 */
import type { Logger } from '../../platform/log.ts'
import type { Service } from '../../platform/service.ts'
import type { CallbackApplier } from './apply-callbacks.ts'
import type { ParkedApplier } from './apply-parked.ts'

export interface FeedbackWorker extends Service {
  /** Until nothing is left that is due; answers how many callbacks and parked reports that was. */
  runOnce(): Promise<number>
  /** There is something to do so much later. */
  wake(inMs: number): void
}

const SWEEP_MS = 1_000
/** After a failure; it doubles. */
const REST_MS = 250
const REST_MS_MAX = 5_000

export function createFeedbackWorker(deps: {
  readonly log: Logger
  readonly callbacks: CallbackApplier
  readonly parked: ParkedApplier
}): FeedbackWorker {
  const { callbacks, parked, log } = deps
  let isStopped = true
  let isWoken = false
  let restMs = REST_MS
  let restsUntil = Number.NEGATIVE_INFINITY
  let running: Promise<void> | undefined
  let sweep: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined

  async function runOnce(mayGoOn = () => true): Promise<number> {
    let done = 0
    while (mayGoOn()) {
      const piece = (await callbacks.runOnce(mayGoOn)) + (await parked.runOnce())
      done += piece
      if (piece === 0) break
    }
    return done
  }

  async function drain(): Promise<void> {
    while (isWoken && !isStopped) {
      isWoken = false
      await runOnce(() => !isStopped)
    }
    restMs = REST_MS
  }

  function run(): void {
    isWoken = true
    if (isStopped || running !== undefined || performance.now() < restsUntil) return
    running = drain()
      .catch((error: unknown) => {
        log.warn({ err: error }, 'feedback.failed')
        restsUntil = performance.now() + restMs
        restMs = Math.min(restMs * 2, REST_MS_MAX)
      })
      .finally(() => {
        running = undefined
        if (isWoken) run()
      })
  }

  function lookSoon(): void {
    soon = undefined
    run()
  }

  return {
    name: 'feedback',
    runOnce: () => runOnce(),
    wake(inMs) {
      if (isStopped) return
      if (inMs === 0) return run()
      // Else it is found by looking.
      if (inMs < SWEEP_MS) soon ??= setTimeout(lookSoon, inMs)
    },
    async start() {
      isStopped = false
      sweep ??= setInterval(run, SWEEP_MS)
      run()
    },
    async stop() {
      isStopped = true
      clearInterval(sweep)
      sweep = undefined
      clearTimeout(soon)
      soon = undefined
      await running
    },
  }
}

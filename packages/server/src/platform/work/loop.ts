/**
 * A loop that does what waits until nothing is left, and then waits itself.
 *
 * - Wake: somebody who has made work says so. A wake while the loop works is one more pass, however many
 *   wakes there were.
 * - Sweep: every `sweepMs` the loop looks by itself. A wake may be lost with its process; the work is not.
 * - Back-off: after a pass that failed, the loop waits `backOffMs`, then twice as long, up to
 *   `backOffMsMax`. Wakes do not shorten the wait. The first pass that succeeds ends it.
 * - Stop: no pass begins after `stop`, and `stop` resolves when the pass under way has ended.
 */
import type { Logger } from '../log.ts'
import type { Service } from '../service.ts'

export interface Loop extends Service {
  /** There is work, `inMs` milliseconds from now. A time beyond the next sweep is left to the sweep. */
  wake(inMs?: number): void
  /** Backs off as after a pass that failed. For a pass whose work goes on after it, and fails there. */
  backOff(): void
}

export interface LoopOptions {
  readonly name: string
  readonly log: Logger
  /** What the log says of a pass that failed. */
  readonly failed: string
  readonly sweepMs: number
  readonly backOffMs?: number
  readonly backOffMsMax?: number
  /** One pass: all that waits. It ends early when `mayGoOn` says no. */
  readonly pass: (mayGoOn: () => boolean) => Promise<unknown>
}

const BACK_OFF_MS = 250
const BACK_OFF_MS_MAX = 5_000

export function createLoop(o: LoopOptions): Loop {
  const { backOffMs = BACK_OFF_MS, backOffMsMax = BACK_OFF_MS_MAX } = o
  let isRunning = false
  let isWoken = false
  let nextBackOffMs = backOffMs
  let backsOffUntil = Number.NEGATIVE_INFINITY
  let working: Promise<void> | undefined
  let sweep: NodeJS.Timeout | undefined
  let soon: NodeJS.Timeout | undefined

  const mayGoOn = () => isRunning

  async function work(): Promise<void> {
    while (isWoken && isRunning) {
      isWoken = false
      await o.pass(mayGoOn)
    }
    nextBackOffMs = backOffMs
  }

  function backOff(): void {
    backsOffUntil = performance.now() + nextBackOffMs
    nextBackOffMs = Math.min(nextBackOffMs * 2, backOffMsMax)
  }

  function run(): void {
    isWoken = true
    if (!isRunning || working !== undefined || performance.now() < backsOffUntil) return
    working = work()
      .catch((error: unknown) => {
        o.log.warn({ err: error }, o.failed)
        backOff()
      })
      .finally(() => {
        working = undefined
        if (isWoken) run()
      })
  }

  function runSoon(): void {
    soon = undefined
    run()
  }

  return {
    name: o.name,
    backOff,
    wake(inMs = 0) {
      if (inMs <= 0) run()
      else if (isRunning && inMs < o.sweepMs) soon ??= setTimeout(runSoon, inMs)
    },
    async start() {
      isRunning = true
      sweep ??= setInterval(run, o.sweepMs)
      run()
    },
    async stop() {
      isRunning = false
      clearInterval(sweep)
      sweep = undefined
      clearTimeout(soon)
      soon = undefined
      await working
    },
  }
}

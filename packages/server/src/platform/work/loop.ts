/**
 * A loop that does what waits until nothing is left, and then waits itself.
 *
 * - Wake: somebody who has made work says so. A wake while the loop works is one more pass, however many
 *   wakes there were.
 * - Sweep: at the latest `sweepMs` after a pass the loop looks by itself. A wake may be lost with its
 *   process; the work is not.
 * - Back-off: after a pass that failed, the loop waits `backOffMs`, then twice as long, up to
 *   `backOffMsMax`. Wakes do not shorten the wait. The first pass that succeeds ends it.
 * - Stop: no pass begins after `stop`, and `stop` resolves when the pass under way has ended.
 */

import type { Service } from '@postrider/runtime/service'
import { runTask } from '@postrider/runtime/task'
import type { Logger } from '../log.ts'

export interface Loop extends Service {
  /** There is work, `inMs` milliseconds from now. A time beyond the next sweep is left to the sweep. */
  wake(inMs?: number): void
  /** Backs off as after a pass that failed. For a pass whose work goes on after it, and fails there. */
  backOff(): void
  /** Resolves when no pass is under way. */
  settled(): Promise<void>
}

export interface LoopOptions {
  readonly name: string
  readonly log: Logger
  /** What the log says of a pass that failed. */
  readonly failed: string
  /** Where a failure is more than a warning. */
  readonly failedLevel?: 'error'
  readonly sweepMs: number
  /** From the start to the first pass; without, at once. */
  readonly firstMs?: number
  /** A pass that took long is followed by a wait that is so many times as long. */
  readonly restFactor?: number
  readonly backOffMs?: number
  readonly backOffMsMax?: number
  /**
   * One pass: all that waits. It ends early when `mayGoOn` says no. `isSweep`: it was not only a wake
   * that brought it about.
   */
  readonly pass: (mayGoOn: () => boolean, isSweep: boolean) => Promise<unknown>
}

const BACK_OFF_MS = 250
const BACK_OFF_MS_MAX = 5_000

export function createLoop(o: LoopOptions): Loop {
  const { backOffMs = BACK_OFF_MS, restFactor = 0 } = o
  const backOffMsMax = o.backOffMsMax ?? Math.max(backOffMs, BACK_OFF_MS_MAX)
  let isRunning = false
  let isWoken = false
  let isSweepDue = false
  let nextBackOffMs = backOffMs
  let backsOffUntil = Number.NEGATIVE_INFINITY
  let working: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let timerAt = Number.POSITIVE_INFINITY

  const mayGoOn = () => isRunning

  async function work(): Promise<void> {
    const startedMs = performance.now()
    const restMs = () => (performance.now() - startedMs) * restFactor
    try {
      while (isWoken && isRunning) {
        const isSweep = isSweepDue
        isWoken = isSweepDue = false
        await o.pass(mayGoOn, isSweep)
      }
      nextBackOffMs = backOffMs
      sweepIn(Math.max(o.sweepMs, restMs()))
    } catch (error) {
      o.log[o.failedLevel ?? 'warn']({ err: error }, o.failed)
      isWoken = isSweepDue = true
      backOff(restMs())
    }
  }

  function backOff(atLeastMs = 0): void {
    backsOffUntil = performance.now() + Math.max(nextBackOffMs, atLeastMs)
    nextBackOffMs = Math.min(nextBackOffMs * 2, backOffMsMax)
  }

  function run(): void {
    isWoken = true
    if (!isRunning || working !== undefined) return
    const backOffLeftMs = backsOffUntil - performance.now()
    if (backOffLeftMs > 0) sweepIn(backOffLeftMs)
    else working = begin()
  }

  /** The work belongs to the loop, not to the task that woke it. */
  function begin(): Promise<void> {
    return runTask(o.name, work).finally(() => {
      working = undefined
      if (isWoken) run()
    })
  }

  /** One timer for all: the soonest time counts. */
  function sweepIn(ms: number): void {
    const at = performance.now() + ms
    if (!isRunning || at >= timerAt) return
    clearTimeout(timer)
    timerAt = at
    timer = setTimeout(sweep, ms)
  }

  function sweep(): void {
    clearTimeout(timer)
    timerAt = Number.POSITIVE_INFINITY
    isSweepDue = true
    run()
  }

  return {
    name: o.name,
    backOff: () => backOff(),
    wake(inMs = 0) {
      if (inMs <= 0) run()
      else sweepIn(inMs)
    },
    async settled() {
      await working
    },
    async start() {
      isRunning = true
      if (o.firstMs === undefined) sweep()
      else sweepIn(o.firstMs)
    },
    async stop() {
      isRunning = false
      clearTimeout(timer)
      timerAt = Number.POSITIVE_INFINITY
      await working
    },
  }
}

/**
 * The dispatcher: serves the streams of the buckets whose lease this process holds.
 *
 * Streams are found by wake-ups, by what other processes tell, and by a sweep each second, which
 * finds what the others missed; they are served by serve-streams.ts. Here is what makes that begin,
 * look again, and end.
 */

import type { Service } from '@postrider/runtime/service'
import { type BucketLeases, createBucketSweep } from '../../../platform/db/index.ts'
import type { DiscoverStreams } from './discover-streams.ts'
import type { SchedulerCounts } from './fair-scheduler.ts'
import { createStreamServer, type ServeStreamsDeps } from './serve-streams.ts'
import type { Wakeups } from './wakeups.ts'

export interface DispatcherDeps
  extends Pick<ServeStreamsDeps, 'log' | 'deliver' | 'concurrency' | 'lingerMs'> {
  readonly leases: BucketLeases
  readonly wakeups: Wakeups
  readonly discover: DiscoverStreams
  readonly sweepMs?: number
  /** The longest that one webhook request may take. */
  readonly timeoutMs: number
  /** How long requests under way may last after `stop`. */
  readonly stopGraceMs?: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
}

export interface Dispatcher extends Service {
  /** Finds the active streams and does what is due, until nothing is. For tests. */
  runOnce(): Promise<void>
  /** Steps under way and waiting. */
  counts(): SchedulerCounts
}

const SWEEP_MS = 1_000
const STOP_GRACE_MS = 5_000
/** For what is written before and after a request. */
const SETTLE_MS = 5_000

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const { leases } = deps
  const streams = createStreamServer({
    ...deps,
    mayServe: ({ bucket }) => leases.owned().has(bucket),
    onFree: () => lookAtLeases(),
    requestMs: deps.timeoutMs,
    stopGraceMs: deps.stopGraceMs ?? STOP_GRACE_MS,
    monotonicMs: deps.monotonicMs ?? (() => performance.now()),
  })
  const lookAtLeases = leases.usedBy({
    giveBack: streams.giveBack,
    isFree: streams.isFree,
    // Nothing begins after the time of two requests, and what has begun is over after one more.
    giveBackMsMax: 3 * deps.timeoutMs + SETTLE_MS,
  })
  let stopping: Promise<void> | undefined
  let unsubscribe: (() => void)[] = []
  let isStarted = false

  async function look(buckets: readonly number[]): Promise<void> {
    for (const stream of await deps.discover(buckets, SWEEP_MS)) streams.find(stream)
  }

  const sweep = createBucketSweep({
    ...{ name: 'dispatcher', log: deps.log, failed: 'webhook_sweep.failed' },
    leases,
    sweepMs: deps.sweepMs ?? SWEEP_MS,
    look,
  })

  async function finish(): Promise<void> {
    for (const end of unsubscribe) end()
    unsubscribe = []
    await Promise.all([streams.close(), sweep.stop()])
  }

  return {
    name: 'dispatcher',
    async start() {
      if (isStarted) return
      isStarted = true
      await stopping
      if (!isStarted) return
      streams.open()
      unsubscribe = [
        deps.wakeups.onWake((woken) => woken.forEach(streams.wake)),
        deps.wakeups.onNews(sweep.lookAt),
      ]
      await sweep.start()
    },
    stop() {
      isStarted = false
      stopping ??= finish().finally(() => {
        stopping = undefined
      })
      return stopping
    },
    async runOnce() {
      await look([...leases.owned()])
      await streams.quiet()
    },
    counts: () => streams.counts(),
  }
}

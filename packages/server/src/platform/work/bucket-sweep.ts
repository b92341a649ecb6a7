/**
 * Looks for work in the buckets that this process owns: in all of them at the start, whenever it
 * gets others and every `sweepMs`, and in between in those in which another process says it has made
 * some. One look at a time; what is asked for meanwhile is one look more, however often it was.
 */
import type { BucketLeases } from '../db/leases.ts'

export interface BucketSweep {
  start(): void
  lookAt(buckets: Iterable<number>): void
  /** Resolves when the look under way is over. */
  stop(): Promise<void>
}

export function createBucketSweep(o: {
  readonly leases: BucketLeases
  readonly sweepMs: number
  readonly look: (buckets: readonly number[]) => Promise<void>
  readonly onError: (error: unknown) => void
}): BucketSweep {
  const { leases } = o
  let wanted = new Set<number>()
  let looking: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let isRunning = false

  function lookAt(buckets: Iterable<number>): void {
    if (!isRunning) return
    const owned = leases.owned()
    for (const bucket of buckets) if (owned.has(bucket)) wanted.add(bucket)
    proceed()
  }

  function proceed(): void {
    if (looking !== undefined || wanted.size === 0) return
    const buckets = [...wanted]
    wanted = new Set()
    looking = o
      .look(buckets)
      .catch(o.onError)
      .finally(() => {
        looking = undefined
        proceed()
      })
  }

  function sweep(): void {
    if (!isRunning) return
    clearTimeout(timer)
    timer = setTimeout(sweep, o.sweepMs)
    lookAt(leases.owned())
  }

  leases.onChange(sweep)

  return {
    start() {
      isRunning = true
      sweep()
    },
    lookAt,
    async stop() {
      isRunning = false
      clearTimeout(timer)
      wanted.clear()
      await looking
    },
  }
}

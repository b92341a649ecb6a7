/**
 * Looks for work in the buckets that this process owns: in all of them at the start, whenever it
 * gets others and every `sweepMs`, and in between in those in which another process says it has made
 * some. One look at a time; what is asked for meanwhile is one look more, however often it was.
 */

import type { Service } from '@postrider/runtime/service'
import type { BucketLeases } from '../db/leases.ts'
import { createLoop, type LoopOptions } from './loop.ts'

export interface BucketSweep extends Service {
  lookAt(buckets: Iterable<number>): void
}

export function createBucketSweep(
  o: Pick<LoopOptions, 'name' | 'log' | 'failed' | 'sweepMs'> & {
    readonly leases: BucketLeases
    readonly look: (buckets: readonly number[]) => Promise<void>
  },
): BucketSweep {
  const { leases, look, ...rest } = o
  let wanted = new Set<number>()

  const loop = createLoop({
    ...rest,
    backOffMsMax: o.sweepMs,
    async pass(_mayGoOn, isSweep) {
      const buckets = [...(isSweep ? leases.owned() : wanted)]
      wanted = new Set()
      if (buckets.length > 0) await look(buckets)
    },
  })

  function lookAt(buckets: Iterable<number>): void {
    const owned = leases.owned()
    for (const bucket of buckets) if (owned.has(bucket)) wanted.add(bucket)
    if (wanted.size > 0) loop.wake()
  }

  leases.onChange(() => lookAt(leases.owned()))

  return { name: o.name, lookAt, start: loop.start, stop: loop.stop }
}

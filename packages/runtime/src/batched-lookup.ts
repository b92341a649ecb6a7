/**
 * Looks things up for many callers with one query at a time. Callers that come while a query runs share
 * the next one. Callers take turns by the group they belong to (an address, say), so a group with many
 * look-ups delays the others by one query.
 *
 * A failed query fails the look-ups that were in it, and no others.
 */
import { createFairQueue } from './fair-queue.ts'

export interface BatchedLookup<K, V> {
  find(group: string, key: K): Promise<V | undefined>
}

interface Waiter<K, V> {
  /** As the turns name it. */
  readonly tenantId: string
  readonly key: K
  readonly resolve: (found: V | undefined) => void
  readonly reject: (error: unknown) => void
}

export function createBatchedLookup<K, V>(o: {
  readonly keysMax: number
  /** Answers in the order of the keys. */
  readonly run: (keys: readonly K[]) => Promise<readonly (V | undefined)[]>
}): BatchedLookup<K, V> {
  const waiting = createFairQueue<Waiter<K, V>>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (waiting.size > 0) await runBatch()
    isRunning = false
  }

  async function runBatch(): Promise<void> {
    const batch: Waiter<K, V>[] = []
    while (batch.length < o.keysMax) {
      const next = waiting.take()
      if (next === undefined) break
      batch.push(next)
    }
    try {
      const found = await o.run(batch.map(({ key }) => key))
      for (const [i, { resolve }] of batch.entries()) resolve(found[i])
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  return {
    find: (group, key) =>
      new Promise((resolve, reject) => {
        waiting.add({ tenantId: group, key, resolve, reject })
        if (!isRunning) void run()
      }),
  }
}

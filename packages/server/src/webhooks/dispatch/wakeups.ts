/**
 * Tells the workers of this process that a stream has something to do. A hint: whoever misses it
 * finds the stream at the next sweep.
 */
import type { BucketedStream } from './stream-store.ts'

export interface Wakeups {
  wake(streams: readonly BucketedStream[]): void
  onWake(listener: (streams: readonly BucketedStream[]) => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Set<(streams: readonly BucketedStream[]) => void>()
  return {
    wake(streams) {
      if (streams.length > 0) for (const listener of listeners) listener(streams)
    },
    onWake(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

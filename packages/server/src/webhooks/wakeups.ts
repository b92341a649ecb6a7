/**
 * Tells the workers of this process that a stream has something to do. A hint: whoever misses it
 * finds the stream at the next sweep.
 */
import type { TouchedStream } from './record-events.ts'

export interface Wakeups {
  wake(streams: readonly TouchedStream[]): void
  onWake(listener: (streams: readonly TouchedStream[]) => void): () => void
}

export function createWakeups(): Wakeups {
  const listeners = new Set<(streams: readonly TouchedStream[]) => void>()
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

/** One clock for all relative times of the page. */
import { useSyncExternalStore } from 'react'

interface Clock {
  subscribe(listener: () => void): () => void
  nowMs(): number
}

/** Ticks while somebody listens. Who comes first reads the time anew: nobody may have listened for long. */
export function createClock(everyMs: number): Clock {
  let nowMs = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const listeners = new Set<() => void>()
  function tick(): void {
    nowMs = Date.now()
    for (const listener of listeners) listener()
  }
  return {
    subscribe(listener) {
      if (timer === undefined) {
        nowMs = Date.now()
        timer = setInterval(tick, everyMs)
      }
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
    nowMs: () => nowMs,
  }
}

const clock = createClock(10_000)

export function useNow(): Date {
  return new Date(useSyncExternalStore(clock.subscribe, clock.nowMs))
}

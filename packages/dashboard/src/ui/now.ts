/** One clock for all relative times of the page. */
import { useSyncExternalStore } from 'react'

const everyMs = 10_000
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined
const listeners = new Set<() => void>()

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(tick, everyMs)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  nowMs = Date.now()
  for (const listener of listeners) listener()
}

export function useNow(): Date {
  return new Date(useSyncExternalStore(subscribe, () => nowMs))
}

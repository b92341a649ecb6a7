/**
 * How much work one peer may cause, in estimated microseconds of CPU: a burst, then a share of each
 * second. What goes beyond is done later; while it waits, the peer's bytes stay in the peer's socket.
 */
export interface Pace {
  /** For how many milliseconds the peer is to wait before what comes next; 0: not at all. */
  spend(micros: number): number
}

/** A peer that waits does so for as much at once: few timers, and what comes meanwhile comes together. */
const AT_ONCE_MS = 20

export function createPace(o: {
  readonly burstMicros: number
  readonly microsPerSecond: number
  readonly monotonicMs: () => number
}): Pace {
  const microsPerMs = o.microsPerSecond / 1000
  let left = o.burstMicros
  let atMs = o.monotonicMs()
  return {
    spend(micros) {
      const nowMs = o.monotonicMs()
      left = Math.min(o.burstMicros, left + (nowMs - atMs) * microsPerMs) - micros
      atMs = nowMs
      return left >= 0 ? 0 : Math.ceil(-left / microsPerMs) + AT_ONCE_MS
    },
  }
}

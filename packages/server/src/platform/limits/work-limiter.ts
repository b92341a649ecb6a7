/**
 * Limits the work that one peer may cause (a token bucket), in estimated microseconds of CPU: a burst,
 * then a share of each second. Work beyond the limit waits, and the bytes of the peer wait in its socket.
 */
export interface WorkLimiter {
  /** Counts work. Answers for how many milliseconds the peer has to wait then; 0: not at all. */
  spend(micros: number): number
}

/** Added to each wait: few timers, and several segments are handled together. */
const AT_ONCE_MS = 20

export function createWorkLimiter(o: {
  readonly burstMicros: number
  readonly microsPerSecond: number
  readonly monotonicMs: () => number
}): WorkLimiter {
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

/**
 * Time as the service sees it.
 *
 * `nowMicros` is strictly increasing within a process: two facts never share a microsecond, so
 * that `event_at` orders what one process has seen. It follows the wall clock and never steps back.
 */
export interface Clock {
  now(): Date
  /** Microseconds since 1970-01-01T00:00:00Z. */
  nowMicros(): bigint
}

export function createClock(): Clock {
  let last = 0n
  return {
    now: () => new Date(),
    nowMicros() {
      const wall = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000))
      const drifted = BigInt(Date.now()) * 1000n
      // performance.now() is monotonic but ignores corrections of the wall clock: follow those.
      const difference = wall > drifted ? wall - drifted : drifted - wall
      const candidate = difference > 2000n ? drifted : wall
      last = candidate > last ? candidate : last + 1n
      return last
    },
  }
}

/** RFC 3339 in UTC with microseconds: `2026-01-02T03:04:05.678901Z`. */
export function formatMicros(micros: bigint): string {
  const millis = new Date(Number(micros / 1000n)).toISOString()
  return `${millis.slice(0, -1)}${(micros % 1000n).toString().padStart(3, '0')}Z`
}

/**
 * Time as the service sees it.
 *
 * `nowMicros` is strictly increasing within a process: two facts never share a microsecond, so
 * that `event_at` orders what one process has seen. It follows the wall clock and steps back only
 * when that was set back by seconds: one leap must not put every later event into the future.
 */
export interface Clock {
  now(): Date
  /** Microseconds since 1970-01-01T00:00:00Z. */
  nowMicros(): bigint
}

const STEP_BACK_MICROS = 5_000_000n

export function createClock(nowMs: () => number = Date.now): Clock {
  let last = 0n
  return {
    now: () => new Date(nowMs()),
    nowMicros() {
      const fine = BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000))
      const wall = BigInt(Math.floor(nowMs())) * 1000n
      // performance.now() is monotonic but ignores corrections of the wall clock: follow those.
      const difference = fine > wall ? fine - wall : wall - fine
      const candidate = difference > 2000n ? wall : fine
      if (candidate > last || candidate + STEP_BACK_MICROS < last) last = candidate
      else last += 1n
      return last
    },
  }
}

let writtenSecond = -1n
let written = ''

/**
 * RFC 3339 in UTC with microseconds: `2026-01-02T03:04:05.678901Z`. Times of one second share what is
 * written of it.
 */
export function formatMicros(micros: bigint): string {
  const second = micros / 1_000_000n
  if (second !== writtenSecond) {
    writtenSecond = second
    written = new Date(Number(second) * 1000).toISOString().slice(0, -4)
  }
  return `${written}${String(micros - second * 1_000_000n).padStart(6, '0')}Z`
}

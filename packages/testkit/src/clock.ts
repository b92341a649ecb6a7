/**
 * A clock that stands still until it is told to move, in the shape the server injects.
 * `nowMicros` is strictly increasing even while the time stands still, as the real one is.
 */
export interface TestClock {
  now(): Date
  nowMicros(): bigint
  /** Moves the clock; a negative step is a clock that was set back. */
  advance(ms: number): void
  set(time: Date | string): void
}

export function createClock(start: Date | string = '2026-01-01T00:00:00Z'): TestClock {
  let nowMs = new Date(start).getTime()
  let lastMicros = 0n
  return {
    now: () => new Date(nowMs),
    nowMicros() {
      const micros = BigInt(Math.trunc(nowMs)) * 1000n
      lastMicros = micros > lastMicros ? micros : lastMicros + 1n
      return lastMicros
    },
    advance(ms) {
      nowMs += ms
    },
    set(time) {
      nowMs = new Date(time).getTime()
    },
  }
}

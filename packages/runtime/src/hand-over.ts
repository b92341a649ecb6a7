/**
 * Values on their way from one part of a process to another, which would read them from the database otherwise.
 *
 * A hint: nothing may rest on it. So much is kept at most, and nothing new while that is used up: what came first is
 * asked for first. What nobody has asked for in time is dropped.
 */
export interface HandOver<Value> {
  put(key: string, value: Value, bytes: number): void
  /** Once. */
  take(key: string): Value | undefined
}

export function createHandOver<Value>(o: {
  readonly bytesMax: number
  readonly keptMs: number
}): HandOver<Value> {
  interface Kept {
    readonly value: Value
    readonly bytes: number
    readonly endsMs: number
  }
  const kept = new Map<string, Kept>()
  let bytes = 0
  /** One timer for all: for the oldest, or one that is taken already. */
  let isTimed = false

  function take(key: string): Value | undefined {
    const one = kept.get(key)
    if (one === undefined) return undefined
    kept.delete(key)
    bytes -= one.bytes
    return one.value
  }

  function dropOldIn(ms: number): void {
    isTimed = true
    setTimeout(dropOld, ms).unref()
  }

  function dropOld(): void {
    isTimed = false
    const nowMs = performance.now()
    for (const [key, { endsMs }] of kept) {
      if (endsMs > nowMs) break
      take(key)
    }
    const [oldest] = kept.values()
    if (oldest !== undefined) dropOldIn(oldest.endsMs - nowMs)
  }

  return {
    put(key, value, added) {
      if (bytes + added > o.bytesMax) return
      bytes += added
      kept.set(key, { value, bytes: added, endsMs: performance.now() + o.keptMs })
      if (!isTimed) dropOldIn(o.keptMs)
    },
    take,
  }
}

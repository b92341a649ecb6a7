/**
 * One timer for all waiting on a connection. Moving the due time costs no timer, as long as it
 * moves into the future: what fires too early looks again.
 */
export interface Deadline {
  /** In the time of `performance.now()`. */
  set(dueAt: number): void
  clear(): void
  /** For good. */
  dispose(): void
}

export function createDeadline(onPassed: () => void): Deadline {
  let dueAt = Number.POSITIVE_INFINITY
  let firesAt = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  const schedule = () => {
    clearTimeout(timer)
    firesAt = dueAt
    timer = setTimeout(fire, Math.max(1, Math.ceil(dueAt - performance.now()))).unref()
  }
  const fire = () => {
    timer = undefined
    firesAt = Number.POSITIVE_INFINITY
    if (dueAt === Number.POSITIVE_INFINITY) return
    if (performance.now() < dueAt) return schedule()
    dueAt = Number.POSITIVE_INFINITY
    onPassed()
  }

  return {
    set(next) {
      dueAt = next
      if (dueAt < firesAt) schedule()
    },
    clear() {
      dueAt = Number.POSITIVE_INFINITY
    },
    dispose() {
      dueAt = Number.POSITIVE_INFINITY
      clearTimeout(timer)
    },
  }
}

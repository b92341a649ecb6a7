/** Deadlines of many that wait for equally long, with one timer for all: the oldest is late first. */
export interface Deadlines {
  /** `onLate` is called once, unless it is deleted before. */
  add(onLate: () => void): Deadline
  delete(deadline: Deadline): void
}

export interface Deadline {
  readonly dueAt: number
  readonly onLate: () => void
}

export function createDeadlines(afterMs: number): Deadlines {
  /** In the order in which they were added. */
  const waiting = new Set<Deadline>()
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    timer = undefined
    const now = performance.now()
    for (const deadline of waiting) {
      if (deadline.dueAt > now) {
        timer = setTimeout(look, deadline.dueAt - now)
        return
      }
      waiting.delete(deadline)
      deadline.onLate()
    }
  }

  return {
    add(onLate) {
      const deadline = { dueAt: performance.now() + afterMs, onLate }
      waiting.add(deadline)
      timer ??= setTimeout(look, afterMs)
      return deadline
    },
    delete(deadline) {
      waiting.delete(deadline)
      if (waiting.size > 0) return
      clearTimeout(timer)
      timer = undefined
    },
  }
}

/**
 * Waiting for a condition without polling: code that changes the state calls `notify`, and every
 * waiter looks again. A deadline turns "never happens" into an error that says what was missing.
 */
export interface Signal {
  /** Wakes the waiters. Costs nothing while nobody waits. */
  notify(): void
  until(isMet: () => boolean, o: UntilOptions): Promise<void>
  /** Rejects everyone who still waits. */
  close(reason: string): void
}

export interface UntilOptions {
  readonly timeoutMs?: number | undefined
  /** Says what is waited for and what is there instead; read only when it fails. */
  readonly describe: () => string
}

interface Waiter {
  readonly isMet: () => boolean
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

const DEFAULT_TIMEOUT_MS = 15_000

export function createSignal(): Signal {
  const waiters = new Set<Waiter>()
  return {
    notify() {
      if (waiters.size === 0) return
      for (const waiter of waiters) if (waiter.isMet()) waiter.resolve()
    },
    until(isMet, o) {
      if (isMet()) return Promise.resolve()
      const timeoutMs = o.timeoutMs ?? DEFAULT_TIMEOUT_MS
      return new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(deadline)
          waiters.delete(waiter)
        }
        const waiter: Waiter = {
          isMet,
          resolve: () => {
            leave()
            resolve()
          },
          reject: (error) => {
            leave()
            reject(error)
          },
        }
        const deadline = setTimeout(
          () => waiter.reject(new Error(`after ${timeoutMs} ms: ${o.describe()}`)),
          timeoutMs,
        )
        waiters.add(waiter)
      })
    },
    close(reason) {
      for (const waiter of waiters) waiter.reject(new Error(reason))
    },
  }
}

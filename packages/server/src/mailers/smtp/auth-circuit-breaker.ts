/**
 * Keeps a login, or a key, that is rejected from being tried by everybody who has mail to send:
 * servers lock accounts for that. While one second try is made the others wait; for a moment after it was
 * rejected, too, nobody tries again, until the mailer is seen to be deactivated.
 */
export interface AuthCircuitBreaker {
  readonly isConfirming: boolean
  /** Whether this version of the configuration was rejected a moment ago. */
  isRejected(configVersion: number): boolean
  noteRejected(configVersion: number): void
  /** Undefined when another second try is under way. */
  confirm<T>(secondTry: () => Promise<T | undefined>): Promise<T | undefined>
}

/** For the deactivation to be committed, and read by all senders. */
const REJECTED_MS = 3_000

export function createAuthCircuitBreaker(): AuthCircuitBreaker {
  let isConfirming = false
  let rejected = { version: 0, untilMs: 0 }
  return {
    get isConfirming() {
      return isConfirming
    },
    isRejected: (version) => version <= rejected.version && performance.now() < rejected.untilMs,
    noteRejected(version) {
      rejected = { version, untilMs: performance.now() + REJECTED_MS }
    },
    async confirm(secondTry) {
      if (isConfirming) return undefined
      isConfirming = true
      try {
        return await secondTry()
      } finally {
        isConfirming = false
      }
    },
  }
}

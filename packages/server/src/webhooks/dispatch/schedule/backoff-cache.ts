/**
 * Which streams are left alone for a while, and until when: those that back off, of which the database
 * may say otherwise any time, and those whose step failed unexpectedly, the longer the more often.
 *
 * Of a bounded number of streams: the one that backs off longest is forgotten first, and then asks the
 * database once more.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'

export interface BackoffCache {
  isBackingOff(webhookId: string): boolean
  /** Each event that is recorded meanwhile would ask again. */
  backOff(webhookId: string): void
  /** The database says that it is due. */
  endBackOff(webhookId: string): void
  /** Nobody else waits for a stream with a fault; without a database all wait, but not longer. */
  fault(webhookId: string, isOutage: boolean): void
  /** A step went well. */
  forget(webhookId: string): void
  clear(): void
}

/** What is to wait for longer is left to the sweep. */
export const BACK_OFF_MS = 1_000
const FAULT_BACK_OFF_MS = 1_000
const FAULT_BACK_OFF_MS_MAX = 60_000
const ENTRIES_MAX = 100_000

interface Entry {
  readonly untilMs: number
  /** In a row; none when it backs off. */
  readonly faults: number
}

export function createBackoffCache(
  monotonicMs: () => number,
  entriesMax = ENTRIES_MAX,
): BackoffCache {
  const backoffs = createBoundedMap<string, Entry>(entriesMax)
  return {
    isBackingOff(webhookId) {
      const entry = backoffs.get(webhookId)
      if (entry === undefined) return false
      const nowMs = monotonicMs()
      // Faults are counted on while no minute passes without one.
      if (nowMs >= entry.untilMs + (entry.faults > 0 ? FAULT_BACK_OFF_MS_MAX : 0))
        backoffs.delete(webhookId)
      return nowMs < entry.untilMs
    },
    backOff(webhookId) {
      backoffs.set(webhookId, { untilMs: monotonicMs() + BACK_OFF_MS, faults: 0 })
    },
    endBackOff(webhookId) {
      if (backoffs.get(webhookId)?.faults === 0) backoffs.delete(webhookId)
    },
    fault(webhookId, isOutage) {
      const faults = (backoffs.get(webhookId)?.faults ?? 0) + (isOutage ? 0 : 1)
      const waitMs = isOutage
        ? FAULT_BACK_OFF_MS
        : Math.min(FAULT_BACK_OFF_MS * 2 ** (faults - 1), FAULT_BACK_OFF_MS_MAX)
      backoffs.set(webhookId, { untilMs: monotonicMs() + waitMs, faults })
    },
    forget: (webhookId) => backoffs.delete(webhookId),
    clear: () => backoffs.clear(),
  }
}

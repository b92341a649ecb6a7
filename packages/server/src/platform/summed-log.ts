/**
 * A line about what may go wrong for everyone at once: the first is written as it comes, then one in a
 * while, with the `count` of all since the one before.
 */
import type { Logger } from './log.ts'

export interface SummedLog {
  /** @param count how many it is about */
  note(fields: Readonly<Record<string, unknown>>, count?: number): void
}

const EVERY_MS = 10_000

export function createSummedLog(o: {
  readonly log: Logger
  readonly level: 'warn' | 'error'
  readonly message: string
  readonly monotonicMs?: () => number
}): SummedLog {
  const { log, level, message, monotonicMs = () => performance.now() } = o
  let saidAt = Number.NEGATIVE_INFINITY
  let unsaid = 0
  return {
    note(fields, count = 1) {
      unsaid += count
      const now = monotonicMs()
      if (now - saidAt < EVERY_MS) return
      log[level]({ ...fields, count: unsaid }, message)
      saidAt = now
      unsaid = 0
    },
  }
}

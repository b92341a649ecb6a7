/**
 * What is known of how streams answer: the worst of a stream's last three requests, so that a receiver
 * that hangs again and again is not taken for quick because it answers in between. One that has not
 * been asked three times is `new` while it answers quickly.
 *
 * It lives in memory, of a bounded number of streams: the one that changed longest ago is forgotten
 * first, and is new again.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Pace } from './fair-scheduler.ts'

export interface Answered {
  readonly isFailing: boolean
  /** Of the request, not of what was written before and after it. */
  readonly durationMs: number
}

export interface EndpointHealth {
  of(webhookId: string): Pace
  note(webhookId: string, answered: Answered): void
  /** By what the database says. */
  noteFailing(webhookId: string): void
}

export const SLOW_MS = 300
/** What takes longer holds its place like one that hangs, and is treated like it. */
const HANGING_MS = 2_000
const KNOWN_MAX = 100_000

const QUICK = 1
const SLOW = 2
const FAILING = 3
/** A history is the last three grades, two bits each; 0: not asked yet. */
const HISTORY_MASK = 0b11_11_11
const PACE_BY_HISTORY = Array.from({ length: HISTORY_MASK + 1 }, (_, history) => {
  const grades = [history & 3, (history >> 2) & 3, (history >> 4) & 3]
  const worst = Math.max(...grades)
  if (worst === FAILING) return 'failing'
  if (worst === SLOW) return 'slow'
  return grades.includes(0) ? 'new' : 'quick'
})

export function createEndpointHealth(knownMax = KNOWN_MAX): EndpointHealth {
  const histories = createBoundedMap<string, number>(knownMax)

  function grade(webhookId: string, latest: number): void {
    const before = histories.get(webhookId) ?? 0
    const history = ((before << 2) | latest) & HISTORY_MASK
    if (history !== before) histories.set(webhookId, history)
  }

  const paceOf = (webhookId: string): Pace =>
    PACE_BY_HISTORY[histories.get(webhookId) ?? 0] ?? 'new'

  return {
    of: paceOf,
    note(webhookId, { isFailing, durationMs }) {
      const isHanging = isFailing || durationMs > HANGING_MS
      grade(webhookId, isHanging ? FAILING : durationMs > SLOW_MS ? SLOW : QUICK)
    },
    noteFailing(webhookId) {
      if (paceOf(webhookId) !== 'failing') grade(webhookId, FAILING)
    },
  }
}

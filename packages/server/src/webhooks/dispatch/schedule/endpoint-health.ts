/**
 * The health of endpoints, as a circuit breaker sees it: the worst of the last three requests of a
 * stream. So a receiver that hangs repeatedly does not count as quick when it answers in between. A
 * stream with fewer than three quick answers is `new`.
 *
 * Kept in memory for a bounded number of streams. The one that changed longest ago is forgotten first,
 * and is `new` again.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { EndpointClass } from './fair-scheduler.ts'

export interface Answered {
  readonly isFailing: boolean
  /** Of the request, not of what was written before and after it. */
  readonly durationMs: number
}

export interface EndpointHealth {
  of(webhookId: string): EndpointClass
  note(webhookId: string, answered: Answered): void
  /** The database says that the stream is failing. */
  noteFailing(webhookId: string): void
}

export const SLOW_MS = 300
/** A slower request counts as hanging. */
const HANGING_MS = 2_000
const KNOWN_MAX = 100_000

const QUICK = 1
const SLOW = 2
const FAILING = 3
/** A history is the last three grades, two bits each; 0: not asked yet. */
const HISTORY_MASK = 0b11_11_11
const CLASS_BY_HISTORY = Array.from({ length: HISTORY_MASK + 1 }, (_, history) => {
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

  const classOf = (webhookId: string): EndpointClass =>
    CLASS_BY_HISTORY[histories.get(webhookId) ?? 0] ?? 'new'

  return {
    of: classOf,
    note(webhookId, { isFailing, durationMs }) {
      const isHanging = isFailing || durationMs > HANGING_MS
      grade(webhookId, isHanging ? FAILING : durationMs > SLOW_MS ? SLOW : QUICK)
    },
    noteFailing(webhookId) {
      if (classOf(webhookId) !== 'failing') grade(webhookId, FAILING)
    },
  }
}

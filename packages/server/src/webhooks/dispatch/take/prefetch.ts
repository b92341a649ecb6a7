/**
 * Queued events that were read together with those that were sent before them. Where each event travels
 * in a request of its own, one look at the queue then serves many requests.
 *
 * Nothing rests on it: an event is taken by its place and its id, so what has left the queue meanwhile is
 * not taken (`StaleReadError`), and for a moment only, since a writer that commits late adds older ids.
 */
import type { LoggedEvent } from './delivery.ts'
import type { PendingPointer } from './take-store.ts'

export interface QueuedEvent {
  readonly pointer: PendingPointer
  readonly event: LoggedEvent
}

export interface Prefetch {
  /** Takes the next of a stream out of here. Undefined: the queue is to be looked at. */
  next(webhookId: string): QueuedEvent | undefined
  /** In the place of what is known of that stream. */
  set(webhookId: string, events: readonly QueuedEvent[]): void
  forget(webhookId: string): void
  readonly isFull: boolean
}

const VALID_MS = 5_000
/** Of the bodies of all streams together; beyond it nothing more is prefetched. */
const OCTETS_MAX = 33_554_432

interface Known {
  readonly events: QueuedEvent[]
  readonly octets: number
  readonly untilMs: number
}

export function createPrefetch(monotonicMs: () => number = () => performance.now()): Prefetch {
  const streams = new Map<string, Known>()
  let octets = 0

  function forget(webhookId: string): void {
    octets -= streams.get(webhookId)?.octets ?? 0
    streams.delete(webhookId)
  }

  /** Those that were not asked for again: the oldest are the first. */
  function forgetOld(nowMs: number): void {
    for (const [webhookId, { untilMs }] of streams) {
      if (untilMs > nowMs) return
      forget(webhookId)
    }
  }

  return {
    next(webhookId) {
      const known = streams.get(webhookId)
      if (known === undefined) return undefined
      const event = known.untilMs > monotonicMs() ? known.events.shift() : undefined
      if (event === undefined || known.events.length === 0) forget(webhookId)
      return event
    },
    set(webhookId, events) {
      const nowMs = monotonicMs()
      forget(webhookId)
      forgetOld(nowMs)
      const added = events.reduce((sum, { pointer }) => sum + pointer.bytes, 0)
      if (events.length === 0) return
      octets += added
      streams.set(webhookId, { events: [...events], octets: added, untilMs: nowMs + VALID_MS })
    },
    forget,
    get isFull() {
      if (octets >= OCTETS_MAX) forgetOld(monotonicMs())
      return octets >= OCTETS_MAX
    },
  }
}

/**
 * Decides what a stream does next (docs/reference/webhooks.md#batches), for a stream that is locked and read
 * as one.
 *
 * In this order: what was queued for a webhook that is gone is discarded; nothing while it is paused;
 * what was queued for a webhook that is switched off is discarded; nothing before its back-off is over; what waits behind a receiver that has failed for
 * all of `retryForMs` is exhausted; the delivery that is under way is sent again; halves that are
 * due; at last a parked event that is due or a new batch, the one as likely as the other, so that however
 * many are parked neither delays live events nor starves. A receiver that refuses everything is asked with one event
 * that it has not seen yet, while there is one: what it refused before would tell nothing new.
 */
import { refusesAll } from '../settle/decide-delivery.ts'

export interface StreamState {
  readonly isPaused: boolean
  /** Milliseconds until the next request may be made. */
  readonly waitMs: number
  /** Since the first failure of those in a row; 0 when the last request was accepted. */
  readonly failingMs: number
  readonly mode: 'array' | 'single'
  /** The delivery that is under way. */
  readonly deliveryId: string | null
  readonly isProbing: boolean
  /** Events parked since the last request that was accepted. */
  readonly parkedInRow: number
  /** Learned from 413, and how long ago; null: never. */
  readonly batchBytesMax: number | null
  readonly shrunkMs: number | null
}

export interface TakeLimits {
  readonly batchEventsMax: number
  readonly batchBytesMax: number
  readonly policy: { readonly retryForMs: number }
}

export interface TakeFacts {
  /** Undefined when the webhook is gone. */
  readonly isActive: boolean | undefined
  /** An open delivery whose turn it is. */
  readonly dueId: string | null
  /** It was refused alone before; otherwise it is the half of another. */
  readonly isDueParked: boolean
  /** Events are queued for longer than `retryForMs`; looked for when the stream fails that long. */
  readonly hasOverdue: boolean
  /** Something is queued; looked for when something is due that may not go first. */
  readonly hasPending: boolean
  /** In [0, 1). */
  readonly random: number
}

export type TakeStep =
  | { readonly kind: 'paused' }
  | { readonly kind: 'discard' }
  | { readonly kind: 'wait'; readonly waitMs: number }
  | { readonly kind: 'exhaust' }
  | { readonly kind: 'open'; readonly deliveryId: string; readonly isDue: boolean }
  | { readonly kind: 'batch'; readonly eventsMax: number; readonly bytesMax: number }

/** Events in the first new request after a back-off. */
const PROBE_EVENTS_MAX = 50
const LEARNED_FOR_MS = 600_000

export function decideTake(stream: StreamState, facts: TakeFacts, limits: TakeLimits): TakeStep {
  const isGone = facts.isActive === undefined
  if (stream.isPaused && !isGone) return { kind: 'paused' }
  if (facts.isActive !== true) return { kind: 'discard' }
  if (stream.waitMs > 0) return { kind: 'wait', waitMs: stream.waitMs }
  if (facts.hasOverdue) return { kind: 'exhaust' }
  if (stream.deliveryId !== null)
    return { kind: 'open', deliveryId: stream.deliveryId, isDue: false }
  if (facts.dueId !== null && !(facts.hasPending && isQueueFirst(stream, facts)))
    return { kind: 'open', deliveryId: facts.dueId, isDue: true }
  return {
    kind: 'batch',
    eventsMax: eventsMaxOf(stream, limits),
    bytesMax: bytesMaxOf(stream, limits),
  }
}

/** Looked for only where it matters whether something is queued. */
export function mayQueueBeFirst(
  stream: Pick<StreamState, 'parkedInRow'>,
  facts: Pick<TakeFacts, 'dueId' | 'isDueParked'>,
): boolean {
  return facts.dueId !== null && (facts.isDueParked || refusesAll(stream.parkedInRow))
}

function isQueueFirst(stream: StreamState, { isDueParked, random }: TakeFacts): boolean {
  return refusesAll(stream.parkedInRow) || (isDueParked && random >= 0.5)
}

function eventsMaxOf(stream: StreamState, limits: TakeLimits): number {
  if (stream.mode === 'single' || refusesAll(stream.parkedInRow)) return 1
  return stream.isProbing
    ? Math.min(PROBE_EVENTS_MAX, limits.batchEventsMax)
    : limits.batchEventsMax
}

/** A size that was refused is tried again in steps: twice as much with each 10 minutes that passed. */
function bytesMaxOf(stream: StreamState, limits: TakeLimits): number {
  if (stream.batchBytesMax === null || stream.shrunkMs === null) return limits.batchBytesMax
  const steps = Math.min(Math.max(0, Math.floor(stream.shrunkMs / LEARNED_FOR_MS)), 30)
  return Math.min(stream.batchBytesMax * 2 ** steps, limits.batchBytesMax)
}

/** What matters of a queued event. */
export interface Pointer {
  /** Of the event as its stream sends it. */
  readonly bytes: number
  readonly generation: number
  readonly solo: boolean
}

export type BatchChoice =
  | { readonly kind: 'empty' }
  /** The first was queued before the webhook was last switched off. */
  | { readonly kind: 'stale' }
  | { readonly kind: 'members'; readonly count: number }

/**
 * How many of these, from the first on, travel together: of one generation, a solo event alone, no more
 * bytes than a body may have (with its brackets and commas), but at least one whatever its size.
 */
export function chooseBatch(
  pointers: readonly Pointer[],
  generation: number,
  bytesMax: number,
): BatchChoice {
  const [first] = pointers
  if (first === undefined) return { kind: 'empty' }
  if (first.generation < generation) return { kind: 'stale' }
  if (first.solo) return { kind: 'members', count: 1 }
  let bytes = 1
  const end = pointers.findIndex((p, i) => {
    bytes += p.bytes + 1
    return i > 0 && (p.solo || p.generation !== first.generation || bytes > bytesMax)
  })
  return { kind: 'members', count: end === -1 ? pointers.length : end }
}

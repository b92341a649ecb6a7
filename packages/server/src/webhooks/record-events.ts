/**
 * Records events in the transaction of the change that they report (contract §4, invariant: the
 * fact, its event and its next step are one transaction).
 *
 * `(ref_id, event, event_at, attempt)` is the receiver's deduplication key and unique for ever: an
 * event that meets another in the same microsecond is moved on by one, here, before it is stored.
 * Filters apply now; an event that nobody wants is kept all the same and can be replayed.
 */
import { formatMicros } from '../platform/clock.ts'
import type { Tx } from '../platform/db/index.ts'
import { bucketOf } from '../platform/db/leases.ts'
import { newId } from '../platform/ids.ts'
import { activateStreams, type BucketedStream } from './dispatch/stream-store.ts'
import { addressEvent, type NewEvent, serializeEvent } from './event.ts'
import { type EventRow, insertEvents, insertPending, type PendingRow } from './event-store.ts'
import { activeEmailSubscriptions, shareTenants } from './store.ts'
import { wantsEvent } from './subscription.ts'

/** Streams that have something new: to be woken after the commit. */
export type TouchedStream = BucketedStream

export interface RecordedEvents {
  readonly touched: readonly TouchedStream[]
}

/** Two events of one email in one microsecond are rare; this many in a row are a defect. */
const COLLISIONS_MAX = 100

export async function recordEvents(tx: Tx, events: readonly NewEvent[]): Promise<RecordedEvents> {
  if (events.length === 0) return { touched: [] }
  const tenantIds = [...new Set(events.map((event) => event.tenantId))]
  // Written in this order, in one round trip: the subscriptions are read under the lock.
  const [, subscriptions, stored] = await Promise.all([
    shareTenants(tx, tenantIds),
    activeEmailSubscriptions(tx, tenantIds),
    storeEvents(tx, events),
  ])
  const pending: PendingRow[] = []
  const touched = new Map<string, TouchedStream>()
  for (const { event, row } of stored) {
    const subscription = subscriptions.get(event.tenantId)
    if (subscription === undefined || !wantsEvent(subscription.toggles, event.event)) continue
    const { tenantId, webhookId } = subscription
    const bytes = Buffer.byteLength(addressEvent(row.body, webhookId))
    pending.push({ tenantId, webhookId, eventId: row.eventId, day: row.day, bytes })
    touched.set(webhookId, { tenantId, webhookId, bucket: bucketOf(webhookId) })
  }
  if (pending.length > 0) {
    // Pointers first: their share lock on the stream keeps it from going idle in between.
    await Promise.all([insertPending(tx, pending), activateStreams(tx, [...touched.values()])])
  }
  return { touched: [...touched.values()] }
}

interface StoredEvent {
  readonly event: NewEvent
  readonly row: EventRow
}

async function storeEvents(tx: Tx, events: readonly NewEvent[]): Promise<StoredEvent[]> {
  const stored: StoredEvent[] = []
  let waiting = events.map((event) => ({ event, at: event.eventAtMicros }))
  for (let round = 0; waiting.length > 0; round++) {
    if (round > COLLISIONS_MAX) throw new Error('no free microsecond for an event')
    const tried = waiting.map(({ event, at }) => ({ event, at, row: toRow(event, at) }))
    const inserted = await insertEvents(
      tx,
      tried.map(({ row }) => row),
    )
    waiting = []
    for (const { event, at, row } of tried) {
      if (inserted.has(row.eventId)) stored.push({ event, row })
      else waiting.push({ event, at: at + 1n })
    }
  }
  return stored
}

function toRow(event: NewEvent, at: bigint): EventRow {
  const eventAt = formatMicros(at)
  return {
    tenantId: event.tenantId,
    eventId: newId('evt'),
    day: eventAt.slice(0, 10),
    refId: event.refId,
    event: event.event,
    eventAt,
    attempt: event.attempt ?? 0,
    body: serializeEvent(event, at),
    traceparent: event.traceparent,
  }
}

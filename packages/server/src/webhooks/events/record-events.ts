/**
 * Records events in the transaction of the change that they report (docs/reference/events.md#recording,
 * invariant: a change, its event and its next step are one transaction).
 *
 * `(ref_id, event, event_at, attempt)` is the receiver's deduplication key and unique for ever: an
 * event that meets another in the same microsecond is moved on, here, before it is stored.
 * Filters apply now; an event that nobody wants is kept all the same and can be replayed.
 *
 * An event is kept under the day of its `event_at`. Where the log has no such day (a callback that
 * comes after weeks, a clock that was wrong) it is kept under today's instead, with its `event_at`
 * as it is: making the old day anew would let retention take the event away before it is sent. The
 * unique index sees one day only, so such an event is compared with every other day, under a lock
 * of its email. (One that is days ahead of the clock could meet its like when its day has come;
 * nothing that follows a clock for so long meets it to the microsecond.)
 */
import { formatMicros } from '../../platform/clock.ts'
import { planByIndex, type Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { newId } from '../../platform/ids.ts'
import { activateStreams, type BucketedStream } from '../dispatch/stream-store.ts'
import { findDestinations } from '../subscriptions/subscription-store.ts'
import { addressEvent, type NewEvent, serializeEvent } from './event.ts'
import {
  dropRepeatedEvents,
  type EventRow,
  insertEvents,
  insertPending,
  type PendingRow,
} from './event-store.ts'
import { selectorOf } from './select-subscription.ts'

/** Streams that have something new: to be woken after the commit. */
export type TouchedStream = BucketedStream

export interface RecordedEvents {
  readonly touched: readonly TouchedStream[]
}

export async function recordEvents(tx: Tx, events: readonly NewEvent[]): Promise<RecordedEvents> {
  if (events.length === 0) return { touched: [] }
  const selectors = events.map((event) => ({ tenantId: event.tenantId, ...selectorOf(event) }))
  // In one round trip. A kept plan serves all callers: none may be of a time in which a table was short.
  const [, destinations, stored] = await Promise.all([
    planByIndex(tx),
    findDestinations(tx, selectors),
    storeEvents(tx, events),
  ])
  const pending: PendingRow[] = []
  const touched = new Map<string, TouchedStream>()
  for (const { index, row } of stored) {
    const destination = destinations[index]
    if (destination === undefined) continue
    const { tenantId, webhookId, generation } = destination
    pending.push({
      tenantId,
      webhookId,
      lane: 0,
      eventId: row.eventId,
      day: row.day,
      bytes: Buffer.byteLength(addressEvent(row.body, webhookId)),
      generation,
      solo: row.event === 'MAILER_DEACTIVATED',
    })
    touched.set(webhookId, { tenantId, webhookId, bucket: bucketOf(webhookId) })
  }
  if (pending.length > 0) {
    // Pointers first: their share lock on the stream keeps it from going idle in between.
    await Promise.all([insertPending(tx, pending), activateStreams(tx, [...touched.values()])])
  }
  return { touched: [...touched.values()] }
}

interface StoredEvent {
  /** Among the given ones. */
  readonly index: number
  readonly row: EventRow
}

/**
 * Callbacks of some providers know whole seconds only, and a thousand recipients share one
 * `ref_id`: so the steps grow, and no event is moved by more than about four seconds. They are of
 * random length: with fixed ones, batch after batch would try the same few places until all are taken.
 */
const ROUNDS_MAX = 30
const SINGLE_STEPS = 8

async function storeEvents(tx: Tx, events: readonly NewEvent[]): Promise<StoredEvent[]> {
  const stored: StoredEvent[] = []
  let waiting = spread(events)
  for (let round = 0; waiting.length > 0; round++) {
    if (round > ROUNDS_MAX) throw new Error('no free microsecond for an event')
    const tried = waiting.map(({ index, event, at }) => ({
      index,
      event,
      at,
      row: toRow(event, at),
    }))
    const days = await insertApart(
      tx,
      tried.map(({ row }) => row),
    )
    const stepMax = 2 ** Math.max(0, round - SINGLE_STEPS)
    waiting = []
    for (const { index, event, at, row } of tried) {
      const day = days.get(row.eventId)
      if (day === undefined) waiting.push({ index, event, at: at + stepUpTo(stepMax) })
      else stored.push({ index, row: { ...row, day } })
    }
  }
  return stored
}

function stepUpTo(max: number): bigint {
  return 1n + BigInt(Math.floor(Math.random() * max))
}

/** Events of one call that have the same key are moved apart before they are tried. */
function spread(events: readonly NewEvent[]) {
  const seen = new Map<string, bigint>()
  return events.map((event, index) => {
    const { tenantId, refId, attempt = 0, eventAtMicros } = event
    const key = `${tenantId} ${refId} ${event.event} ${attempt} ${eventAtMicros}`
    const before = seen.get(key) ?? 0n
    seen.set(key, before + 1n)
    return { index, event, at: eventAtMicros + before }
  })
}

/** Of each row that no other has the deduplication key of, by its id, the day that keeps it. */
async function insertApart(tx: Tx, rows: readonly EventRow[]): Promise<Map<string, string>> {
  const days = await insertEvents(tx, rows)
  const displaced = rows.flatMap((row) => {
    const day = days.get(row.eventId) ?? row.day
    return day === row.day ? [] : [{ ...row, day }]
  })
  if (displaced.length > 0)
    for (const eventId of await dropRepeatedEvents(tx, displaced)) days.delete(eventId)
  return days
}

/** A minute within what the index of late events allows: the id is made a moment later. */
const LATE_MS = 9 * 60_000

function toRow(event: NewEvent, at: bigint): EventRow {
  const eventAt = formatMicros(at)
  return {
    tenantId: event.tenantId,
    eventId: newId('evt'),
    day: eventAt.slice(0, 10),
    refId: event.refId,
    event: event.event,
    owner: event.owner ?? '',
    eventAt,
    isLate: Math.abs(Date.now() - Number(at / 1000n)) > LATE_MS,
    attempt: event.attempt ?? 0,
    body: serializeEvent(event, at),
    traceparent: event.traceparent,
  }
}

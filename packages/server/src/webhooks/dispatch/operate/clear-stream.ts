/**
 * Moves into the record what a stream holds and does not send, a piece at a time
 * (docs/reference/webhooks.md#changes):
 *
 * - everything that was queued for a webhook that is switched off or gone, as discarded;
 * - what waited for all of `retryForMs` behind a receiver that failed as long, as exhausted: queued
 *   events, and open deliveries whose turn has not come;
 * - a frozen delivery of which events have left the log, as discarded: what is left of it becomes a new
 *   one, since its bytes cannot be made again.
 *
 * A piece is at most `RECORD_EVENTS_MAX` events in one delivery of the record, and several pieces one
 * transaction: a queue of millions is gone through without holding anything for long.
 */
import { planByIndex, type Tx } from '../../../platform/db/index.ts'
import { dayOfUlid, newIdAt } from '../../../platform/ids.ts'
import { continueTrace } from '../../../platform/trace.ts'
import type { StreamKey } from '../stream-store.ts'
import { decideTake, mayQueueBeFirst } from '../take/decide-take.ts'
import type { Take } from '../take/take-deliveries.ts'
import {
  deleteOlderPointers,
  havePending,
  insertOpen,
  type LockedStream,
  loadEvents,
  loadOpen,
  loadTargets,
  lockStreams,
  type StreamTarget,
} from '../take/take-store.ts'
import {
  CLEARED_POINTERS_MAX,
  type ClearablePointer,
  type Cleared,
  type ClearedRecord,
  clearablePointers,
  closeOpen,
  hasOverdue,
  insertRecords,
  releaseStream,
  waitingOpen,
} from './clear-store.ts'

/** Events in one delivery of the record. */
const RECORD_EVENTS_MAX = 500
const EVERY_GENERATION = 2 ** 31 - 1

export interface ClearResult {
  readonly discarded: readonly Cleared[]
  readonly exhausted: readonly Cleared[]
  /** Those that left the queue, when they were all that was looked at and there may be more. */
  readonly pointers: readonly ClearablePointer[]
}

const NOTHING: ClearResult = { discarded: [], exhausted: [], pointers: [] }

interface Held {
  readonly tx: Tx
  readonly key: StreamKey
  readonly stream: LockedStream
  readonly target: StreamTarget
}

/** Nothing in the result: nothing was left to clear, or another transaction holds the stream. */
export async function clearStream(tx: Tx, take: Take): Promise<ClearResult> {
  const { tenantId, webhookId, limits, low, random } = take
  const key = { tenantId, webhookId }
  const [, [stream], [target]] = await Promise.all([
    planByIndex(tx),
    lockStreams(tx, [key]),
    loadTargets(tx, [key]),
  ])
  if (stream === undefined || target === undefined) return NOTHING
  const held: Held = { tx, key, stream, target }
  const { retryForMs } = limits.policy
  const isLate = stream.failingMs >= retryForMs
  const [isOverdue = false] = isLate ? await hasOverdue(tx, [{ ...key, low, retryForMs }]) : []
  const hasPending = mayQueueBeFirst(stream, target) && (await havePending(tx, [key])).has(0)
  const { isActive, dueId, isDueParked } = target
  const facts = { isActive, dueId, isDueParked, hasOverdue: isOverdue, hasPending, random }
  const step = decideTake(stream, facts, limits)
  switch (step.kind) {
    case 'discard': {
      const waiting = await waitingOpen(tx, key, {})
      if (stream.deliveryId !== null) {
        waiting.push(stream.deliveryId)
        await releaseStream(tx, key)
      }
      return clear(held, 'discarded', waiting, await clearablePointers(tx, key, { low }))
    }
    case 'exhaust': {
      const waiting = await waitingOpen(tx, key, { openForMs: retryForMs })
      const overdue = await clearablePointers(tx, key, { low, queuedForMs: retryForMs })
      return clear(held, 'exhausted', waiting, overdue)
    }
    case 'open':
      return { ...NOTHING, discarded: await mend(held, step.deliveryId) }
    case 'batch': {
      const olderThanGeneration = target.generation
      const stale = await clearablePointers(tx, key, { low, olderThanGeneration })
      return clear(held, 'discarded', [], stale, olderThanGeneration)
    }
    case 'paused':
    case 'wait':
      return NOTHING
  }
}

async function clear(
  held: Held,
  status: ClearedRecord['status'],
  deliveryIds: readonly string[],
  pointers: readonly ClearablePointer[],
  olderThanGeneration = EVERY_GENERATION,
): Promise<ClearResult> {
  const places = pointers.map((pointer) => pointer.place)
  const left = await deleteOlderPointers(held.tx, places, olderThanGeneration)
  const gone = pointers.filter((pointer) => left.has(pointer.place))
  const cleared = [
    ...(await close(held, deliveryIds, status)),
    ...(await record(held, gone, status)),
  ]
  return {
    ...NOTHING,
    [status]: cleared,
    pointers: pointers.length === CLEARED_POINTERS_MAX ? pointers : [],
  }
}

function close(
  { tx, key, stream }: Held,
  deliveryIds: readonly string[],
  status: ClearedRecord['status'],
  dividedInto?: readonly string[],
): Promise<Cleared[]> {
  return closeOpen(tx, {
    tenantId: key.tenantId,
    deliveryIds,
    mode: stream.mode,
    status,
    ...(dividedInto === undefined ? {} : { dividedInto }),
  })
}

async function record(
  { tx, key, stream }: Held,
  pointers: readonly ClearablePointer[],
  status: ClearedRecord['status'],
): Promise<Cleared[]> {
  if (pointers.length === 0) return []
  const records: ClearedRecord[] = []
  for (let from = 0; from < pointers.length; from += RECORD_EVENTS_MAX) {
    const piece = pointers.slice(from, from + RECORD_EVENTS_MAX)
    const deliveryId = newIdAt('dlv', stream.nowMs)
    records.push({
      tenantId: key.tenantId,
      webhookId: key.webhookId,
      deliveryId,
      day: dayOfUlid(deliveryId),
      status,
      mode: stream.mode,
      eventIds: piece.map((pointer) => pointer.event_id),
      eventDays: piece.map((pointer) => pointer.day),
    })
  }
  await insertRecords(tx, records)
  return records.map((r) => ({
    deliveryId: r.deliveryId,
    events: r.eventIds.length,
    attempts: 0,
    traceparent: '',
  }))
}

/** An open delivery that cannot be sent as it is: of an older generation, or no longer whole. */
async function mend(held: Held, deliveryId: string): Promise<Cleared[]> {
  const { tx, key, stream, target } = held
  const { tenantId, webhookId } = key
  const [delivery] = await loadOpen(tx, [{ tenantId, deliveryId }])
  const isStale = delivery !== undefined && delivery.generation < target.generation
  const [left = []] = delivery === undefined || isStale ? [] : await loadEvents(tx, [delivery])
  if (delivery !== undefined && left.length === delivery.eventIds.length) return []
  if (deliveryId === stream.deliveryId) await releaseStream(tx, key)
  const [oldest] = left
  if (delivery === undefined || oldest === undefined) return close(held, [deliveryId], 'discarded')
  const successorId = newIdAt('dlv', stream.nowMs)
  await insertOpen(tx, [
    {
      tenantId,
      webhookId,
      deliveryId: successorId,
      day: dayOfUlid(successorId),
      bucket: stream.bucket,
      generation: delivery.generation,
      eventIds: left.map((event) => event.eventId),
      eventDays: left.map((event) => event.day),
      traceparent: continueTrace(oldest.traceparent),
      isDue: true,
    },
  ])
  return close(held, [deliveryId], 'discarded', [successorId])
}

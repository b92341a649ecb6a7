/**
 * One step of one stream: what is frozen, or else what is pending, is sent as one request, and
 * what came of it is settled.
 *
 * Freeze → POST → settle. The members of a request are committed before it is made and its bytes
 * follow from immutable event rows, so that a repetition, also after a crash, has the same body
 * (contract §4). URL, headers and `active` are read anew for every request.
 */
import type { Db, GroupCommit } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { dayOfUlid, newId } from '../../platform/ids.ts'
import { continueTrace } from '../../platform/trace.ts'
import { serializeRequest } from '../event.ts'
import { deletePending, type LoggedEvent, loadEvents, peekPending } from '../event-store.ts'
import { type DeliveryPolicy, type DeliveryStep, decideDelivery } from './decide-delivery.ts'
import {
  discardOpenDelivery,
  type FrozenContent,
  loadOpenDelivery,
  type NewDelivery,
  type OpenDelivery,
} from './delivery-store.ts'
import { type MadeRequest, makeRequest, type RequestDeps } from './make-request.ts'
import type { Settlement } from './settlement-store.ts'
import {
  goIdle,
  type LoadedStream,
  loadStream,
  type StreamKey,
  type Target,
} from './stream-store.ts'

export interface DeliverDeps extends RequestDeps {
  readonly db: Db
  readonly failpoints: Failpoints
  /** Where the request goes; undefined when it is not to be made. */
  readonly freezes: GroupCommit<NewDelivery, Target | undefined>
  /** False when it came too late. */
  readonly settlements: GroupCommit<Settlement, boolean>
  readonly batchEventsMax: number
  readonly batchBytesMax: number
  readonly policy: DeliveryPolicy
  readonly observe: (o: { outcome: string; durationMs: number; events: number }) => void
}

export type StepResult =
  /** A request was made; the stream is to be looked at again. */
  | { readonly kind: 'requested'; readonly isFailing: boolean; readonly isSlow: boolean }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing to do until the stream is woken. */
  | { readonly kind: 'idle' }

/** A receiver that takes longer than this is served beside those that are fast. */
const SLOW_MS = 300
const AGAIN: StepResult = { kind: 'wait', waitMs: 0 }
const IDLE: StepResult = { kind: 'idle' }
/** A writer is about to commit, or another dispatcher is at work. */
const BUSY: StepResult = { kind: 'wait', waitMs: 20 }

export async function deliverBatch(
  deps: DeliverDeps,
  key: StreamKey,
  signal: AbortSignal,
): Promise<StepResult> {
  const stream = await loadStream(deps.db, key)
  if (stream === undefined) return IDLE
  if (stream.waitMs > 0) return { kind: 'wait', waitMs: stream.waitMs }
  const ready =
    stream.deliveryId === null
      ? await freezePending(deps, key, stream)
      : await reopen(deps, key, stream, stream.deliveryId)
  if ('kind' in ready) return ready
  return sendDelivery(deps, ready, signal)
}

interface ReadyDelivery {
  readonly delivery: OpenDelivery
  readonly stream: LoadedStream
  readonly target: Target
  readonly events: readonly LoggedEvent[]
}

/** What was sent before, or would have been: from its members alone. */
async function reopen(
  deps: DeliverDeps,
  key: StreamKey,
  stream: LoadedStream,
  deliveryId: string,
): Promise<ReadyDelivery | StepResult> {
  const delivery = await loadOpenDelivery(deps.db, key)
  const events = delivery === undefined ? [] : await loadEvents(deps.db, key.tenantId, delivery)
  if (delivery !== undefined && events.length === delivery.eventIds.length)
    return { delivery, stream, target: stream, events }
  // A day of it has left the log. (Or another dispatcher has just settled it: then it is not ours.)
  const isDiscarded = await deps.db.transaction((tx) => discardOpenDelivery(tx, key, deliveryId))
  if (isDiscarded)
    deps.log.warn({ ...idsOf(key), delivery_id: deliveryId }, 'webhook_delivery.discarded')
  return AGAIN
}

/** The oldest events that fit, as the content of a new delivery (interface §6.2.3). */
async function freezePending(
  deps: DeliverDeps,
  key: StreamKey,
  stream: LoadedStream,
): Promise<ReadyDelivery | StepResult> {
  const { events, gone } = await peekPending(deps.db, key, {
    events: stream.mode === 'single' ? 1 : deps.batchEventsMax,
    bytes: deps.batchBytesMax,
  })
  if (gone.length > 0) {
    await deletePending(deps.db, key, gone)
    deps.log.warn({ ...idsOf(key), events: gone.length }, 'webhook_events.gone')
  }
  const oldest = events[0]
  if (oldest === undefined) return gone.length > 0 ? AGAIN : rest(deps, key)
  const deliveryId = newId('dlv')
  const delivery: FrozenContent = {
    ...key,
    deliveryId,
    day: dayOfUlid(deliveryId),
    eventIds: events.map((event) => event.eventId),
    eventDays: events.map((event) => event.day),
    traceparent: continueTrace(oldest.traceparent),
  }
  const target = await deps.freezes.add({ ...delivery, streamVersion: stream.version })
  if (target === undefined) return BUSY
  deps.failpoints.hit('dispatch.after_freeze')
  return { delivery: { ...delivery, attempts: 0, ageMs: 0 }, stream, target, events }
}

async function rest(deps: DeliverDeps, key: StreamKey): Promise<StepResult> {
  const state = await deps.db.transaction((tx) => goIdle(tx, key), { synchronousCommit: 'off' })
  return state === 'idle' ? IDLE : state === 'busy' ? AGAIN : BUSY
}

async function sendDelivery(
  deps: DeliverDeps,
  ready: ReadyDelivery,
  signal: AbortSignal,
): Promise<StepResult> {
  const { delivery, stream, target, events } = ready
  const made = await makeRequest(deps, {
    key: delivery,
    target,
    traceparent: delivery.traceparent,
    body: serializeRequest(stream.mode, events, delivery.webhookId),
    signal,
  })
  if (made === undefined) return IDLE
  deps.failpoints.hit('dispatch.after_post')
  const { outcome, attempt } = made
  const ageMs = delivery.ageMs + attempt.durationMs
  const { failCount } = stream
  const step = decideDelivery(outcome, { failCount, ageMs, random: Math.random() }, deps.policy)
  const isSettled = await deps.settlements.add({ delivery, failCount, attempt, step })
  deps.failpoints.hit('dispatch.after_settle')
  report(deps, ready, made, step, isSettled)
  return {
    kind: 'requested',
    isFailing: step.kind !== 'delivered',
    isSlow: attempt.durationMs > SLOW_MS,
  }
}

function report(
  deps: DeliverDeps,
  { delivery, events }: ReadyDelivery,
  { attempt }: MadeRequest,
  step: DeliveryStep,
  isSettled: boolean,
): void {
  const outcome = isSettled ? step.kind : 'superseded'
  deps.observe({ outcome, durationMs: attempt.durationMs, events: events.length })
  deps.log.info(
    {
      ...idsOf(delivery),
      delivery_id: delivery.deliveryId,
      attempt: delivery.attempts + 1,
      events: events.length,
      status: attempt.status,
      error: attempt.error,
      outcome,
      wait_ms: step.kind === 'delivered' ? undefined : step.waitMs,
      duration_ms: attempt.durationMs,
      traceparent: delivery.traceparent,
    },
    'webhook_delivery.finished',
  )
}

function idsOf({ tenantId, webhookId }: StreamKey) {
  return { tenant_id: tenantId, webhook_id: webhookId }
}

/**
 * One step of one stream: what it has to send next is taken, sent as one request, and settled.
 *
 * Take → POST → settle. The members of a request are committed before it is made and its bytes follow
 * from immutable event rows, so that a repetition, also after a crash, has the same body (contract §4).
 * URL, headers and `active` are read anew for every request.
 */
import { type Db, type GroupCommit, isWithoutPartition } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { serializeRequest } from '../event.ts'
import type { Cleared } from './clear-store.ts'
import { type ClearResult, clearStream } from './clear-stream.ts'
import {
  type DeliveryPolicy,
  type DeliveryStep,
  decideDelivery,
  refusesAll,
} from './decide-delivery.ts'
import { divideDelivery } from './divide-delivery.ts'
import type { LowWater } from './low-water.ts'
import { type MadeRequest, makeRequest, type RequestDeps } from './make-request.ts'
import type { Settled, Settlement } from './settle-deliveries.ts'
import { rehouseStream, settleRequest } from './settle-request.ts'
import type { Rest, StreamKey } from './stream-store.ts'
import type { ReadyDelivery, Take, Taken } from './take-deliveries.ts'

export interface DeliverDeps extends RequestDeps {
  readonly db: Db
  readonly failpoints: Failpoints
  readonly takes: GroupCommit<Take, Taken>
  readonly settlements: GroupCommit<Settlement, Settled>
  readonly rests: GroupCommit<StreamKey, Rest>
  readonly lowWater: LowWater
  readonly batchEventsMax: number
  readonly batchBytesMax: number
  readonly policy: DeliveryPolicy
  /** With a duration when a request was made. */
  readonly observe: (o: { outcome: string; durationMs?: number; events: number }) => void
}

export type StepResult =
  /** A request was made; the stream is to be looked at again. */
  | { readonly kind: 'requested'; readonly isFailing: boolean; readonly durationMs: number }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing to do until the stream is woken. */
  | { readonly kind: 'idle' }

const AGAIN: StepResult = { kind: 'wait', waitMs: 0 }
const IDLE: StepResult = { kind: 'idle' }
/** A writer is about to commit, or another dispatcher is at work. */
const BUSY: StepResult = { kind: 'wait', waitMs: 20 }
/** No request could be made: this process looks up as many names at once as it may. */
const FULL: StepResult = { kind: 'wait', waitMs: 1_000 }

export async function deliverBatch(
  deps: DeliverDeps,
  key: StreamKey,
  signal: AbortSignal,
): Promise<StepResult> {
  const { tenantId, webhookId } = key
  const low = deps.lowWater.of(webhookId)
  const take: Take = { tenantId, webhookId, low, limits: deps, random: Math.random() }
  const taken = await deps.takes.add(take)
  switch (taken.kind) {
    case 'ready':
      return sendDelivery(deps, taken, signal)
    case 'wait':
      return taken
    case 'busy':
      return BUSY
    case 'none':
      return IDLE
    case 'clear':
      return clear(deps, take)
    case 'empty':
      return rest(deps, key)
  }
}

async function rest(deps: DeliverDeps, key: StreamKey): Promise<StepResult> {
  const state = await deps.rests.add(key)
  // It looked from the first id on: what the take did not find lies below the low-water ids.
  if (state === 'busy') deps.lowWater.reset(key.webhookId)
  return state === 'idle' ? IDLE : state === 'busy' ? AGAIN : BUSY
}

/** One stream, one transaction: what is large waits for nobody and lets nobody wait. */
async function clear(deps: DeliverDeps, take: Take): Promise<StepResult> {
  const cleared = await tryToClear(deps, take)
  if (cleared === undefined) return AGAIN
  const { discarded, exhausted, pointers } = cleared
  for (const delivery of discarded) reportCleared(deps, take, delivery, 'discarded')
  for (const delivery of exhausted) reportCleared(deps, take, delivery, 'exhausted')
  if (pointers.length > 0) deps.lowWater.taken(take.webhookId, pointers)
  return discarded.length + exhausted.length > 0 ? AGAIN : rest(deps, take)
}

/** Undefined when the record had no place for something, and has one now. */
async function tryToClear(deps: DeliverDeps, take: Take): Promise<ClearResult | undefined> {
  try {
    return await deps.db.transaction((tx) => clearStream(tx, take), { synchronousCommit: 'off' })
  } catch (error) {
    if (!isWithoutPartition(error)) throw error
    const ids = await rehouseStream(deps, take)
    if (ids === undefined || ids.size === 0) throw error
    return undefined
  }
}

function reportCleared(deps: DeliverDeps, key: StreamKey, cleared: Cleared, outcome: string): void {
  deps.observe({ outcome, events: cleared.events })
  deps.log.warn(
    {
      tenant_id: key.tenantId,
      webhook_id: key.webhookId,
      delivery_id: cleared.deliveryId,
      attempt: cleared.attempts,
      events: cleared.events,
      outcome,
      ...(cleared.traceparent === '' ? {} : { traceparent: cleared.traceparent }),
    },
    'webhook_delivery.finished',
  )
}

async function sendDelivery(
  deps: DeliverDeps,
  ready: ReadyDelivery,
  signal: AbortSignal,
): Promise<StepResult> {
  const { delivery, stream, target, events, pointers } = ready
  if (pointers !== undefined) {
    deps.lowWater.taken(delivery.webhookId, pointers)
    deps.failpoints.hit('dispatch.after_freeze')
  }
  const body = serializeRequest(stream.mode, events, delivery.webhookId)
  const made = await makeRequest(deps, {
    key: delivery,
    target,
    traceparent: delivery.traceparent,
    body,
    signal,
  })
  if (made === 'stopped') return IDLE
  if (made === 'busy') return FULL
  deps.failpoints.hit('dispatch.after_post')
  const step = decide(deps, ready, made, body)
  const { tenantId, webhookId, deliveryId } = delivery
  const settlement: Settlement = {
    tenantId,
    webhookId,
    deliveryId,
    failCount: stream.failCount,
    epoch: stream.epoch,
    isParked: delivery.isParked,
    attempt: made.record,
    step,
    halves: step.kind === 'divided' ? divideDelivery(ready, made.durationMs) : [],
  }
  const isSettled = await settleRequest(deps, settlement, signal)
  deps.failpoints.hit('dispatch.after_settle')
  report(deps, ready, made, isSettled ? step.kind : 'superseded', step)
  const isFailing =
    step.kind === 'retry' ||
    (step.kind === 'exhausted' && !step.isReceiverUp) ||
    (step.kind !== 'delivered' && refusesAll(stream.parkedInRow))
  return { kind: 'requested', isFailing, durationMs: made.durationMs }
}

function decide(
  deps: DeliverDeps,
  { delivery, stream, events, pointers }: ReadyDelivery,
  made: MadeRequest,
  body: string,
): DeliveryStep {
  const facts = {
    attempts: delivery.attempts,
    ageMs: delivery.ageMs + made.durationMs,
    events: events.length,
    bytes:
      made.outcome.kind === 'answered' && made.outcome.status === 413 ? Buffer.byteLength(body) : 0,
    isNewBatch: pointers !== undefined,
    isParked: delivery.isParked,
    failCount: stream.failCount,
    failingMs: stream.failingMs,
    parkedInRow: stream.parkedInRow,
  }
  return decideDelivery(made.outcome, facts, deps.policy, Math.random())
}

function report(
  deps: DeliverDeps,
  { delivery, events }: ReadyDelivery,
  made: MadeRequest,
  outcome: string,
  step: DeliveryStep,
): void {
  deps.observe({ outcome, durationMs: made.durationMs, events: events.length })
  deps.log[outcome === 'exhausted' ? 'warn' : 'info'](
    {
      tenant_id: delivery.tenantId,
      webhook_id: delivery.webhookId,
      delivery_id: delivery.deliveryId,
      attempt: delivery.attempts + 1,
      events: events.length,
      status: made.status,
      error: made.error,
      outcome,
      wait_ms: 'waitMs' in step ? step.waitMs : undefined,
      duration_ms: made.durationMs,
      traceparent: delivery.traceparent,
    },
    'webhook_delivery.finished',
  )
}

/**
 * One step of one stream: what it has to send next is taken, sent as one request, and settled. A stream
 * that may go on at once takes what follows in the transaction that settles what was accepted.
 *
 * Take → POST → settle. The members of a request are committed before it is made and its bytes follow
 * from immutable event rows, so that a repetition, also after a crash, has the same body
 * (docs/reference/webhooks.md#retries). URL, headers and `active` are read anew for every request.
 */
import {
  DatabaseUnavailableError,
  type Db,
  type GroupCommit,
  isWithoutPartition,
} from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { continueTrace } from '../../platform/trace.ts'
import type { Tracing } from '../../platform/tracing/span.ts'
import { serializeRequest } from '../events/event.ts'
import type { Cleared } from './operate/clear-store.ts'
import { type ClearResult, clearStream } from './operate/clear-stream.ts'
import type { BodyBudget } from './request/body-budget.ts'
import type { LastRequests } from './request/last-requests.ts'
import { type MadeRequest, makeRequest, type RequestDeps } from './request/make-request.ts'
import { requestSpan } from './request/request-span.ts'
import { SLOW_MS } from './schedule/endpoint-health.ts'
import {
  type DeliveryPolicy,
  type DeliveryStep,
  decideDelivery,
  refusesAll,
} from './settle/decide-delivery.ts'
import type { Settled, Settlement } from './settle/settle-deliveries.ts'
import { rehouseStream, settleRequest } from './settle/settle-request.ts'
import type { Idling, StreamKey } from './stream-store.ts'
import { divideDelivery } from './take/divide-delivery.ts'
import type { Prefetch } from './take/prefetch.ts'
import type { QueueCursor } from './take/queue-cursor.ts'
import type { NotTaken, ReadyDelivery, Take, Taken } from './take/take-deliveries.ts'
import { StaleReadError } from './take/take-store.ts'

export interface DeliverDeps extends RequestDeps {
  readonly db: Db
  readonly failpoints: Failpoints
  readonly take: (take: Take) => Promise<Taken>
  readonly settle: (settlement: Settlement) => Promise<Settled>
  /** Both in one transaction, of one stream. */
  readonly settleAndTake: (
    settlement: Settlement,
    take: Take,
  ) => Promise<{ readonly settled: Settled; readonly taken: Taken }>
  readonly idlings: GroupCommit<StreamKey, Idling>
  readonly queueCursor: QueueCursor
  readonly prefetch: Prefetch
  readonly bodyBudget: BodyBudget
  readonly lastRequests: LastRequests
  readonly batchEventsMax: number
  readonly batchBytesMax: number
  readonly policy: DeliveryPolicy
  /** With a duration when a request was made. */
  readonly observe: (o: { outcome: string; durationMs?: number; events: number }) => void
  readonly tracing?: Tracing | undefined
}

export type StepResult =
  /** A request was made; the stream is to be looked at again. */
  | { readonly kind: 'requested'; readonly isFailing: boolean; readonly durationMs: number }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing to do until the stream is woken. */
  | { readonly kind: 'idle' }

const AGAIN = { kind: 'wait', waitMs: 0 } as const
const IDLE: StepResult = { kind: 'idle' }
/** A writer is about to commit, or another dispatcher is at work. */
const BUSY: StepResult = { kind: 'wait', waitMs: 20 }
/** No request could be made: this process looks up as many names, or holds as much, as it may. */
const FULL: StepResult = { kind: 'wait', waitMs: 1_000 }

export async function deliverBatch(
  deps: DeliverDeps,
  key: StreamKey,
  signal: AbortSignal,
  /** Asked after an accepted request: another one may follow within this step. */
  mayGoOn: () => boolean = () => false,
): Promise<StepResult> {
  if (deps.bodyBudget.isCrowdedOut(key)) return FULL
  let take = takeOf(deps, key)
  let taken = await takeFirst(deps, take)
  while (taken.kind === 'ready') {
    const sent = await sendDelivery(deps, taken, signal)
    if ('kind' in sent) return sent
    const next = await settle(deps, sent, signal, mayGoOn)
    if ('result' in next) return next.result
    take = next.take
    taken = next.taken
  }
  return doWithoutRequest(deps, take, taken)
}

async function doWithoutRequest(
  deps: DeliverDeps,
  take: Take,
  taken: NotTaken,
): Promise<StepResult> {
  switch (taken.kind) {
    case 'wait':
      return taken
    case 'busy':
      return BUSY
    case 'none':
      return IDLE
    case 'clear':
      return clear(deps, take)
    case 'empty':
      if (!deps.lastRequests.isRecent(take.webhookId)) return goIdle(deps, take)
      return deps.queueCursor.foundNothing(take.webhookId) ? AGAIN : IDLE
  }
}

function takeOf(deps: DeliverDeps, { tenantId, webhookId }: StreamKey): Take {
  return {
    tenantId,
    webhookId,
    low: deps.queueCursor.of(webhookId),
    limits: deps,
    random: Math.random(),
    ahead: deps.prefetch.next(webhookId),
    canKeepAhead: !deps.prefetch.isFull,
  }
}

async function takeFirst(deps: DeliverDeps, take: Take): Promise<Taken> {
  try {
    const taken = await deps.take(take)
    noteTaken(deps, take, taken)
    return taken
  } catch (error) {
    deps.prefetch.forget(take.webhookId)
    // The queue is as it is: to be looked at.
    if (error instanceof StaleReadError) return AGAIN
    throw error
  }
}

function noteTaken(deps: DeliverDeps, { webhookId, ahead }: Take, taken: Taken): void {
  const pointers = taken.kind === 'ready' ? taken.pointers : undefined
  if (pointers !== undefined) deps.queueCursor.taken(webhookId, pointers)
  // What was read behind an event that was not taken now must not overtake it.
  if (taken.kind === 'ready' && taken.ahead.length > 0) deps.prefetch.set(webhookId, taken.ahead)
  else if (pointers?.[0] !== ahead?.pointer) deps.prefetch.forget(webhookId)
}

async function goIdle(deps: DeliverDeps, key: StreamKey): Promise<StepResult> {
  const state = await deps.idlings.add(key)
  // It looked from the first id on: what the take did not find lies below the cursor's ids.
  if (state === 'busy') deps.queueCursor.reset(key.webhookId)
  return state === 'idle' ? IDLE : state === 'busy' ? AGAIN : BUSY
}

/** One stream, one transaction: what is large waits for nobody and lets nobody wait. */
async function clear(deps: DeliverDeps, take: Take): Promise<StepResult> {
  const cleared = await tryToClear(deps, take)
  if (cleared === undefined) return AGAIN
  const { discarded, exhausted, pointers } = cleared
  for (const delivery of discarded) reportCleared(deps, take, delivery, 'discarded')
  for (const delivery of exhausted) reportCleared(deps, take, delivery, 'exhausted')
  if (pointers.length > 0) deps.queueCursor.taken(take.webhookId, pointers)
  return discarded.length + exhausted.length > 0 ? AGAIN : goIdle(deps, take)
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
  // Switching a webhook off is an ordinary action.
  deps.log[outcome === 'exhausted' ? 'warn' : 'info'](
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

/** A request that was made, and what it comes to. */
interface Sent {
  readonly ready: ReadyDelivery
  readonly made: MadeRequest
  readonly step: DeliveryStep
  /** As the request had it. */
  readonly traceparent: string
  readonly endedMs: number
}

async function sendDelivery(
  deps: DeliverDeps,
  ready: ReadyDelivery,
  signal: AbortSignal,
): Promise<Sent | StepResult> {
  const { delivery, stream, target, events, pointers } = ready
  if (pointers !== undefined) deps.failpoints.hit('dispatch.after_freeze')
  const body = serializeRequest(stream.mode, events, delivery.webhookId)
  // A receiver that hangs would hold every event twice.
  for (const event of events) event.body = ''
  const giveBack = deps.bodyBudget.take(delivery, body.length)
  if (giveBack === undefined) return FULL
  // A span has an id of its own, so a repeated request has another than the one before.
  const isFirst = deps.tracing === undefined || delivery.attempts === 0
  const traceparent = isFirst ? delivery.traceparent : continueTrace(delivery.traceparent)
  const { deliveryId } = delivery
  const request = { key: delivery, target, deliveryId, traceparent, body, signal }
  const made = await makeRequest(deps, request).finally(giveBack)
  if (made === 'stopped') return IDLE
  if (made === 'busy') return FULL
  deps.lastRequests.made(delivery.webhookId)
  deps.failpoints.hit('dispatch.after_post')
  const step = decide(deps, ready, made, body)
  return { ready, made, step, traceparent, endedMs: Date.now() }
}

/** With what was taken in the same transaction, where the stream may go on and something was there. */
async function settle(
  deps: DeliverDeps,
  sent: Sent,
  signal: AbortSignal,
  mayGoOn: () => boolean,
): Promise<{ readonly result: StepResult } | Next> {
  const settlement = settlementOf(sent)
  const { stream } = sent.ready
  const isQuick = sent.made.durationMs <= SLOW_MS
  const goesOn = sent.step.kind === 'delivered' && isQuick && !signal.aborted && mayGoOn()
  const { isSettled, next } = goesOn
    ? await settleAndTake(deps, settlement, signal)
    : { isSettled: await settleRequest(deps, settlement, signal) }
  deps.failpoints.hit('dispatch.after_settle')
  report(deps, sent, isSettled)
  if (next !== undefined) return next
  const { step } = sent
  const isFailing =
    (step.kind === 'retry' && step.waitMs > 0) ||
    (step.kind === 'exhausted' && !step.isReceiverUp) ||
    (step.kind !== 'delivered' && refusesAll(stream.parkedInRow))
  return { result: { kind: 'requested', isFailing, durationMs: sent.made.durationMs } }
}

function settlementOf({ ready, made, step }: Sent): Settlement {
  const { delivery, stream } = ready
  return {
    tenantId: delivery.tenantId,
    webhookId: delivery.webhookId,
    deliveryId: delivery.deliveryId,
    failCount: stream.failCount,
    epoch: stream.epoch,
    isParked: delivery.isParked,
    attempt: made.record,
    step,
    halves: step.kind === 'divided' ? divideDelivery(ready, made.durationMs) : [],
  }
}

/** What follows a settled request. */
interface Next {
  readonly take: Take
  readonly taken: Taken
}

/** What was taken beside something that was not settled is left: it is taken again as it is. */
async function settleAndTake(
  deps: DeliverDeps,
  settlement: Settlement,
  signal: AbortSignal,
): Promise<{ readonly isSettled: boolean; readonly next?: Next }> {
  const take = takeOf(deps, settlement)
  let mayBeDone = false
  try {
    const { settled, taken } = await deps.settleAndTake(settlement, take)
    if (settled === true) {
      noteTaken(deps, take, taken)
      return { isSettled: true, next: { take, taken } }
    }
  } catch (error) {
    // Settled alone it may go well, or fail in a way that is dealt with.
    mayBeDone = error instanceof DatabaseUnavailableError && error.isCommitUnknown
  }
  deps.prefetch.forget(take.webhookId)
  return { isSettled: await settleRequest(deps, settlement, signal, mayBeDone) }
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

function report(deps: DeliverDeps, sent: Sent, isSettled: boolean): void {
  const { ready, made, step, traceparent } = sent
  const { delivery, events } = ready
  const outcome = isSettled ? step.kind : 'superseded'
  deps.observe({ outcome, durationMs: made.durationMs, events: events.length })
  deps.tracing?.record(requestSpan(sent, outcome))
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
      traceparent,
    },
    'webhook_delivery.finished',
  )
}

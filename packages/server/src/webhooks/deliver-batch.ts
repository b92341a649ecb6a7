/**
 * One step of one stream: what is frozen, or else what is pending, is sent as one request, and
 * what came of it is settled.
 *
 * Freeze → POST → settle. The members of a request are committed before it is made and its bytes
 * follow from immutable event rows, so that a repetition, also after a crash, has the same body
 * (contract §4). Success deletes exact pointers, never a range: an event of a late commit may sort
 * among them. URL, headers and `active` are read anew for every request.
 */
import type { Clock } from '../platform/clock.ts'
import type { Db, GroupCommit } from '../platform/db/index.ts'
import { type Egress, EgressError } from '../platform/egress/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import { dayOfUlid, newId } from '../platform/ids.ts'
import type { Logger } from '../platform/log.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { continueTrace } from '../platform/trace.ts'
import { type CustomHeaders, openHeaders } from './custom-headers.ts'
import {
  type DeliveryOutcome,
  type DeliveryPolicy,
  decideDelivery,
  parseRetryAfter,
} from './decide-delivery.ts'
import { addressEvent, serializeBatch } from './event.ts'
import {
  type DeliveryAttempt,
  goIdle,
  type LoadedStream,
  loadMembers,
  loadStream,
  type NewDelivery,
  type OpenDelivery,
  type PendingEvent,
  peekPending,
  type Settlement,
  type StreamKey,
} from './stream-store.ts'

export interface DeliverDeps {
  readonly db: Db
  readonly clock: Clock
  readonly egress: Egress
  readonly keyRing: KeyRing
  readonly log: Logger
  readonly failpoints: Failpoints
  readonly freezes: GroupCommit<NewDelivery, boolean>
  readonly settlements: GroupCommit<Settlement, boolean>
  readonly batchEventsMax: number
  readonly batchBytesMax: number
  readonly timeoutMs: number
  readonly policy: DeliveryPolicy
  readonly observe: (o: { outcome: string; durationMs: number; events: number }) => void
}

export type StepResult =
  /** A request was made; the stream is to be looked at again. */
  | { readonly kind: 'requested'; readonly delivered: boolean }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Nothing to do until the stream is woken. */
  | { readonly kind: 'idle' }

export async function deliverBatch(
  deps: DeliverDeps,
  key: StreamKey,
  signal: AbortSignal,
): Promise<StepResult> {
  const stream = await loadStream(deps.db, key)
  if (stream === undefined || !stream.active) return { kind: 'idle' }
  if (stream.waitMs > 0) return { kind: 'wait', waitMs: stream.waitMs }
  if (stream.delivery !== undefined) {
    const members = inFrozenOrder(
      stream.delivery,
      await loadMembers(deps.db, key.tenantId, stream.delivery),
    )
    return sendDelivery(deps, key, stream, stream.delivery, members, signal)
  }
  const members = await nextMembers(deps, key, stream)
  if (members.length === 0) {
    const isIdle = await deps.db.transaction((tx) => goIdle(tx, key), { synchronousCommit: 'off' })
    return isIdle ? { kind: 'idle' } : { kind: 'wait', waitMs: 20 }
  }
  const delivery = await freeze(deps, key, members)
  if (delivery === undefined) return { kind: 'wait', waitMs: 20 }
  deps.failpoints.hit('dispatch.after_freeze')
  return sendDelivery(deps, key, stream, delivery, members, signal)
}

/** At most so many events and bytes, oldest first (interface §6.2.3). */
async function nextMembers(
  deps: DeliverDeps,
  key: StreamKey,
  stream: LoadedStream,
): Promise<PendingEvent[]> {
  const limit = stream.mode === 'single' ? 1 : deps.batchEventsMax
  const pending = await peekPending(deps.db, key, limit)
  pending.sort((a, b) => compare(a.eventAt, b.eventAt) || compare(a.eventId, b.eventId))
  let bytes = 0
  const fits = pending.findIndex((event, i) => {
    bytes += event.bytes
    return i > 0 && bytes > deps.batchBytesMax
  })
  return fits === -1 ? pending : pending.slice(0, fits)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

async function freeze(
  deps: DeliverDeps,
  key: StreamKey,
  members: readonly PendingEvent[],
): Promise<OpenDelivery | undefined> {
  const deliveryId = newId('dlv')
  const oldest = members[0]
  const delivery: NewDelivery = {
    ...key,
    deliveryId,
    day: dayOfUlid(deliveryId),
    eventIds: members.map((event) => event.eventId),
    eventDays: members.map((event) => event.day),
    traceparent: continueTrace(oldest?.traceparent),
  }
  const isOurs = await deps.freezes.add(delivery)
  return isOurs ? { ...delivery, attempts: 0, ageMs: 0 } : undefined
}

function inFrozenOrder(
  delivery: OpenDelivery,
  events: readonly PendingEvent[],
): readonly PendingEvent[] {
  const byId = new Map(events.map((event) => [event.eventId, event]))
  return delivery.eventIds.map((id) => {
    const event = byId.get(id)
    if (event === undefined)
      throw new Error(`event ${id} of webhook delivery ${delivery.deliveryId} is gone`)
    return event
  })
}

async function sendDelivery(
  deps: DeliverDeps,
  key: StreamKey,
  stream: LoadedStream,
  delivery: OpenDelivery,
  members: readonly PendingEvent[],
  signal: AbortSignal,
): Promise<StepResult> {
  const at = deps.clock.now()
  const startedMs = performance.now()
  const made = await request(deps, key, stream, delivery, members, signal)
  if (made === undefined) return { kind: 'idle' }
  deps.failpoints.hit('dispatch.after_post')
  const durationMs = Math.round(performance.now() - startedMs)
  const { outcome, ...record } = made
  const step = decideDelivery(
    outcome,
    {
      failCount: stream.failCount,
      ageMs: delivery.ageMs + durationMs,
      random: Math.random(),
    },
    deps.policy,
  )
  const attempt: DeliveryAttempt = {
    ...key,
    deliveryId: delivery.deliveryId,
    day: delivery.day,
    attempt: delivery.attempts + 1,
    at,
    durationMs,
    ...record,
  }
  const settled = await deps.settlements.add({ attempt, eventIds: delivery.eventIds, step })
  deps.failpoints.hit('dispatch.after_settle')
  deps.observe({ outcome: step.kind, durationMs, events: members.length })
  deps.log.info(
    {
      tenant_id: key.tenantId,
      webhook_id: key.webhookId,
      delivery_id: delivery.deliveryId,
      attempt: attempt.attempt,
      events: members.length,
      status: record.status,
      error: record.error,
      outcome: step.kind,
      wait_ms: step.kind === 'delivered' ? undefined : step.waitMs,
      duration_ms: durationMs,
      settled,
      traceparent: delivery.traceparent,
    },
    'webhook_delivery.finished',
  )
  return { kind: 'requested', delivered: step.kind === 'delivered' }
}

interface Made {
  readonly outcome: DeliveryOutcome
  readonly status?: number
  readonly error?: string
  readonly response?: string
  readonly timings?: Readonly<Record<string, number>>
}

/** Undefined when we are stopping: nothing is known then, and the delivery stays as it is. */
async function request(
  deps: DeliverDeps,
  key: StreamKey,
  stream: LoadedStream,
  delivery: OpenDelivery,
  members: readonly PendingEvent[],
  signal: AbortSignal,
): Promise<Made | undefined> {
  const first = members[0]
  const body =
    stream.mode === 'single' && first !== undefined
      ? addressEvent(first.body, key.webhookId)
      : serializeBatch(members, key.webhookId)
  try {
    const answer = await deps.egress.request({
      poolKey: key.webhookId,
      url: stream.url,
      method: 'POST',
      headers: requestHeaders(
        delivery.traceparent,
        openHeaders(deps.keyRing, key, stream.headersSealed),
      ),
      body,
      timeoutMs: deps.timeoutMs,
      signal,
    })
    const header = answer.headers['retry-after']
    const retryAfterMs = parseRetryAfter(
      typeof header === 'string' ? header : undefined,
      deps.clock.now(),
    )
    const outcome: DeliveryOutcome = {
      kind: 'answered',
      status: answer.status,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }
    const timings = { ...answer.timings }
    return { outcome, status: answer.status, response: answer.body.replaceAll('\0', '�'), timings }
  } catch (error) {
    if (signal.aborted) return undefined
    if (!(error instanceof EgressError)) throw error
    return { outcome: { kind: 'failed' }, error: `${error.code}: ${error.message}`.slice(0, 500) }
  }
}

/** Ours cannot be among the tenant's, save User-Agent, where the tenant's takes its place. */
function requestHeaders(traceparent: string, custom: CustomHeaders): CustomHeaders {
  const hasUserAgent = custom.some(([name]) => name.toLowerCase() === 'user-agent')
  return [
    ['Content-Type', 'application/json'],
    ...(hasUserAgent ? [] : ([['User-Agent', 'Postrider']] as const)),
    ['traceparent', traceparent],
    ...custom,
  ]
}

/** Makes webhooks: subscriptions and their routes for every role, and the dispatcher. */
import {
  replayedEventsADayMax,
  replaysMax,
  webhookChecksMax,
  webhookTestsMax,
} from '@postrider/contract'
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from '@postrider/runtime/concurrency-limiter'
import type { Service } from '@postrider/runtime/service'
import type { Clock } from '../platform/clock.ts'
import type { BucketLeases, Db, Others } from '../platform/db/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import type { Logger } from '../platform/log.ts'
import { type Metrics, requestSeconds } from '../platform/metrics.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Tracing } from '../platform/tracing/span.ts'
import { type DeliverDeps, deliverBatch } from './dispatch/deliver-batch.ts'
import { createBacklog } from './dispatch/operate/backlog.ts'
import { createTargetCache } from './dispatch/request/target-cache.ts'
import { createDiscovery } from './dispatch/schedule/discover-streams.ts'
import { createWakeups, type Wakeups } from './dispatch/schedule/wakeups.ts'
import { createDispatcher } from './dispatch/schedule/worker.ts'
import { createDeliveryCommits } from './dispatch/settle/delivery-commits.ts'
import { createFeed } from './feed/create.ts'
import { eventLogRoutes } from './log/routes.ts'
import { webhookRoutes } from './routes.ts'
import { statusRoutes } from './status/routes.ts'
import type { TestEventDeps } from './status/send-test-event.ts'
import type { ReceiverRules } from './subscriptions/check-receiver.ts'

export interface WebhooksDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly egress: Egress
  readonly failpoints: Failpoints
  readonly tracing?: Tracing | undefined
  readonly leases: BucketLeases
  /** The other processes with the role `dispatcher`. */
  readonly others: Others
  /** This service sends nothing (SENDING). */
  readonly isSendingPaused: boolean
  /** Whether this process answers the API. */
  readonly isApi: boolean
  /** Whether this process dispatches events. */
  readonly isDispatching: boolean
  /** Of checks that look hosts up. */
  readonly checks: ConcurrencyLimiter
  /** Of calls that read the record; replays count among them. */
  readonly recordReads: ConcurrencyLimiter
  readonly config: {
    readonly allowHttpWebhooks: boolean
    /** Connections to the database, a quarter of which replays may take. */
    readonly databasePool: number
    readonly dispatcherConcurrency: number
    readonly webhookBatchBytes: number
    readonly webhookBatchEvents: number
    readonly webhookBatchLingerMs: number
    readonly webhookRetryForMs: number
    readonly webhookRetrySchedule: readonly number[]
    readonly webhookTimeoutMs: number
  }
}

const CONNECT_CHECK_MS = 5_000
const SETTLED: ReadonlySet<string> = new Set(['delivered', 'exhausted', 'discarded'])
const REQUESTED = ['delivered', 'retry', 'divided', 'parked', 'exhausted', 'superseded'] as const

/** Nothing runs before its services start. */
export function createWebhooks(deps: WebhooksDeps) {
  const { config, db } = deps
  const wakeups = createWakeups(deps.others)
  const receivers: ReceiverRules = {
    egress: deps.egress,
    allowHttp: config.allowHttpWebhooks,
    connectTimeoutMs: CONNECT_CHECK_MS,
    limit: createRateLimit({ name: 'webhook-checks', usesMax: webhookChecksMax, windowS: 60 }),
    limiter: deps.checks,
  }
  const replays = createConcurrencyLimiter({
    name: 'replays-at-once',
    atOnceMax: Math.max(1, Math.floor(config.databasePool * 0.25)),
    atOncePerCallerMax: 1,
    waitingPerCallerMax: 20,
  })
  const feed = deps.isApi ? createFeed(deps) : undefined
  return {
    wakeups,
    /** How receivers are checked that tenants name. */
    receivers,
    services: [
      ...(deps.isDispatching ? createDispatch(deps, wakeups) : []),
      ...(feed?.services ?? []),
    ],
    routes(app: HttpApp) {
      feed?.routes(app)
      const routesDeps = {
        db,
        clock: deps.clock,
        keyRing: deps.keyRing,
        receivers,
        wakeups,
        replayLimit: createRateLimit({ name: 'replays', usesMax: replaysMax, windowS: 60 }),
        replayBudget: createRateLimit({
          name: 'replayed-events-a-day',
          // What is replayed stays in the record, once for each time.
          usesMax: replayedEventsADayMax,
          windowS: 86_400,
        }),
        limiters: { record: deps.recordReads, replays },
      }
      webhookRoutes(app, routesDeps)
      statusRoutes(app, { ...routesDeps, tests: createTests(deps) })
      eventLogRoutes(app, { db, limiter: deps.recordReads })
    },
  }
}

/** Test events: requests of the API, beside those of a dispatcher. */
function createTests(deps: WebhooksDeps): TestEventDeps['tests'] {
  const { config, isSendingPaused } = deps
  return {
    isSendingPaused,
    request: {
      ...deps,
      targets: createTargetCache(),
      allowHttp: config.allowHttpWebhooks,
      timeoutMs: config.webhookTimeoutMs,
    },
    limit: createRateLimit({ name: 'webhook-tests', usesMax: webhookTestsMax, windowS: 60 }),
    limiter: createConcurrencyLimiter(TESTS_AT_ONCE),
  }
}

/** A receiver that hangs holds its place for as long as a request may last. */
const TESTS_AT_ONCE = {
  name: 'webhook-tests-at-once',
  atOnceMax: 100,
  atOncePerCallerMax: 2,
  waitingPerCallerMax: 0,
}

/** What the role `dispatcher` is made of. */
function createDispatch(deps: WebhooksDeps, wakeups: Wakeups): Service[] {
  const { config, db, leases, log, metrics } = deps
  const deliverDeps: DeliverDeps = {
    ...deps,
    ...createDeliveryCommits(db),
    batchEventsMax: config.webhookBatchEvents,
    batchBytesMax: config.webhookBatchBytes,
    allowHttp: config.allowHttpWebhooks,
    timeoutMs: config.webhookTimeoutMs,
    policy: {
      retryScheduleMs: config.webhookRetrySchedule,
      retryForMs: config.webhookRetryForMs,
    },
    observe: createRequestObserver(metrics),
  }
  const dispatcher = createDispatcher({
    log,
    leases,
    wakeups,
    discover: createDiscovery(db),
    deliver: (stream, signal, mayGoOn) => deliverBatch(deliverDeps, stream, signal, mayGoOn),
    concurrency: config.dispatcherConcurrency,
    lingerMs: config.webhookBatchLingerMs,
    timeoutMs: config.webhookTimeoutMs,
  })
  metrics.gaugeOf(
    'webhook_dispatcher_steps',
    'Webhooks served by this process now: under way by what is known of their receivers, and in line',
    'place',
    () => ({ ...dispatcher.counts() }),
  )
  return [leases, dispatcher, createBacklog({ db, leases, log, metrics })]
}

function createRequestObserver(metrics: Metrics): DeliverDeps['observe'] {
  const requests = metrics.histogram(
    'webhook_request_duration_seconds',
    'Duration of webhook requests, by what came of them',
    ['outcome'],
    requestSeconds,
  )
  const settled = metrics.counterOf(
    'webhook_events_settled_total',
    'Events that left the queue: delivered, exhausted (given up) or discarded (no longer wanted)',
    'outcome',
    SETTLED,
  )
  // From the start: what begins with its first occurrence is no increase.
  for (const outcome of REQUESTED) requests.zero({ outcome })
  return ({ outcome, durationMs, events: count }) => {
    if (durationMs !== undefined) requests.observe({ outcome }, durationMs / 1000)
    if (SETTLED.has(outcome)) settled(outcome, count)
  }
}

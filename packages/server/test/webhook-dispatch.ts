/**
 * Events in, webhook requests out: recording, streams and dispatchers on a database of their own,
 * with the real egress to receivers on loopback.
 */
import { zeroTracking } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type Clock, createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { type BucketLeases, createBucketLeases } from '../src/platform/db/leases.ts'
import type { Egress } from '../src/platform/egress/index.ts'
import { createFailpoints } from '../src/platform/failpoints.ts'
import { newUlid } from '../src/platform/ids.ts'
import type { Logger } from '../src/platform/log.ts'
import { startTrace } from '../src/platform/trace.ts'
import { type DeliverDeps, deliverBatch } from '../src/webhooks/dispatch/deliver-batch.ts'
import { createDiscovery } from '../src/webhooks/dispatch/schedule/discover-streams.ts'
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherDeps,
} from '../src/webhooks/dispatch/schedule/worker.ts'
import { createDeliveryCommits } from '../src/webhooks/dispatch/settle/delivery-commits.ts'
import type { StreamKey } from '../src/webhooks/dispatch/stream-store.ts'
import { createWakeups, type NewEvent, recordEvents, type Wakeups } from '../src/webhooks/index.ts'
import {
  registerWebhook,
  type WebhookDeps,
} from '../src/webhooks/subscriptions/register-webhook.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { createTestEgress, testKeyRing, testReceivers } from './webhook-api.ts'

const HOUR_MS = 3_600_000

export interface RegisterOptions {
  readonly tenantId?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly events?: Readonly<Record<string, boolean>>
}

export interface DeliveryRow {
  readonly delivery_id: string
  readonly status: string
  readonly attempts: number
  readonly event_ids: readonly string[]
  readonly traceparent: string
}

export type DispatcherChange = Partial<DispatcherDeps & DeliverDeps>

export interface WebhookDispatch {
  readonly database: TestDatabase
  readonly db: Db
  readonly deps: WebhookDeps
  readonly egress: Egress
  readonly wakeups: Wakeups
  readonly clock: Clock
  /** Log lines of the dispatchers. */
  readonly lines: Record<string, unknown>[]
  /** Resolves with the first line of that name from now on. */
  nextLine(name: string): Promise<Record<string, unknown>>
  register(url: string, o?: RegisterOptions): Promise<StreamKey>
  /** Records events in one transaction of their own and wakes who is concerned. */
  record(...events: readonly NewEvent[]): Promise<void>
  /** A dispatcher that owns every bucket, also beside another one. */
  dispatcher(change?: DispatcherChange): Promise<Dispatcher & { leases: BucketLeases }>
  /** Ends the back-off of every stream, and of every parked event. */
  due(): Promise<void>
  /** Removes every webhook, event and log line. */
  clear(): Promise<void>
  /** The stream's row. */
  stream(key: StreamKey): Promise<Record<string, unknown> | undefined>
  /** What is still to be delivered: queued, or in an open delivery. */
  pending(key: StreamKey): Promise<string[]>
  /** Open and settled ones, as they were made. */
  deliveries(key: StreamKey): Promise<DeliveryRow[]>
  /** Of all deliveries, also the attempts that ended them. */
  attempts(key: StreamKey): Promise<Record<string, unknown>[]>
  close(): Promise<void>
}

/** An event of tenant `tn_a` now, unless told otherwise. */
export function newEvent(change: Partial<NewEvent> = {}): NewEvent {
  const refId = change.refId ?? newUlid()
  return {
    tenantId: 'tn_a',
    refId,
    event: 'MAIL_DELIVERED',
    success: true,
    eventAtMicros: clock.nowMicros(),
    details: {
      ref_id: refId,
      mailer_id: 'smtp_1',
      email: ['a@example.com'],
      custom_args: null,
      message_id: '<1@example.com>',
      thread_id: '',
      tracking: zeroTracking,
      failed_reason: '',
    },
    traceparent: startTrace(),
    ...change,
  }
}
const clock = createClock()

/**
 * For a file of tests: one dispatch for all of them, and a new receiver for each. Both are given before
 * each test.
 */
export function useWebhookDispatch(
  before: (world: WebhookDispatch, receiver: WebhookReceiver) => void | Promise<void>,
): void {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  beforeAll(async () => {
    world = await createWebhookDispatch()
  })
  beforeEach(async () => {
    receiver = await createWebhookReceiver()
    await before(world, receiver)
  })
  afterEach(async () => {
    await receiver.close()
    await world.clear()
  })
  afterAll(() => world.close())
}

export async function createWebhookDispatch(
  o: { poolMax?: number } = {},
): Promise<WebhookDispatch> {
  const database = await createTestDatabase({ poolMax: o.poolMax ?? 8, hasDays: true })
  const { db } = database
  const egress = createTestEgress()
  const wakeups = createWakeups()
  const { log, lines, nextLine } = createLog()
  const keyRing = testKeyRing
  const deps: WebhookDeps = { db, keyRing, receivers: testReceivers(egress), wakeups }
  const made: { stop(): Promise<void> }[] = []
  const rowsOf = async <Row>(text: string, key: StreamKey) =>
    (await db.query<Row>(text, [key.tenantId, key.webhookId])).rows

  return {
    ...{ database, db, deps, egress, wakeups, clock, lines, nextLine },
    async register(url, { tenantId = 'tn_a', headers = {}, events = ALL_EVENTS } = {}) {
      const { webhookId } = await registerWebhook(deps, tenantId, {
        webhook_url: url,
        event: 'EMAIL_EVENT',
        method: 'POST',
        headers: { ...headers },
        webhook_options: { events },
      })
      return { tenantId, webhookId }
    },
    async record(...events) {
      const { touched } = await db.transaction((tx) => recordEvents(tx, events))
      wakeups.wake(touched)
    },
    async dispatcher(change = {}) {
      // A role of its own, so that it shares no bucket with the others.
      const role = `dispatcher-${made.length}`
      const one = await startDispatcher({ db, egress, log, wakeups, role }, change)
      made.push(one.leases, one.dispatcher)
      return { ...one.dispatcher, leases: one.leases }
    },
    async due() {
      await db.query(`update webhooks_stream set not_before = '-infinity'`)
      await db.query('update webhooks_open set due_at = now() where due_at > now()')
    },
    async clear() {
      await emptyTables(
        db,
        'webhooks_event',
        'webhooks_delivery',
        'webhooks_attempt',
        'webhooks_open',
        'webhooks_stream',
        'webhooks_pending',
        'webhooks_subscription',
      )
      lines.length = 0
    },
    stream: async (key) => (await rowsOf<Record<string, unknown>>(STREAM, key))[0],
    async pending(key) {
      const rows = await rowsOf<{ event_id: string }>(PENDING, key)
      return rows.map((row) => row.event_id)
    },
    deliveries: (key) => rowsOf<DeliveryRow>(DELIVERIES, key),
    attempts: (key) => rowsOf<Record<string, unknown>>(ATTEMPTS, key),
    async close() {
      for (const service of made.toReversed()) await service.stop()
      await egress.close()
      await database.close()
    },
  }
}

/** Keeps its lines, and tells of those that are awaited. */
function createLog(): Pick<WebhookDispatch, 'lines' | 'nextLine'> & { readonly log: Logger } {
  const lines: Record<string, unknown>[] = []
  const awaited = new Map<unknown, ((line: Record<string, unknown>) => void)[]>()
  const write = (text: string) => {
    const line: Record<string, unknown> = JSON.parse(text)
    lines.push(line)
    for (const resolve of awaited.get(line.msg) ?? []) resolve(line)
    awaited.delete(line.msg)
  }
  return {
    log: pino({ level: 'trace' }, { write }),
    lines,
    nextLine: (name) =>
      new Promise((resolve) => awaited.set(name, [...(awaited.get(name) ?? []), resolve])),
  }
}

async function startDispatcher(
  o: Pick<DeliverDeps, 'db' | 'egress' | 'log'> & {
    readonly wakeups: Wakeups
    readonly role: string
  },
  change: DispatcherChange,
): Promise<{ readonly dispatcher: Dispatcher; readonly leases: BucketLeases }> {
  const { egress, log, role, wakeups } = o
  const db = change.db ?? o.db
  const silent = pino({ level: 'silent' })
  const leases = createBucketLeases({ db, role, memberId: 'm', ttlMs: 60_000, log: silent })
  await leases.start()
  const deliverDeps: DeliverDeps = {
    ...{ db, clock, egress, keyRing: testKeyRing, log },
    failpoints: createFailpoints(undefined),
    ...createDeliveryCommits(db),
    // What is done is done when a run ends; for tests that look at the stream.
    lastRequests: { made: () => undefined, isRecent: () => false },
    batchEventsMax: 500,
    batchBytesMax: 1_048_576,
    allowHttp: true,
    timeoutMs: 10_000,
    policy: { retryScheduleMs: [HOUR_MS, 2 * HOUR_MS], retryForMs: 72 * HOUR_MS },
    observe: () => undefined,
    ...change,
  }
  const dispatcher = createDispatcher({
    log,
    leases,
    wakeups,
    discover: createDiscovery(db),
    deliver: (stream, signal, mayGoOn) => deliverBatch(deliverDeps, stream, signal, mayGoOn),
    concurrency: 16,
    lingerMs: 0,
    timeoutMs: deliverDeps.timeoutMs,
    ...change,
  })
  return { dispatcher, leases }
}

const ALL_EVENTS = {
  delivery: true,
  open: true,
  click: true,
  bounce: true,
  spam: true,
  unsubscribe: true,
  smtp_error: true,
}

const STREAM = 'select * from webhooks_stream where tenant_id = $1 and webhook_id = $2'
const PENDING = `select event_id from webhooks_pending where tenant_id = $1 and webhook_id = $2
  union all select unnest(event_ids) from webhooks_open where tenant_id = $1 and webhook_id = $2
  order by event_id`
const DELIVERIES = `select delivery_id, status, attempts, event_ids, traceparent
  from webhooks_delivery where tenant_id = $1 and webhook_id = $2
  union all select delivery_id, status, attempts, event_ids, traceparent
  from webhooks_open where tenant_id = $1 and webhook_id = $2
  order by delivery_id`
const ATTEMPTS = `with delivery as (
    select tenant_id, delivery_id, last_attempt from webhooks_delivery
     where tenant_id = $1 and webhook_id = $2
     union all select tenant_id, delivery_id, null from webhooks_open
     where tenant_id = $1 and webhook_id = $2)
  select attempt, status, error, response, timings from (
    select a.delivery_id, a.attempt, a.status, a.error, a.response, a.timings
      from webhooks_attempt a join delivery d
        on d.tenant_id = a.tenant_id and d.delivery_id = a.delivery_id
     union all
    select d.delivery_id, a.attempt, a.status, a.error, a.response, a.timings
      from delivery d cross join lateral json_to_record(d.last_attempt)
        as a(attempt integer, status smallint, error text, response text, timings json)
     where d.last_attempt is not null) a
  order by delivery_id, attempt`

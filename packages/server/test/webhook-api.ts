/**
 * The webhook operations behind the real HTTP application, on a database of their own, with two
 * tenants and keys of every scope. Everything that is answered or logged is kept in `seen`.
 */
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { ApiKeyScope, WebhookEvent } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { createClock } from '../src/platform/clock.ts'
import { createEgress, type Egress } from '../src/platform/egress/index.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { createRateLimit } from '../src/platform/limits/rate-limit.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createKeyRing, type KeyRing } from '../src/platform/secrets/index.ts'
import { createTargetCache } from '../src/webhooks/dispatch/request/target-cache.ts'
import type { StreamKey } from '../src/webhooks/dispatch/stream-store.ts'
import { type EventLogRouteDeps, eventLogRoutes } from '../src/webhooks/log/routes.ts'
import { type WebhookRoutesDeps, webhookRoutes } from '../src/webhooks/routes.ts'
import { type StatusRoutesDeps, statusRoutes } from '../src/webhooks/status/routes.ts'
import type { ReceiverRules } from '../src/webhooks/subscriptions/check-receiver.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

/** What is really sent; only tests of webhooks go past their front door. */
export { openHeaders } from '../src/webhooks/subscriptions/custom-headers.ts'

export const testKeyRing: KeyRing = createKeyRing(
  `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`,
)

const KEYS: Readonly<Record<string, { tenantId: string; scopes: readonly ApiKeyScope[] }>> = {
  a: { tenantId: 'tn_a', scopes: [] },
  b: { tenantId: 'tn_b', scopes: [] },
  webhooks: { tenantId: 'tn_a', scopes: ['webhooks'] },
  reader: { tenantId: 'tn_a', scopes: ['read'] },
  content: { tenantId: 'tn_a', scopes: ['read', 'content'] },
  sender: { tenantId: 'tn_a', scopes: ['send'] },
}

/** Names that resolve, and where to; every other name does not. */
const HOSTS: Readonly<Record<string, readonly string[]>> = {
  'hooks.example.test': ['127.0.0.1'],
  'internal.example.test': ['10.1.2.3'],
  'both.example.test': ['127.0.0.1', '10.1.2.3'],
}

/** Loopback is allowed, the test authority trusted. */
export function createTestEgress(
  lookedUp: string[] = [],
  hosts: Readonly<Record<string, readonly string[]>> = HOSTS,
): Egress {
  return createEgress({
    allowNetworks: ['127.0.0.0/8'],
    tlsCaFile: fileURLToPath(new URL('../../testkit/certs/ca.pem', import.meta.url)),
    lookup: async (host) => {
      lookedUp.push(host)
      const addresses = hosts[host]
      if (addresses === undefined)
        throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
      return addresses.map((address) => ({ address, family: 4 }))
    },
  })
}

const testLimit = createRateLimit({ name: 'test', usesMax: 1_000_000, windowS: 60 })

export const testLimiter = createConcurrencyLimiter({
  name: 'test',
  atOnceMax: 1_000,
  atOncePerCallerMax: 1_000,
  waitingPerCallerMax: 1_000,
})

/** http is allowed; no limit that a test could meet by chance; failures are told at once. */
export function testReceivers(egress: Egress, change: Partial<ReceiverRules> = {}): ReceiverRules {
  return {
    egress,
    allowHttp: true,
    connectTimeoutMs: 5_000,
    limit: testLimit,
    limiter: testLimiter,
    wait: async () => undefined,
    ...change,
  }
}

export interface CallOptions {
  readonly key?: string | undefined
  /** A string is sent as it is. */
  readonly payload?: object | string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: Record<string, unknown> & { errors?: { path: string; message: string }[] }
}

export interface StoredWebhook {
  readonly webhook_id: string
  readonly url: string
  readonly active: boolean
  readonly generation: number
  readonly options: { readonly [key: string]: boolean } | null
  readonly headers_sealed: string
}

export interface WebhookApi {
  readonly database: TestDatabase
  /** Answers with their headers, and log lines. */
  readonly seen: string[]
  /** Names that were looked up. */
  readonly lookedUp: string[]
  /** Streams that were woken. */
  readonly woken: StreamKey[]
  call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, o?: CallOptions): Promise<Answer>
  register(body: object | string, key?: string): Promise<Answer>
  update(body: object | string, key?: string): Promise<Answer>
  list(key?: string): Promise<Answer>
  delete(body: object | string, key?: string): Promise<Answer>
  stored(tenantId?: string, event?: WebhookEvent): Promise<StoredWebhook | undefined>
  /** Removes every webhook. */
  clear(): Promise<void>
  close(): Promise<void>
}

export async function createWebhookApi(
  o: Partial<ReceiverRules> = {},
  deliveries: Pick<WebhookRoutesDeps, 'pageBounds' | 'replayLimits' | 'replayBudget'> & {
    readonly logBounds?: EventLogRouteDeps['logBounds']
    readonly tests?: Partial<StatusRoutesDeps['tests']>
    readonly limiters?: WebhookRoutesDeps['limiters']
    readonly replayLimit?: WebhookRoutesDeps['replayLimit']
  } = {},
): Promise<WebhookApi> {
  const database = await createTestDatabase()
  const lookedUp: string[] = []
  const egress = createTestEgress(lookedUp)
  const seen: string[] = []
  const woken: StreamKey[] = []
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  const app = createHttpApp({
    log: createLogger({ level: 'trace', destination }),
    metrics: createMetrics(),
    authenticateKey: (key) => {
      const found = KEYS[key]
      return found === undefined ? undefined : { ...found, keyId: `key_${key}` }
    },
  })
  const { tests, ...others } = deliveries
  const clock = createClock()
  const routesDeps = {
    db: database.db,
    keyRing: testKeyRing,
    receivers: testReceivers(egress, o),
    wakeups: { wake: (streams: readonly StreamKey[]) => woken.push(...streams) },
    clock,
    replayLimit: testLimit,
    limiters: { record: testLimiter, replays: testLimiter },
    ...others,
  }
  webhookRoutes(app, routesDeps)
  statusRoutes(app, {
    ...routesDeps,
    tests: {
      request: {
        ...{ clock, egress, keyRing: testKeyRing, targets: createTargetCache() },
        ...{ log: createLogger({ level: 'silent' }), allowHttp: true, timeoutMs: 5_000 },
      },
      ...{ limit: testLimit, limiter: testLimiter, isSendingPaused: false },
      ...tests,
    },
  })
  const { logBounds } = deliveries
  eventLogRoutes(app, { db: database.db, limiter: routesDeps.limiters.record, logBounds })
  await app.ready()

  const call: WebhookApi['call'] = async (method, url, { key = 'a', payload, headers } = {}) => {
    const response = await app.inject({
      method,
      url,
      headers: {
        ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
        ...(typeof payload === 'string' ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
      ...(payload === undefined ? {} : { payload }),
    })
    seen.push(response.payload, JSON.stringify(response.headers))
    return { status: response.statusCode, headers: response.headers, body: response.json() }
  }

  return {
    database,
    seen,
    lookedUp,
    woken,
    call,
    register: (payload, key) => call('POST', '/v1/webhook/register', { key, payload }),
    update: (payload, key) => call('PUT', '/v1/webhook/update', { key, payload }),
    list: (key) => call('GET', '/v1/webhook', { key }),
    delete: (payload, key) => call('DELETE', '/v1/webhook/delete', { key, payload }),
    async stored(tenantId = 'tn_a', event = 'EMAIL_EVENT') {
      const { rows } = await database.db.query<StoredWebhook>(
        'select * from webhooks_subscription where tenant_id = $1 and event = $2',
        [tenantId, event],
      )
      return rows[0]
    },
    async clear() {
      for (const table of ['webhooks_pending', 'webhooks_stream', 'webhooks_subscription'])
        await database.db.query(`delete from ${table}`)
      woken.length = 0
    },
    async close() {
      await app.close()
      await egress.close()
      await database.close()
    },
  }
}

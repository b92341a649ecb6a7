/** streamEvents behind the real HTTP application, and readers that read server-sent events. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Db } from '../src/platform/db/index.ts'
import { createHttpApp, type HttpAppOptions } from '../src/platform/http/app.ts'
import type { TenantIdentity } from '../src/platform/http/bounds/admission.ts'
import type { Person } from '../src/platform/http/sessions/session.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createFeed, type FeedDeps } from '../src/webhooks/feed/create.ts'
import { type NewEvent, recordEvents } from '../src/webhooks/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { silent } from './sending.ts'
import { clearWebhooks, makeDays } from './webhook-record.ts'

export const sessionTenant = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'

export interface StreamedEvent {
  readonly id: string
  readonly event: string
  /** The fields that tests read, of whichever event it is. */
  readonly data: {
    readonly details: { readonly ref_id: string; readonly inbound_id: string }
    /** Of a gap. */
    readonly reason: string
    readonly count: number
  }
}

export interface StreamReader {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly events: readonly StreamedEvent[]
  readonly comments: readonly string[]
  readonly isEnded: boolean
  /** Resolves when so many events have come, in all. */
  until(count: number): Promise<readonly StreamedEvent[]>
  ended(): Promise<void>
  /** From now on nothing is taken from the connection. */
  pause(): void
  resume(): void
  close(): void
}

export interface StreamApi {
  readonly keys: Map<string, TenantIdentity>
  /** By the value of their cookie `session`. */
  readonly people: Map<string, Person>
  readonly origin: string
  open(query?: string, o?: { key?: string; lastEventId?: string }): Promise<StreamReader>
  /** By a session, for `sessionTenant`. */
  openAsPerson(cookie: string): Promise<StreamReader>
  stop(): Promise<void>
}

export interface Streams {
  readonly db: Db
  /** A fresh one for each test. A test that replaces it stops the former one itself. */
  api: StreamApi
  record(...events: readonly NewEvent[]): Promise<unknown>
}

/** A database without events, and streams of it. */
export function useStreams(): Streams {
  let database: TestDatabase
  let api: StreamApi
  beforeAll(async () => {
    database = await createTestDatabase()
    await makeDays(database.db, 5)
  })
  beforeEach(async () => {
    const { db } = database
    await clearWebhooks(db)
    await db.query('delete from webhooks_event_mark')
    api = await createStreamApi({ db })
  })
  afterEach(() => api.stop())
  afterAll(() => database.close())
  return {
    get db() {
      return database.db
    },
    get api() {
      return api
    },
    set api(other) {
      api = other
    },
    record: (...events) => database.db.transaction((tx) => recordEvents(tx, events)),
  }
}

/** Of each event its email. */
export const refsOf = (events: readonly StreamedEvent[]): string[] =>
  events.map(({ data }) => data.details.ref_id)

/** One process of several on a database. */
export async function createStreamApi({
  timeouts,
  ...deps
}: Pick<FeedDeps, 'db' | 'streamLimits' | 'frameMemory'> &
  Pick<HttpAppOptions, 'timeouts'>): Promise<StreamApi> {
  const keys = new Map<string, TenantIdentity>([
    ['a', { tenantId: 'tn_a', keyId: 'key_a', scopes: [] }],
    ['b', { tenantId: 'tn_b', keyId: 'key_b', scopes: [] }],
    ['reader', { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] }],
    ['sender', { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send'] }],
  ])
  const people = new Map<string, Person>()
  const metrics = createMetrics()
  const feed = createFeed({ ...deps, log: silent, metrics, config: { databasePool: 10 } })
  const app = createHttpApp({
    log: silent,
    metrics,
    ...(timeouts === undefined ? {} : { timeouts }),
    authenticateKey: (key) => keys.get(key),
    sessions: {
      cookieName: 'session',
      find: async (token) => people.get(token),
      isOwnOrigin: () => true,
      hasTenant: async () => true,
    },
  })
  feed.routes(app)
  for (const service of feed.services) await service.start()
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  return {
    keys,
    people,
    origin,
    open: (query = '', { key = 'a', lastEventId } = {}) =>
      openStream(`${origin}/v1/events/stream${query}`, {
        authorization: `Bearer ${key}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      }),
    openAsPerson: (cookie) =>
      openStream(`${origin}/ui/api/v1/events/stream`, {
        cookie: `session=${cookie}`,
        'x-postrider-tenant': sessionTenant,
      }),
    async stop() {
      await app.close()
      for (const service of feed.services) await service.stop()
    },
  }
}

export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<StreamReader> {
  const request = get(url, { headers, agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const events: StreamedEvent[] = []
  const comments: string[] = []
  let text = ''
  let lastCharacter = ''
  let isEnded = false
  let onNews: () => void = () => undefined
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    // Searching all of a large event again with each piece of it would take seconds.
    const isEnd = `${lastCharacter}${chunk}`.includes('\n\n')
    lastCharacter = chunk.at(-1) ?? lastCharacter
    text += chunk
    if (!isEnd) return
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const lines = block.split('\n')
      const fieldOf = (name: string) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? ''
      if (block.startsWith(':')) comments.push(block)
      else
        events.push({
          id: fieldOf('id'),
          event: fieldOf('event'),
          data: JSON.parse(fieldOf('data')),
        })
    }
    onNews()
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    isEnded = true
    onNews()
  })
  const until = async (isDone: () => boolean) => {
    while (!isDone()) await new Promise<void>((resolve) => (onNews = resolve))
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    get isEnded() {
      return isEnded
    },
    async until(count) {
      await until(() => events.length >= count || isEnded)
      return events
    },
    ended: () => until(() => isEnded),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  }
}

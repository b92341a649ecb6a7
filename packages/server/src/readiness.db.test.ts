/** What `/readyz` answers, asked over HTTP, with the real database and the real SMTP listener. */
import { tracingChannel } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { Server } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/database.ts'
import { startListener, type TestListener } from './inbound/smtp/listener.fixture.ts'
import type { Queryable, Statement } from './platform/db/index.ts'
import { createHttpApp } from './platform/http/app.ts'
import { addStatusRoutes } from './platform/http/status-routes.ts'
import { createLogger } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'
import { checkReadiness, type ReadinessDeps } from './readiness.ts'

let database: TestDatabase
let listening: TestListener | undefined
beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await listening?.stop()
  listening = undefined
})
afterAll(() => database.close())

/** The server of the tests does not flush, and one that does not is never ready. */
function flushing(db: Queryable): Queryable {
  const settings = ['fsync', 'synchronous_commit', 'full_page_writes']
  return {
    async query<Row>(statement: Statement | string, values: readonly unknown[] = []) {
      const result = await db.query<Row & { name: string }>(statement, values)
      const rows = result.rows.map((row) =>
        settings.includes(row.name) ? { ...row, setting: 'on' } : row,
      )
      return { ...result, rows }
    },
  }
}

async function ask(o: Partial<ReadinessDeps>) {
  const metrics = createMetrics()
  const app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics,
    authenticateKey: async () => undefined,
  })
  addStatusRoutes(app, {
    metrics,
    facts: () => ({}),
    readiness: () =>
      checkReadiness({
        config: { sending: 'on', inboundPort: 25, isInboundPortSet: true },
        db: flushing(database.db),
        descriptors: { areOut: () => false },
        disk: { isOpen: () => true },
        schema: { closedBy: () => undefined },
        watchdog: { detail: () => undefined },
        listener: undefined,
        queueWatch: undefined,
        ...o,
      }),
  })
  try {
    const response = await app.inject({ url: '/readyz' })
    return { status: response.statusCode, body: response.json() }
  } finally {
    await app.close()
  }
}

/** Starts a listener; answers the socket's server that it listens with. */
async function listen(): Promise<{ readonly started: TestListener; readonly server: Server }> {
  const servers: Server[] = []
  const { asyncStart } = tracingChannel('net.server.listen')
  const note = (message: unknown) => servers.push(Reflect.get(message as object, 'server'))
  asyncStart.subscribe(note)
  const started = await startListener()
  asyncStart.unsubscribe(note)
  listening = started
  const server = servers.find((one) => one.listening)
  if (server === undefined) throw new Error('no server listens')
  return { started, server }
}

const set = { sending: 'on', inboundPort: 25, isInboundPortSet: true } as const
const byDefault = { sending: 'on', inboundPort: 2_525, isInboundPortSet: false } as const

describe('/readyz', () => {
  it('is 200 while the inbound port is listened on', async () => {
    const { started } = await listen()
    const { status, body } = await ask({ config: set, listener: started.listener })
    expect(status).toBe(200)
    expect(body.checks).toEqual({ database: 'ok', disk: 'ok', inbound: 'ok' })
    expect(body.details).toBeUndefined()
  })

  it('is 503 when a configured INBOUND_PORT is no longer listened on', async () => {
    const { started, server } = await listen()
    server.close()
    await once(server, 'close')
    const { status, body } = await ask({ config: set, listener: started.listener })
    expect(status).toBe(503)
    expect(body.message).toContain('inbound (not listening)')
  })

  it('is 200 with a detail when the default port is not listened on', async () => {
    const { started } = await listen()
    await started.stop()
    const { status, body } = await ask({ config: byDefault, listener: started.listener })
    expect(status).toBe(200)
    expect(body.checks).toEqual({ database: 'ok', disk: 'ok' })
    expect(body.details.inbound).toContain('port 2525 was taken (POSTRIDER_INBOUND_PORT)')
  })

  it('omits inbound mail without the role inbound', async () => {
    const { status, body } = await ask({ config: set })
    expect(status).toBe(200)
    expect(body.checks).toEqual({ database: 'ok', disk: 'ok' })
  })

  it.each([
    ['the disk is nearly full', { disk: { isOpen: () => false } }, 'disk (nearly full)'],
    [
      'no file descriptor is free',
      { descriptors: { areOut: () => true } },
      'descriptors (no free file descriptors)',
    ],
    [
      'the schema is newer',
      { schema: { closedBy: () => '9999_later' } },
      'schema (this version does not know 9999_later: replace this process)',
    ],
  ])('is 503 when %s', async (_, deps, words) => {
    const { status, body } = await ask(deps)
    expect(status).toBe(503)
    expect(body.message).toContain(words)
  })

  it('is 200 with details when a queue is late, sending is paused or the loop was blocked', async () => {
    const { status, body } = await ask({
      config: { ...set, sending: 'paused' },
      queueWatch: { detail: () => 'late: 1 mailer' },
      watchdog: { detail: () => 'blocked for 200 ms' },
    })
    expect(status).toBe(200)
    expect(body.details).toEqual({
      event_loop: 'blocked for 200 ms',
      send_queue: 'late: 1 mailer',
      sending: 'paused (POSTRIDER_SENDING)',
    })
  })
})

import { once } from 'node:events'
import { connect } from 'node:net'
import { Type } from 'typebox'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp } from './app.ts'
import { createHttpServer, type HttpServer } from './server.ts'

const MIB = 1024 * 1024
let server: HttpServer
let waiting = 0
let isFull = Promise.withResolvers<void>()

beforeAll(async () => {
  const app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: (key) => ({ tenantId: key, keyId: 'key_1', scopes: [] }),
  })
  // Runs behind the budget's own hook: here a request has its share.
  app.addHook('preParsing', (_request, _reply, _payload, done) => {
    if (++waiting === 3) isFull.resolve()
    done()
  })
  const body = Type.Object({}, { additionalProperties: true })
  const options = { config: { auth: 'tenant' as const }, bodyLimit: 40 * MIB, schema: { body } }
  app.post('/large', options, () => ({ done: true }))
  server = createHttpServer(app, { host: '127.0.0.1', port: 0, graceMs: 0 })
  await server.start()
})
afterAll(() => server.stop())

/** A caller that announces a large body and keeps it back. */
function hold(tenant: string) {
  const { host, port } = server.address()
  const socket = connect(port, host)
  socket.on('error', () => undefined)
  socket.write(
    `POST /large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant}\r\nContent-Type: application/json\r\nContent-Length: ${40 * MIB}\r\n\r\n{`,
  )
  return socket
}

async function post(tenant: string, body: string) {
  const { host, port } = server.address()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tenant}` }
  return await fetch(`http://${host}:${port}/large`, { method: 'POST', headers, body })
}

it('a tenant that holds its share keeps nobody else out, and gets back what it frees', async () => {
  const large = JSON.stringify({ x: 'y'.repeat(20 * MIB) })
  for (let round = 0; round < 2; round++) {
    waiting = 0
    isFull = Promise.withResolvers()
    const holding = [hold('tn_1'), hold('tn_1'), hold('tn_1')]
    await isFull.promise
    const refused = await post('tn_1', large)
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ code: 'unavailable' })
    expect((await post('tn_1', '{}')).status).toBe(200)
    expect((await post('tn_2', large)).status).toBe(200)
    for (const socket of holding) {
      socket.destroy()
      await once(socket, 'close')
    }
    // The server notices a caller that has gone when it reads from its socket.
    let answer = await post('tn_1', large)
    while (answer.status === 503) answer = await post('tn_1', large)
    expect(answer.status).toBe(200)
  }
})

it('all tenants together stay within the budget', async () => {
  waiting = -3
  isFull = Promise.withResolvers()
  const holding = ['tn_1', 'tn_1', 'tn_1', 'tn_2', 'tn_2', 'tn_2'].map(hold)
  await isFull.promise
  const large = JSON.stringify({ x: 'y'.repeat(20 * MIB) })
  expect((await post('tn_3', large)).status).toBe(503)
  for (const socket of holding) socket.destroy()
})

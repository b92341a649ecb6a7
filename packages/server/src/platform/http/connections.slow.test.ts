/** What only shows on a real socket: malformed HTTP, time-outs, large bodies, stopping. */
import { on, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorBody } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp } from './app.ts'
import { createHttpServer, type HttpServer } from './server.ts'

let server: HttpServer
let app: FastifyInstance
let port: number
const entered = Promise.withResolvers<void>()
const release = Promise.withResolvers<void>()
const begun = Promise.withResolvers<void>()
const reached = Promise.withResolvers<void>()
const log = new PassThrough()
const WRITE_MS = 250
/** More than all buffers on the way hold. */
const LARGE = 'x'.repeat(32 * 1024 * 1024)

/** The canonical line of the next request to a route. */
async function finishedLine(route: string): Promise<string> {
  for await (const [line] of on(log, 'data'))
    if (String(line).includes(`"route":"${route}"`)) return String(line)
  throw new Error('the log has ended')
}

function createServer(): HttpServer {
  app = createHttpApp({
    log: createLogger({ level: 'info', destination: log }),
    metrics: createMetrics(),
    authenticateKey: () => undefined,
    timeouts: { headersMs: 150, requestMs: 300, checkEveryMs: 20, writeMs: WRITE_MS },
  })
  const body = Type.Object({ x: Type.String() }, { additionalProperties: false })
  app.post('/things', { config: { auth: 'public' }, schema: { body } }, () => ({ done: true }))
  app.get('/things', { config: { auth: 'public' } }, () => ({ done: true }))
  app.get('/waiting', { config: { auth: 'public' } }, async () => {
    entered.resolve()
    await release.promise
    return { done: true }
  })
  app.get('/partial', { config: { auth: 'public' } }, (_request, reply) => {
    reply.hijack()
    reply.raw.write('half of an answer', () => begun.resolve())
  })
  app.get('/large', { config: { auth: 'public' } }, () => ({ text: LARGE }))
  app.get('/slow', { config: { auth: 'public' } }, async () => {
    await sleep(WRITE_MS * 2)
    return { done: true }
  })
  app.get('/seldom', { config: { auth: 'public' } }, () =>
    Readable.from(
      (async function* () {
        for (const part of ['one,', 'two,', 'three']) {
          await sleep(WRITE_MS * 2)
          yield part
        }
      })(),
    ),
  )
  app.get<{ Params: { status: string } }>(
    '/told/:status',
    { config: { auth: 'public', isTold: true } },
    ({ params }, reply) => reply.code(Number(params.status)).send({}),
  )
  app.get('/never', { config: { auth: 'public' } }, async () => {
    reached.resolve()
    return await new Promise(() => undefined)
  })
  return createHttpServer(app, { host: '127.0.0.1', port: 0 })
}

beforeAll(async () => {
  server = createServer()
  await server.start()
  port = server.address().port
})
afterAll(() => server.stop())

/** Everything that the server says until it closes, or until `until` has been seen. */
async function talk(text: string | Buffer, until?: RegExp): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write(text)
  const said = await listen(socket, until)
  socket.destroy()
  return said
}

function listen(socket: Socket, until?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1')
      if (until?.test(said) === true) resolve(said)
    })
    socket.on('close', () => resolve(said))
  })
}

function parse(said: string) {
  const [head = '', body = ''] = said.split('\r\n\r\n')
  const requestId = /^x-request-id: (\S+)/im.exec(head)?.[1]
  return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body), requestId }
}

function expectError(said: string, status: number, code: string): void {
  const answer = parse(said)
  expect(answer.status).toBe(status)
  expect(Check(errorBody, answer.body)).toBe(true)
  expect(answer.body).toMatchObject({ success: false, code, request_id: answer.requestId })
}

const POST = 'POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'

describe('malformed HTTP', () => {
  it.each([
    ['garbage', 'GARBAGE\r\n\r\n'],
    ['a bad version', 'GET / HTTP/9.9\r\nHost: x\r\n\r\n'],
    ['HTTP/0.9 without a version', 'GET /things\r\n\r\n'],
    ['HTTP/0.9', 'GET /things HTTP/0.9\r\n\r\n'],
    ['HTTP/2.0', 'GET /things HTTP/2.0\r\nHost: x\r\n\r\n'],
    ['two lengths', `${POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length beside chunks', `${POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`],
    ['an unknown transfer encoding', `${POST}Transfer-Encoding: xchunked\r\n\r\n{}`],
    ['a bare line feed', 'GET /things HTTP/1.1\nHost: x\n\n'],
    ['a folded header', 'GET /things HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n'],
    ['a space before the colon', 'GET /things HTTP/1.1\r\nHost : x\r\n\r\n'],
    ['NUL in a header', 'GET /things HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n'],
    ['two Hosts', 'GET /things HTTP/1.1\r\nHost: x\r\nhost: y\r\nConnection: close\r\n\r\n'],
    ['no Host', 'GET /things HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a bad chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ])('is answered with 400: %s', async (_what, text) => {
    expectError(await talk(text), 400, 'bad_request')
  })

  it('is answered with 431: headers without an end', async () => {
    const flood = `GET /things HTTP/1.1\r\nHost: x\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`
    expectError(await talk(flood), 431, 'headers_too_large')
  })

  it('is answered with 405: CONNECT', async () => {
    expectError(await talk('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'), 405, 'method_not_allowed')
  })

  it('may have an unknown expectation, which is ignored', async () => {
    const text = 'GET /things HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\nConnection: close\r\n\r\n'
    expect(parse(await talk(text)).status).toBe(200)
  })

  it('may have an upgrade, which is ignored', async () => {
    const text =
      'GET /things HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade, close\r\n\r\n'
    expect(parse(await talk(text, /done/)).status).toBe(200)
  })

  it('a request with a smuggled second one is never answered twice', async () => {
    const said = await talk(
      `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nGET /things HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    expect(said.match(/HTTP\/1\.1 /g)).toHaveLength(1)
  })
})

describe('a request that does not end (408)', () => {
  it.each([
    ['headers that do not end', 'GET /things HTTP/1.1\r\nHost:'],
    ['a body that does not end', `${POST}Content-Length: 20\r\n\r\n{"x":`],
    ['chunks that do not end', `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{"x":\r\n`],
  ])('is ended at a deadline: %s', async (_what, text) => {
    expectError(await talk(text), 408, 'request_timeout')
  })

  it('is ended at a deadline: a body that drips', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(`${POST}Content-Length: 100000\r\n\r\n`)
    const drip = setInterval(() => socket.write(' '), 20)
    expectError(await listen(socket), 408, 'request_timeout')
    clearInterval(drip)
  })
})

describe('a body that is too large (413)', () => {
  const large = Buffer.alloc(3 * 1024 * 1024, ' ')

  it('is refused while it is still being sent, and the caller can read the answer', async () => {
    for (const _ of Array.from({ length: 20 })) {
      const response = await fetch(`http://127.0.0.1:${port}/things`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: large,
      })
      expect(response.status).toBe(413)
      expect(await response.json()).toMatchObject({ code: 'payload_too_large' })
    }
  })

  it('is refused by its bytes when it has no length', async () => {
    const head = Buffer.from(`${POST}Transfer-Encoding: chunked\r\n\r\n300000\r\n`)
    const said = await talk(Buffer.concat([head, large]), /\r\n\r\n\{.*\}/)
    expectError(said, 413, 'payload_too_large')
  })
})

describe('one answer for each request', () => {
  it('keeps a connection whose body was refused, once the rest of the body has arrived', async () => {
    const socket = connect(port, '127.0.0.1')
    const size = 3 * 1024 * 1024
    socket.write(`${POST}Content-Length: ${size}\r\n\r\n`)
    expect(await listen(socket, /payload_too_large/)).not.toMatch(/connection: close/i)
    socket.write(Buffer.alloc(size, ' '))
    socket.write('GET /things HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(parse(await listen(socket, /done/)).status).toBe(200)
    socket.destroy()
  })

  it('is not disturbed by malformed data behind the request', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write('GET /partial HTTP/1.1\r\nHost: x\r\n\r\n')
    const said = listen(socket)
    await begun.promise
    socket.write('GARBAGE\r\n\r\n')
    expect((await said).match(/HTTP\/1\.1 /g)).toHaveLength(1)
  })

  it('is logged as aborted when the caller went away', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /never HTTP/1.1\r\nHost: x\r\n\r\n')
    await reached.promise
    socket.destroy()
    expect(JSON.parse(await finishedLine('/never'))).toMatchObject({ aborted: true })
  })
})

it('logs only unusual answers of a route with its own log', async () => {
  const statuses = [200, 302, 404, 503]
  const ended = finishedLine('/things')
  const lines: string[] = []
  const hear = (line: Buffer) => lines.push(String(line))
  log.on('data', hear)
  const paths = [...statuses.map((status) => `/told/${status}`), '/things']
  await talk(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''), /done/)
  await ended
  log.off('data', hear)
  const told = lines.filter((line) => line.includes('/told/')).map((line) => JSON.parse(line))
  expect(told.map(({ status }) => status)).toEqual([404, 503])
})

describe('an answer that is not read', () => {
  const LARGE_REQUEST = 'GET /large HTTP/1.1\r\nHost: x\r\n\r\n'

  it.each([
    ['the first', LARGE_REQUEST],
    ['behind another', `GET /things HTTP/1.1\r\nHost: x\r\n\r\n${LARGE_REQUEST}`],
    ['behind a slow one', `GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${LARGE_REQUEST}`],
  ])('is dropped with its connection: %s', async (_, text) => {
    const closed = once(app.server, 'connection').then(([socket]) => once(socket, 'close'))
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    socket.pause()
    socket.write(text)
    await closed
    socket.destroy()
  })

  it('is kept for a slow reader', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(LARGE_REQUEST.replace('Host', 'Connection: close\r\nHost'))
    let length = 0
    for await (const chunk of socket) {
      // Slower than the time for all of it, but never that long without a byte.
      if (Math.floor((length + chunk.length) / 4_000_000) > Math.floor(length / 4_000_000))
        await sleep(WRITE_MS / 4)
      length += chunk.length
    }
    expect(length).toBeGreaterThan(LARGE.length)
  })

  it('does not shorten the time of the next one', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.pause()
    socket.write(`${LARGE_REQUEST}GET /slow HTTP/1.1\r\nHost: x\r\n\r\n`)
    await sleep(WRITE_MS / 2)
    let end = ''
    for await (const chunk of socket) {
      end = `${end}${chunk}`.slice(-100)
      if (end.includes('done')) break
    }
    expect(end).toContain('done')
    socket.destroy()
  })

  it('differs from an answer whose parts come slowly', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /seldom HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await listen(socket, /one,.*two,.*three.*\r\n0\r\n/s)).toContain('three')
    socket.destroy()
  })

  it('differs from a slow handler and from a pause between requests', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write('GET /things HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
    const said = await listen(socket, /done.*done/s)
    expect(said.match(/HTTP\/1\.1 200/g)).toHaveLength(2)
    await sleep(WRITE_MS * 2)
    socket.write('GET /things HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(parse(await listen(socket, /done/)).status).toBe(200)
    socket.destroy()
  })
})

describe('stopping the server', () => {
  it('answers the request under way, closes idle connections and accepts no new ones', async () => {
    const stopping = createServer()
    await stopping.start()
    const { port } = stopping.address()
    const idle = connect(port, '127.0.0.1')
    await once(idle, 'connect')
    const answer = fetch(`http://127.0.0.1:${port}/waiting`)
    await entered.promise
    const stopped = stopping.stop()
    await once(idle, 'close')
    release.resolve()
    const response = await answer
    expect(await response.json()).toEqual({ done: true })
    expect(response.headers.get('connection')).toBe('close')
    await stopped
    await stopping.stop()
    await expect(fetch(`http://127.0.0.1:${port}/things`)).rejects.toThrow('fetch failed')
  })

  it('is possible before the start', async () => {
    await createServer().stop()
  })

  it('ends open connections after the grace period', async () => {
    const app = createHttpApp({
      log: createLogger({ level: 'silent' }),
      metrics: createMetrics(),
      authenticateKey: () => undefined,
    })
    const reached = Promise.withResolvers<void>()
    app.get('/for-ever', { config: { auth: 'public' } }, async () => {
      reached.resolve()
      return await new Promise(() => undefined)
    })
    const stuck = createHttpServer(app, { host: '127.0.0.1', port: 0, graceMs: 10 })
    await stuck.start()
    const request = fetch(`http://127.0.0.1:${stuck.address().port}/for-ever`)
    const failed = expect(request).rejects.toThrow('fetch failed')
    await reached.promise
    await stuck.stop()
    await failed
  })
})

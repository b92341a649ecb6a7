import { readFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { createEgress, type EgressOptions } from './egress.ts'
import { EgressError } from './egress-error.ts'
import { refusedHosts, unreadableHosts } from './refused-hosts.fixture.ts'

const certs = new URL('../../../../testkit/certs/', import.meta.url)
const pem = (name: string) => readFileSync(new URL(name, certs))
const caFile = fileURLToPath(new URL('ca.pem', certs))

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function egressWith(o: Partial<EgressOptions> = {}) {
  const egress = createEgress({ allowNetworks: ['127.0.0.0/8'], ...o })
  cleanups.push(() => egress.close())
  return egress
}

/** Listens on loopback; counts connections; ends with the test. */
async function listen(server: Server, host = '127.0.0.1') {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  cleanups.push(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}/`, connections: () => connections, sockets }
}

const listenHttp = (listener: RequestListener) => listen(createHttpServer(listener))
const listenTcp = (onSocket: (socket: Socket) => void) => listen(createTcpServer(onSocket))
const listenTls = (name: string, listener: RequestListener) =>
  listen(createHttpsServer({ cert: pem(`${name}.pem`), key: pem(`${name}.key`) }, listener))

const post = {
  poolKey: 'tenant',
  method: 'POST',
  headers: { 'X-Secret-Name': 'Value' },
  body: '{}',
  timeoutMs: 5_000,
} as const

/** The EgressError that a promise ends with. */
async function failureOf(promise: Promise<unknown>): Promise<EgressError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof EgressError)) throw new Error('no EgressError', { cause: error })
  return error
}

describe('address guard', () => {
  describe.each(Object.entries(refusedHosts))('%s', (_, hosts) => {
    it.each(hosts)('opens no connection to %s, by TCP or by HTTP', async (host) => {
      const server = await listenHttp((_request, response) => response.end())
      const egress = egressWith({ allowNetworks: [] })
      const url = `http://${host}:${server.port}/`
      const requested = egress.request({ ...post, url })
      expect(await failureOf(requested)).toMatchObject({ code: 'address_refused' })
      for (const named of [host, new URL(url).hostname]) {
        const o = { host: named, port: server.port, timeoutMs: 5_000 }
        // A percent sign is no part of a host: only a URL parser reads it.
        const code = named.startsWith('%') ? 'dns' : 'address_refused'
        expect(await failureOf(egress.connect(o))).toMatchObject({ code })
        expect(await failureOf(egress.check(named))).toMatchObject({ code })
      }
      expect(server.connections()).toBe(0)
    })
  })

  it.each(unreadableHosts)('refuses the malformed host %s', async (host) => {
    const egress = egressWith({ allowNetworks: ['0.0.0.0/0', '::/0'] })
    const requested = egress.request({ ...post, url: `http://${host}:1234/` })
    expect((await failureOf(requested)).code).toMatch(/^(protocol|dns)$/)
    const connected = egress.connect({ host, port: 1234, timeoutMs: 5_000 })
    expect((await failureOf(connected)).code).toMatch(/^(dns|connect)$/)
  })

  it.each(refusedHosts['metadata services'])('refuses %s whatever is allowed', async (host) => {
    const egress = egressWith({ allowNetworks: ['0.0.0.0/0', '::/0'] })
    const requested = egress.request({ ...post, url: `http://${host}/` })
    expect(await failureOf(requested)).toMatchObject({ code: 'address_refused' })
  })

  it.each([25, 22, 6379, 5432, 6667, 0])('makes no request to port %i', async (port) => {
    const requested = egressWith().request({ ...post, url: `http://127.0.0.1:${port}/` })
    expect(await failureOf(requested)).toMatchObject({
      code: 'protocol',
      message: `port ${port} is not for HTTP`,
    })
  })

  it('resolves a name once, so that a later answer changes nothing', async () => {
    const server = await listenHttp((_request, response) => response.end('ok'))
    const answers = [
      [{ address: '10.0.0.1', family: 4 }],
      [{ address: '127.0.0.1', family: 4 }],
      [{ address: '10.0.0.1', family: 4 }],
    ]
    let lookups = 0
    const egress = egressWith({ lookup: async () => answers[lookups++ % answers.length] ?? [] })
    const request = () => egress.request({ ...post, url: `http://a.example:${server.port}/` })
    expect(await failureOf(request())).toMatchObject({ code: 'address_refused' })
    expect(await request()).toMatchObject({ status: 200 })
    expect(lookups).toBe(2)
  })

  it('drops refused addresses, uses the others, and check() refuses the mixture', async () => {
    const server = await listenTcp((socket) => socket.end())
    const egress = egressWith({
      lookup: async () => [
        { address: '10.0.0.1', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    })
    const socket = await egress.connect({ host: 'a.example', port: server.port, timeoutMs: 5_000 })
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
    expect(await failureOf(egress.check('a.example'))).toMatchObject({ code: 'address_refused' })
  })

  it('tries the next address when one refuses', async () => {
    const server = await listenTcp((socket) => socket.end())
    const egress = egressWith({
      allowNetworks: ['127.0.0.0/8', '::1'],
      lookup: async () => [
        { address: '::1', family: 6 },
        { address: '127.0.0.2', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    })
    const socket = await egress.connect({ host: 'a.example', port: server.port, timeoutMs: 5_000 })
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
  })

  it.each([301, 302, 303, 307, 308])(
    'does not follow a %i to an internal address',
    async (code) => {
      const inner = await listenHttp((_request, response) => response.end('secret'))
      const outer = await listenHttp((_request, response) => {
        response.writeHead(code, { location: inner.url }).end()
      })
      expect(await egressWith().request({ ...post, url: outer.url })).toMatchObject({
        status: code,
      })
      expect(inner.connections()).toBe(0)
    },
  )

  it('does not reveal the address of a refused name', async () => {
    const egress = egressWith({ lookup: async () => [{ address: '10.9.8.7', family: 4 }] })
    const error = await failureOf(egress.check('a.example'))
    expect(error.message).not.toContain('10.9.8.7')
  })
})

describe('connect', () => {
  it('names the reason of a failed connection', async () => {
    const egress = egressWith({
      lookup: async (host) => {
        if (host === 'none.example') return []
        throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
      },
    })
    const server = createTcpServer()
    const { port } = await listen(server)
    await new Promise((resolve) => server.close(resolve))
    const connect = (host: string) => failureOf(egress.connect({ host, port, timeoutMs: 5_000 }))
    expect(await connect('127.0.0.1')).toMatchObject({
      code: 'connect',
      systemCode: 'ECONNREFUSED',
    })
    expect(await connect('gone.example')).toMatchObject({ code: 'dns', systemCode: 'ENOTFOUND' })
    expect(await connect('none.example')).toMatchObject({ code: 'dns', systemCode: 'ENODATA' })
    expect(await connect('not a host')).toMatchObject({ code: 'dns' })
  })

  it('gives up at its deadline during the lookup', async () => {
    const egress = egressWith({ lookup: () => new Promise(() => undefined) })
    const connected = egress.connect({ host: 'a.example', port: 25, timeoutMs: 20 })
    expect(await failureOf(connected)).toMatchObject({ code: 'timeout' })
  })

  it('gives up at its deadline during the TLS handshake, and closes the socket', async () => {
    const closed = Promise.withResolvers<void>()
    const server = await listenTcp((socket) => socket.on('close', () => closed.resolve()).resume())
    const connected = egressWith().connect({
      host: '127.0.0.1',
      port: server.port,
      tls: {},
      timeoutMs: 50,
    })
    expect(await failureOf(connected)).toMatchObject({ code: 'timeout' })
    await closed.promise
  })

  it('stops when its caller does', async () => {
    const stop = new AbortController()
    const egress = egressWith({ lookup: () => new Promise(() => undefined) })
    const connected = egress.connect({
      host: 'a.example',
      port: 25,
      timeoutMs: 60_000,
      signal: stop.signal,
    })
    stop.abort()
    expect(await failureOf(connected)).toMatchObject({ code: 'aborted' })
  })

  it('shares one lookup between concurrent callers', async () => {
    let lookups = 0
    const egress = egressWith({
      lookup: async () => {
        lookups += 1
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    await Promise.all([egress.check('a.example'), egress.check('a.example')])
    expect(lookups).toBe(1)
  })
})

describe('TLS', () => {
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }]

  it('trusts extra authorities for requests, and checks the host name', async () => {
    const server = await listenTls('localhost', (_request, response) => response.end('ok'))
    const egress = egressWith({ tlsCaFile: caFile, lookup })
    const to = (host: string) => egress.request({ ...post, url: `https://${host}:${server.port}/` })
    expect(await to('hook.example.test')).toMatchObject({ status: 200 })
    expect(await to('127.0.0.1')).toMatchObject({ status: 200 })
    expect(await failureOf(to('hook.example.com'))).toMatchObject({
      code: 'tls',
      systemCode: 'ERR_TLS_CERT_ALTNAME_INVALID',
    })
  })

  it('refuses an unknown authority, an expired certificate and a server without TLS', async () => {
    const good = await listenTls('localhost', (_request, response) => response.end('ok'))
    const old = await listenTls('expired', (_request, response) => response.end('ok'))
    const plain = await listenHttp((_request, response) => response.end('ok'))
    const to = (egress: ReturnType<typeof egressWith>, port: number) =>
      failureOf(egress.request({ ...post, url: `https://localhost:${port}/` }))
    expect(await to(egressWith(), good.port)).toMatchObject({ code: 'tls' })
    const trusting = egressWith({ tlsCaFile: caFile })
    expect(await to(trusting, old.port)).toMatchObject({ systemCode: 'CERT_HAS_EXPIRED' })
    expect(await to(trusting, plain.port)).toMatchObject({ code: 'tls' })
  })

  it('skips verification on request only', async () => {
    const server = await listenTls('expired', (_request, response) => response.end('ok'))
    const o = { host: '127.0.0.1', port: server.port, timeoutMs: 5_000 }
    expect(await failureOf(egressWith().connect({ ...o, tls: {} }))).toMatchObject({ code: 'tls' })
    const socket = await egressWith().connect({ ...o, tls: { rejectUnauthorized: false } })
    socket.destroy()
  })
})

describe('request', () => {
  it('sends method, path, body and headers unchanged, with the case of names', async () => {
    let seen: unknown
    const server = await listenHttp((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const { method, url, rawHeaders } = request
        seen = { method, url, rawHeaders, body: Buffer.concat(chunks).toString() }
        response.writeHead(202, { 'x-answer': 'yes' }).end('thanks')
      })
    })
    const answer = await egressWith().request({ ...post, url: `${server.url}a/b?c=d#e`, body: 'ü' })
    expect(seen).toMatchObject({ method: 'POST', url: '/a/b?c=d', body: 'ü' })
    expect((seen as { rawHeaders: string[] }).rawHeaders).toContain('X-Secret-Name')
    expect(answer).toMatchObject({ status: 202, body: 'thanks', headers: { 'x-answer': 'yes' } })
    expect(answer.timings).toMatchObject({ dnsMs: expect.any(Number), totalMs: expect.any(Number) })
  })

  it('fails at its deadline when the peer is silent', async () => {
    const server = await listenHttp(() => undefined)
    const request = egressWith().request({ ...post, url: server.url, timeoutMs: 50 })
    expect(await failureOf(request)).toMatchObject({ code: 'timeout' })
  })

  it('fails at its deadline when the body drips for ever, and closes the connection', async () => {
    const closed = Promise.withResolvers<void>()
    const server = await listenHttp((_request, response) => {
      response.writeHead(200)
      const drip = setInterval(() => response.write('.'), 5)
      response.on('close', () => {
        clearInterval(drip)
        closed.resolve()
      })
    })
    const request = egressWith().request({ ...post, url: server.url, timeoutMs: 1000 })
    expect(await failureOf(request)).toMatchObject({ code: 'timeout', status: 200 })
    await closed.promise
  })

  it('stops an endless series of interim responses', async () => {
    const server = await listenTcp((socket) => {
      const more = () => {
        if (!socket.destroyed)
          socket.write('HTTP/1.1 102 Processing\r\n\r\n', () => setImmediate(more))
      }
      socket.once('data', more)
    })
    const request = egressWith().request({ ...post, url: server.url })
    expect(await failureOf(request)).toMatchObject({ code: 'protocol' })
  })

  it('stops an endless header block', async () => {
    const server = await listenTcp((socket) => {
      const more = () => {
        if (!socket.destroyed)
          socket.write(`X-More: ${'a'.repeat(4_000)}\r\n`, () => setImmediate(more))
      }
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n', more))
    })
    const request = egressWith().request({ ...post, url: server.url })
    expect(await failureOf(request)).toMatchObject({ code: 'too_large' })
  })

  it('reads a bounded part of an endless body, and keeps the status', async () => {
    const closed = Promise.withResolvers<void>()
    const server = await listenHttp((_request, response) => {
      const more = () => {
        if (!response.destroyed) response.write('é'.repeat(5_000), () => setImmediate(more))
      }
      response.on('close', () => closed.resolve())
      more()
    })
    const answer = await egressWith().request({ ...post, url: server.url })
    expect(answer.status).toBe(200)
    expect(answer.body).toBe('é'.repeat(2_048))
    await closed.promise
  })

  it('does not inflate compressed bodies', async () => {
    const server = await listenHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip at all')
    })
    const answer = await egressWith().request({ ...post, url: server.url })
    expect(answer.body).toBe('not gzip at all')
  })

  it('turns any bytes of an answer into well-formed text', async () => {
    const server = await listenHttp((_request, response) => response.end(Buffer.from([0x61, 0xff])))
    const { body } = await egressWith().request({ ...post, url: server.url })
    expect(body).toBe('a\ufffd')
  })

  it('names a connection that was closed before the answer', async () => {
    const server = await listenTcp((socket) => socket.once('data', () => socket.destroy()))
    const request = egressWith().request({ ...post, url: server.url })
    expect(await failureOf(request)).toMatchObject({ code: 'reset' })
  })

  it('names an answer that is not HTTP', async () => {
    const server = await listenTcp((socket) =>
      socket.once('data', () => socket.end('220 hello\r\n')),
    )
    const request = egressWith().request({ ...post, url: server.url })
    expect(await failureOf(request)).toMatchObject({ code: 'protocol' })
  })

  it.each(['ftp://a.example/', 'https://user:pw@a.example/', 'nonsense'])(
    'refuses the URL %s',
    async (url) => {
      const request = egressWith().request({ ...post, url })
      expect(await failureOf(request)).toMatchObject({ code: 'protocol' })
    },
  )

  it('refuses a header that would break the request apart', async () => {
    const server = await listenHttp((_request, response) => response.end())
    const request = egressWith().request({ ...post, url: server.url, headers: { a: 'b\r\nc: d' } })
    expect(await failureOf(request)).toMatchObject({ code: 'protocol' })
  })
})

describe('pools', () => {
  it('keep a connection alive within a pool key, and never share it with another', async () => {
    const server = await listenHttp((_request, response) => response.end('ok'))
    const egress = egressWith()
    const as = (poolKey: string) => egress.request({ ...post, poolKey, url: server.url })
    await as('a')
    await as('a')
    expect(server.connections()).toBe(1)
    await as('b')
    expect(server.connections()).toBe(2)
  })

  it('are closed when they have been idle', async () => {
    const closed = Promise.withResolvers<void>()
    const server = await listenHttp((request, response) => {
      request.socket.on('close', () => closed.resolve())
      response.end('ok')
    })
    const egress = egressWith({ poolIdleMs: 20 })
    await egress.request({ ...post, url: server.url })
    await closed.promise
    expect(egress.stats.pools).toBe(0)
  })

  it('are bounded in number', async () => {
    const server = await listenHttp((_request, response) => response.end('ok'))
    const egress = egressWith({ poolsMax: 2 })
    for (const poolKey of ['a', 'b', 'c', 'd']) {
      await egress.request({ ...post, poolKey, url: server.url })
    }
    expect(egress.stats.pools).toBe(2)
  })

  it('end every request under way when the egress is closed', async () => {
    const arrived = Promise.withResolvers<void>()
    const server = await listenHttp(() => arrived.resolve())
    const egress = egressWith()
    const request = failureOf(egress.request({ ...post, url: server.url }))
    await arrived.promise
    await egress.close()
    await egress.close()
    expect(await request).toMatchObject({ code: 'aborted' })
  })
})

/** Memory and time of request bodies, and requests under way of a key, on real sockets. */
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { Type } from 'typebox'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { createHttpApp } from '../app.ts'
import { createHttpServer, type HttpServer } from '../server.ts'
import { createBodyMemory } from './body-memory.ts'

const MIB = 1024 * 1024
/** A fraction of the real ones: what is shared, and what each tenant has to itself. */
const sharedBytesMax = 8 * MIB
const ownBytesMax = 1.5 * MIB
let server: HttpServer
let metrics: ReturnType<typeof createMetrics>
let lines: string[]
let sockets: Socket[]
let nowMs: number
let hanging: number
let release: PromiseWithResolvers<void>

beforeEach(async () => {
  lines = []
  sockets = []
  nowMs = 0
  hanging = 0
  release = Promise.withResolvers()
  const destination = new PassThrough()
  destination.on('data', (line) => lines.push(String(line)))
  metrics = createMetrics()
  const app = createHttpApp({
    log: createLogger({ level: 'info', destination }),
    metrics,
    authenticateKey: (key) =>
      key.startsWith('tn_') ? { tenantId: key, keyId: `key_${key}`, scopes: [] } : undefined,
    timeouts: { checkEveryMs: 10 },
    bodyLimits: { sharedBytesMax, ownBytesMax },
    requestsPerKeyMax: 3,
    monotonicMs: () => nowMs,
  })
  const schema = { body: Type.Object({}, { additionalProperties: true }) }
  const auth = 'tenant' as const
  app.post('/large', { config: { auth }, bodyLimit: 40 * MIB, schema }, () => ({ done: true }))
  app.post('/public', { config: { auth: 'public' }, schema }, () => ({ done: true }))
  app.get('/hanging', { config: { auth } }, async () => {
    hanging += 1
    await release.promise
    return { done: true }
  })
  server = createHttpServer(app, { host: '127.0.0.1', port: 0, graceMs: 0 })
  await server.start()
})
afterEach(async () => {
  release.resolve()
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

interface Upload {
  readonly socket: Socket
  /** Everything that the server says. */
  said: string
}

/** Announces a body of so many bytes, or of one chunk, and sends what is given of it. */
function upload(tenant: string, declaredBytes: number | undefined, body: string | Buffer): Upload {
  const { host, port } = server.address()
  const socket = connect(port, host)
  sockets.push(socket)
  const one: Upload = { socket, said: '' }
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    one.said += chunk.toString('latin1')
  })
  const length =
    declaredBytes === undefined
      ? 'Transfer-Encoding: chunked\r\n\r\nFFFFFFF'
      : `Content-Length: ${declaredBytes}\r\n`
  socket.write(
    `POST /large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${tenant}\r\nContent-Type: application/json\r\n${length}\r\n`,
  )
  socket.write(body)
  return one
}

const spaces = (bytes: number) => Buffer.alloc(bytes, ' ')
const bodyOf = (bytes: number) => `{"x":"${'y'.repeat(bytes)}"}`

async function post(tenant: string, body: string) {
  const { host, port } = server.address()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${tenant}` }
  return await fetch(`http://${host}:${port}/large`, { method: 'POST', headers, body })
}

async function takenBytes(): Promise<number> {
  const text = await metrics.registry.metrics()
  return Number(/http_body_bytes\{state="taken"\} (\d+)/.exec(text)?.[1])
}

const refusedBy = async (bound: string) => {
  const text = await metrics.registry.metrics()
  return Number(new RegExp(`http_refused_total\\{bound="${bound}"\\} (\\d+)`).exec(text)?.[1])
}

/** Sends so many bytes of an unfinished body, and waits until the server has them. */
async function hold(tenant: string, bytes: number): Promise<Upload> {
  const before = await takenBytes()
  const one = upload(tenant, bytes + 20_000, spaces(bytes))
  await expect.poll(takenBytes).toBeGreaterThanOrEqual(before + bytes)
  return one
}

describe('the memory of bodies', () => {
  it('is not taken for a declared length', async () => {
    for (const tenant of ['tn_1', 'tn_2']) for (let i = 0; i < 3; i++) upload(tenant, 5 * MIB, '{')
    await expect.poll(takenBytes).toBeGreaterThanOrEqual(6)
    expect(await takenBytes()).toBeLessThan(10_000)
    expect((await post('tn_3', bodyOf(3 * MIB))).status).toBe(200)
  })

  it('is refused to a tenant that has used its share, and others are served', async () => {
    await hold('tn_1', ownBytesMax + 3 * MIB)
    const refused = await post('tn_1', bodyOf(2 * MIB))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({
      code: 'unavailable',
      message: 'Too many request bodies at once',
    })
    expect(await refusedBy('body-memory')).toBe(1)
    expect(lines.join('')).toContain('"bound":"body-memory"')
    expect((await post('tn_2', bodyOf(2 * MIB))).status).toBe(200)
  })

  it('always suffices for one ordinary body of each tenant', async () => {
    for (const [tenant, mib] of [
      ['tn_1', 3.5],
      ['tn_2', 2],
      ['tn_3', 1],
    ] as const)
      await hold(tenant, ownBytesMax + mib * MIB)
    for (const tenant of ['tn_4', 'tn_5'])
      expect((await post(tenant, bodyOf(MIB - 100))).status).toBe(200)
  })

  it('is refused before the body when the declared length does not fit', async () => {
    const one = upload('tn_1', 20 * MIB, '')
    await expect.poll(() => one.said).toMatch(/^HTTP\/1\.1 503 .*Too many request bodies/s)
  })

  it('is bounded over the reserved parts of all tenants', () => {
    const [sharedBytesMax, ownBytesMax, ownBytesInAllMax] = [100, 10, 25]
    const memory = createBodyMemory({ sharedBytesMax, ownBytesMax, ownBytesInAllMax })
    for (const group of ['a', 'b', 'c']) expect(memory.take(group, 10)).toBe(true)
    // Of the third, 5 came from the shared part: 50 are what the next may take, and the 5 that c has count.
    expect(memory.take('d', 48)).toBe(false)
    expect(memory.take('d', 47)).toBe(true)
    expect(memory.bytes).toBe(77)
  })

  it('is refused in the middle of a body too, and freed at once', async () => {
    const one = upload('tn_1', undefined, spaces(10 * MIB))
    await expect.poll(() => one.said).toMatch(/^HTTP\/1\.1 503 .*Too many request bodies/s)
    await expect.poll(takenBytes).toBe(0)
  })

  it('is taken by small bodies too', async () => {
    const uploads = Array.from({ length: 20 }, () => upload('tn_1', MIB, spaces(MIB - 1)))
    await expect
      .poll(() => uploads.filter(({ said }) => /^HTTP\/1\.1 (?:503|429) /.test(said)).length)
      .toBeGreaterThanOrEqual(14)
    expect(await takenBytes()).toBeLessThanOrEqual(ownBytesMax + sharedBytesMax / 2)
  })

  it('is taken by the overhead of chunks of one byte', async () => {
    const { host, port } = server.address()
    const socket = connect(port, host)
    sockets.push(socket)
    socket.write(
      'POST /public HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    )
    socket.write('1\r\n \r\n'.repeat(10_000))
    await expect.poll(takenBytes).toBeGreaterThanOrEqual(10_000 * 100)
  })

  it('is freed when a request is answered or its caller goes away', async () => {
    const one = await hold('tn_1', 2 * MIB)
    expect((await post('tn_2', bodyOf(2 * MIB))).status).toBe(200)
    one.socket.destroy()
    await expect.poll(takenBytes).toBe(0)
  })

  it('is not taken by a request with a wrong key, which is answered before its body', async () => {
    const one = upload('wrong', 40 * MIB, spaces(4 * MIB))
    await expect.poll(() => one.said).toMatch(/^HTTP\/1\.1 401 /)
    expect(await takenBytes()).toBe(0)
  })
})

describe('a slow body', () => {
  it('is ended after 10 s with less than 1,024 bytes a second, with the name of the limit', async () => {
    const one = await hold('tn_1', 100_000)
    nowMs = 10_000
    await expect.poll(takenBytes).toBeGreaterThan(0)
    one.socket.write(spaces(10_239))
    await expect.poll(takenBytes).toBeGreaterThan(110_239)
    nowMs = 20_000
    await expect.poll(() => one.said).toMatch(/^HTTP\/1\.1 408 .*connection: close.*1024 bytes/s)
    await expect.poll(takenBytes).toBe(0)
    expect(await refusedBy('body-rate')).toBe(1)
    expect(lines.join('')).toContain('"bound":"body-rate"')
  })

  it('is not ended while it is fast enough', async () => {
    const one = upload('tn_1', 50_000, `{"x":"${'y'.repeat(9_994)}`)
    for (let round = 1; round <= 3; round++) {
      await expect.poll(takenBytes).toBeGreaterThanOrEqual(round * 10_000)
      nowMs += 5_000
      one.socket.write('y'.repeat(10_000))
    }
    one.socket.write(`${'y'.repeat(9_998)}"}`)
    await expect.poll(() => one.said).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('an unread body of a request that is answered already', () => {
  const unreadBodies = {
    'of a type that is not taken': 'Content-Type: text/plain\r\nContent-Length: 100\r\n\r\n{',
    'that is declared too large': `Content-Type: application/json\r\nContent-Length: ${MIB + 1}\r\n\r\n{`,
    'that has become too large': `Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n${' '.repeat(MIB + 1)}`,
  }
  for (const [what, rest] of Object.entries(unreadBodies))
    it(`${what}, may come slowly while its answer waits behind another one`, async () => {
      const { host, port } = server.address()
      const socket = connect(port, host)
      sockets.push(socket)
      let said = ''
      socket.on('data', (chunk) => {
        said += chunk.toString('latin1')
      })
      socket.write(
        `GET /hanging HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer tn_1\r\n\r\nPOST /public HTTP/1.1\r\nHost: x\r\n${rest}`,
      )
      await expect.poll(() => hanging).toBe(1)
      // What was read at first is enough for the first time of 10 s.
      for (const round of [1, 2]) {
        const slow = await hold('tn_2', 100)
        nowMs += 10_000
        await expect
          .poll(() => slow.said, { message: `round ${round}` })
          .toMatch(/^HTTP\/1\.1 408 /)
      }
      expect(await takenBytes()).toBe(0)
      release.resolve()
      await expect.poll(() => said).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 41[35] /s)
    })
})

describe('concurrent requests with one key', () => {
  const get = async (tenant: string) => {
    const { host, port } = server.address()
    const headers = { authorization: `Bearer ${tenant}` }
    return await fetch(`http://${host}:${port}/hanging`, { headers })
  }

  it('are refused beyond the limit until one ends, and other keys are served', async () => {
    const answers = Array.from({ length: 3 }, () => get('tn_1'))
    await expect.poll(() => hanging).toBe(3)
    const refused = await get('tn_1')
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit-policy')).toBe('"requests-per-key";q=3')
    const other = get('tn_2')
    await expect.poll(() => hanging).toBe(4)
    expect(await refusedBy('requests-per-key')).toBe(1)
    expect(lines.join('')).toMatch(/"key_id":"key_tn_1".*"bound":"requests-per-key"/)
    release.resolve()
    const all = await Promise.all([...answers, other])
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await get('tn_1')).status).toBe(200)
  })
})

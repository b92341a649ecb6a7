/** Limits of connections, on real sockets: clients are the addresses 127.0.0.x. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { createHttpApp } from '../app.ts'
import { createHttpServer, type HttpServer } from '../server.ts'
import { defaultConnectionsMax, pipelinedMax } from './connection-limits.ts'

const connectionsMax = 16
const perAddressMax = 4
const PROXY = '127.0.1.1'
let server: HttpServer
let metrics: ReturnType<typeof createMetrics>
let lines: string[]
let sockets: Socket[]
let release: PromiseWithResolvers<void>
let hanging: number
let onHanging: () => void

beforeEach(async () => {
  lines = []
  sockets = []
  hanging = 0
  release = Promise.withResolvers()
  const destination = new PassThrough()
  destination.on('data', (line) => lines.push(String(line)))
  metrics = createMetrics()
  const log = createLogger({ level: 'info', destination })
  const trustedProxies = [`${PROXY}/32`]
  const authenticateKey = () => undefined
  const app = createHttpApp({ log, metrics, authenticateKey, connectionsMax, trustedProxies })
  app.get('/quick', { config: { auth: 'public' } }, () => ({ done: true }))
  app.get('/hanging', { config: { auth: 'public' } }, async () => {
    hanging += 1
    onHanging()
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

async function open(from: string): Promise<Socket> {
  const { host, port } = server.address()
  const socket = connect({ host, port, localAddress: from })
  sockets.push(socket)
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

const hasBody = (said: string) => /\r\n\r\n\{.*\}$/s.test(said)
const countOf = (said: string, part: string) => said.split(part).length - 1

/** What the server says until it closes or that is all. */
function hear(socket: Socket, isAll = hasBody): Promise<string> {
  return new Promise((resolve) => {
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk.toString('latin1')
      if (isAll(said)) resolve(said)
    })
    socket.on('close', () => resolve(said))
  })
}

const requestOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

async function ask(socket: Socket, path = '/quick'): Promise<string> {
  const answer = hear(socket)
  socket.write(requestOf(path))
  return await answer
}

/** Connections whose requests are being handled. */
async function openBusy(from: string, count: number): Promise<Socket[]> {
  const busy: Socket[] = []
  for (let i = 0; i < count; i++) {
    const isHanging = new Promise<void>((resolve) => {
      onHanging = resolve
    })
    const socket = await open(from)
    socket.write(requestOf('/hanging'))
    await isHanging
    busy.push(socket)
  }
  return busy
}

/** Connections that the server has surely seen, and that now rest. */
async function openIdle(from: string, count: number): Promise<Socket[]> {
  const idle: Socket[] = []
  for (let i = 0; i < count; i++) {
    const socket = await open(from)
    await ask(socket)
    idle.push(socket)
  }
  return idle
}

const metricOf = async (bound: string) => {
  const text = await metrics.registry.metrics()
  return Number(new RegExp(`http_refused_total\\{bound="${bound}"\\} (\\d+)`).exec(text)?.[1])
}

it('answers each of many simultaneous connections of one address', async () => {
  const { host, port } = server.address()
  onHanging = () => undefined
  let over = 0
  const answers = Array.from({ length: 3 * perAddressMax }, () => {
    const socket = connect({ host, port, localAddress: '127.0.0.9' })
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.write(requestOf('/hanging'))
    return hear(socket).then((said) => {
      over += 1
      if (over === 2 * perAddressMax) release.resolve()
      return said.slice(0, 12)
    })
  })
  const said = await Promise.all(answers)
  expect(said.filter((one) => one === 'HTTP/1.1 200')).toHaveLength(perAddressMax)
  expect(said.filter((one) => one === 'HTTP/1.1 429')).toHaveLength(2 * perAddressMax)
})

describe('an address with many connections', () => {
  it('has its longest idle connection closed beyond its share', async () => {
    const [first, ...others] = await openIdle('127.0.0.2', perAddressMax)
    const closed = once(first as Socket, 'close')
    expect(await ask(await open('127.0.0.2'))).toMatch(/^HTTP\/1\.1 200 /)
    await closed
    expect(others.filter((socket) => socket.destroyed)).toEqual([])
    expect(await metricOf('idle-connections')).toBe(1)
  })

  it('is refused when none of its connections is idle, and others are served', async () => {
    await openBusy('127.0.0.2', perAddressMax)
    const answer = await hear(await open('127.0.0.2'))
    expect(answer).toMatch(/^HTTP\/1\.1 429 Too Many Requests\r\n/)
    expect(answer).toMatch(/\r\nRetry-After: 1\r\n/)
    expect(answer).toContain('"message":"Too many connections from this address"')
    expect(await ask(await open('127.0.0.3'))).toMatch(/^HTTP\/1\.1 200 /)
    expect(await metricOf('connections-per-address')).toBe(1)
    expect(lines.join('')).toContain('"bound":"connections-per-address"')
  })

  it('gets its share back when its connections end', async () => {
    const busy = await openBusy('127.0.0.2', perAddressMax)
    for (const socket of busy) socket.destroy()
    await expect.poll(async () => ask(await open('127.0.0.2'))).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('has no share when it is a trusted proxy', async () => {
    await openBusy(PROXY, 2 * perAddressMax)
    expect(await ask(await open(PROXY))).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('connections of all addresses', () => {
  const FLOOD = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5']

  it('keep nobody out while some are idle: the longest idle one is closed', async () => {
    const idle: Socket[] = []
    for (const from of FLOOD) idle.push(...(await openIdle(from, perAddressMax)))
    expect(await ask(await open('127.0.0.6'))).toMatch(/^HTTP\/1\.1 200 /)
    await expect.poll(() => idle[0]?.destroyed).toBe(true)
    expect(idle.at(-1)?.destroyed).toBe(false)
  })

  it('have idle ones closed near the limit, to keep some free', async () => {
    for (const from of FLOOD) await openIdle(from, perAddressMax)
    const text = await metrics.registry.metrics()
    expect(text).toContain(
      `postrider_http_connections{state="open"} ${Math.floor(connectionsMax * 0.9)}\n`,
    )
  })

  it('keep nobody out while some have sent nothing', async () => {
    for (const from of FLOOD) for (let i = 0; i < perAddressMax; i++) await open(from)
    expect(await ask(await open('127.0.0.6'))).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('are refused at the limit while all have requests under way', async () => {
    for (let i = 0; i < connectionsMax; i++) await openBusy(`127.0.0.${10 + i}`, 1)
    const answer = await hear(await open('127.0.0.6'))
    expect(answer).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/)
    expect(answer).toContain('"message":"Too many connections"')
    expect(await metricOf('connections')).toBe(1)
    const text = await metrics.registry.metrics()
    expect(text).toContain(`postrider_http_connections{state="open"} ${connectionsMax}`)
    expect(text).toContain('postrider_http_connections{state="idle"} 0')
  })

  it('lose the longest busy one of the address with most', async () => {
    const [first, ...others] = await openBusy('127.0.0.2', perAddressMax)
    const few: Socket[] = []
    for (let i = 0; i < connectionsMax - perAddressMax; i++)
      few.push(...(await openBusy(`127.0.0.${10 + i}`, 1)))
    const closed = once(first as Socket, 'close')
    expect(await ask(await open('127.0.0.6'))).toMatch(/^HTTP\/1\.1 200 /)
    await closed
    expect([...others, ...few].filter((socket) => socket.destroyed)).toEqual([])
    expect(await metricOf('connections')).toBe(1)
  })

  it('keep nobody out when they are hostile', async () => {
    for (const from of FLOOD) await openBusy(from, perAddressMax)
    for (let i = 0; i < 3; i++) {
      expect(await ask(await open(`127.0.0.${6 + i}`))).toMatch(/^HTTP\/1\.1 200 /)
      await openBusy(`127.0.0.${6 + i}`, 2)
    }
  })

  it('keep no trusted proxy out', async () => {
    await openBusy(PROXY, connectionsMax - 2 * perAddressMax)
    for (const from of FLOOD.slice(2)) await openBusy(from, perAddressMax)
    expect(await ask(await open(PROXY))).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('never exceed the limit', async () => {
    for (let i = 0; i < 100; i++) await open(`127.0.0.${2 + (i % 20)}`)
    const text = await metrics.registry.metrics()
    const count = Number(/http_connections\{state="open"\} (\d+)/.exec(text)?.[1])
    expect(count).toBeLessThanOrEqual(connectionsMax)
  })
})

describe('pipelined requests', () => {
  it('are refused once beyond the limit, after the answers to those before', async () => {
    const socket = await open('127.0.0.2')
    const answers = hear(socket, () => false)
    const allTaken = new Promise<void>((resolve) => {
      onHanging = () => hanging === pipelinedMax && resolve()
    })
    socket.write(requestOf('/hanging').repeat(pipelinedMax + 500))
    await allTaken
    release.resolve()
    const said = await answers
    expect(countOf(said, 'HTTP/1.1 200 ')).toBe(pipelinedMax)
    expect(countOf(said, 'HTTP/1.1 429 ')).toBe(1)
    expect(hanging).toBe(pipelinedMax)
    expect(await metricOf('pipelined-requests')).toBe(1)
  })

  it('are counted while they are unanswered', async () => {
    const socket = await open('127.0.0.2')
    for (let i = 0; i < 3; i++) {
      const answers = hear(socket, (said) => countOf(said, '{"done":true}') === pipelinedMax)
      socket.write(requestOf('/quick').repeat(pipelinedMax))
      expect(countOf(await answers, 'HTTP/1.1 200 ')).toBe(pipelinedMax)
    }
  })
})

it.each([
  [1_024, 512],
  [20_000, 8_000],
  [20, 16],
])('takes half of the descriptors by default, within bounds: %i', (descriptors, connections) => {
  expect(defaultConnectionsMax(descriptors)).toBe(connections)
})

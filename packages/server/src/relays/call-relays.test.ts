/** What becomes of a request, over real connections; the provider's words are a test's own. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { findFreePort } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { createClock } from '../platform/clock.ts'
import { createEgress } from '../platform/egress/index.ts'
import { listenRaw, pem } from '../platform/egress/raw-receiver.fixture.ts'
import { createRelayCalls, type RelaysDeps } from './call-relays.ts'
import type { ObservedRequest, RelayCallOptions } from './make-request.ts'
import type {
  DeliverCallback,
  RelayAccount,
  RelayAnswer,
  RelayDomainCall,
  RelayMail,
  RelayProvider,
  RelaySimulator,
} from './relay.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const API_KEY = 'k-0123456789'
const mail: RelayMail = {
  refId: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  n: 0,
  from: { address: 'news@example.com' },
  to: { address: 'ada@example.com' },
  type: 'to',
  shown: { to: [{ address: 'ada@example.com' }], cc: [] },
  subject: 'Hello',
  text: 'Hello',
  headers: [],
  attachments: [],
}

/** Its answer is what it was answered. */
const provider = {
  kind: 'sparkpost',
  apiBaseDefault: 'https://provider.example.com',
  send: ({ apiKey }, { subject, text }) => ({
    method: 'POST',
    path: '/send?now=1',
    headers: { authorization: apiKey },
    body: { subject, text },
  }),
  readSent: ({ status, headers, body }) => ({
    kind: 'accepted',
    providerMessageId: [status, body, headers['x-id'] ?? []].flat().join(' '),
  }),
} satisfies Partial<RelayProvider> as unknown as RelayProvider

function relaysOver(egress: RelaysDeps['egress'], o: Partial<RelaysDeps> = {}) {
  const deliverCallback: DeliverCallback = async () => undefined
  return createRelayCalls({
    egress,
    clock: createClock(),
    adapterOf: () => provider,
    deliverCallback,
    ...o,
  })
}

const accountAt = (apiBase: string): RelayAccount => ({
  tenantId: 'tn_a',
  kind: 'sparkpost',
  apiKey: API_KEY,
  apiBase,
  configVersion: 1,
})

async function listen(
  onSocket: (socket: Socket) => void,
  make: (listener: (socket: Socket) => void) => Server = createServer,
  scheme: 'http' | 'https' = 'http',
) {
  const server = make(onSocket)
  const receiver = await listenRaw(server, scheme)
  cleanups.push(() => receiver.close())
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const account = accountAt(`${scheme}://127.0.0.1:${port}/api`)
  const relays = relaysOver(receiver.egress)
  return {
    ...receiver,
    account,
    relays,
    send: (o?: RelayCallOptions) => relays.send(account, mail, o),
  }
}

/** Says so once a request is there as a whole. */
const afterRequest =
  (then: (socket: Socket, request: string) => void) =>
  (socket: Socket): void => {
    let request = ''
    socket.on('data', (chunk: Buffer) => {
      request += chunk.toString('latin1')
      const [head = '', body = ''] = request.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (!request.includes('\r\n\r\n') || body.length < length) return
      const whole = request
      request = ''
      then(socket, whole)
    })
  }
const answer = (status: number, body: string, more = '') =>
  `HTTP/1.1 ${status} X\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

it('makes a JSON request below the address of the account, with the key in one header', async () => {
  const requests: string[] = []
  const { send } = await listen(
    afterRequest((socket, request) => {
      requests.push(request)
      socket.write(answer(202, 'yes'))
    }),
  )
  expect(await send()).toEqual({
    kind: 'answered',
    outcome: { kind: 'accepted', providerMessageId: '202 yes' },
  })
  const [request = ''] = requests
  expect(request).toMatch(/^POST \/api\/send\?now=1 HTTP\/1\.1\r\n/)
  expect(request).toMatch(/\r\ncontent-type: application\/json\r\n/)
  expect(JSON.parse(request.split('\r\n\r\n')[1] ?? '')).toEqual({
    subject: 'Hello',
    text: 'Hello',
  })
  expect(request.split(API_KEY)).toHaveLength(2)
})

it('hides a key that the provider quotes', async () => {
  const { send } = await listen(
    afterRequest((socket) =>
      socket.write(answer(401, `no such key: ${API_KEY}`, `x-id: a-${API_KEY}\r\n`)),
    ),
  )
  expect(await send()).toMatchObject({
    outcome: { providerMessageId: '401 no such key: [redacted] a-[redacted]' },
  })
})

it('reads a bounded part of an answer', async () => {
  const { send } = await listen(
    afterRequest((socket) => socket.write(answer(200, 'x'.repeat(200_000)))),
  )
  const result = await send()
  expect(result).toMatchObject({ kind: 'answered' })
  expect(JSON.stringify(result).length).toBeLessThan(70_000)
})

describe('a request that surely did not arrive', () => {
  it.each([
    ['an unknown name', 'https://nowhere.invalid', { category: 'host_not_found', retryable: true }],
    ['an address that is not allowed', 'https://10.0.0.1', { category: 'address_refused', retryable: false }],
    ['a port that is not for HTTP', 'http://127.0.0.1:25', { category: 'protocol_error' }],
  ])('is not-sent: %s', async (_, apiBase, failure) => {
    const lookup = async () => {
      throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
    }
    const egress = createEgress({ allowNetworks: ['127.0.0.0/8'], lookup })
    cleanups.push(() => egress.close())
    const result = await relaysOver(egress).send(accountAt(apiBase), mail)
    expect(result).toMatchObject({ kind: 'not-sent', failure: { ...failure, authRejected: false } })
  }) // biome-ignore format: a table

  it('is not-sent when nothing listens', async () => {
    const { relays } = await listen(() => undefined)
    const account = accountAt(`http://127.0.0.1:${await findFreePort()}`)
    expect(await relays.send(account, mail)).toMatchObject({
      kind: 'not-sent',
      failure: { category: 'network', retryable: true, authRejected: false },
    })
  })

  it('is not-sent at an invalid certificate', async () => {
    const tls = { cert: pem('self-signed.pem'), key: pem('self-signed.key') }
    const make = () => createTlsServer(tls)
    const { send } = await listen(() => undefined, make, 'https')
    expect(await send()).toMatchObject({
      kind: 'not-sent',
      failure: { category: 'tls_certificate', retryable: false },
    })
  })

  it('is not-sent when the handshake does not end before the deadline', async () => {
    const { send } = await listen(() => undefined, createServer, 'https')
    expect(await send({ deadlineAt: performance.now() + 200 })).toMatchObject({
      kind: 'not-sent',
      failure: { category: 'network', retryable: true },
    })
  })

  it('is not-sent after the deadline', async () => {
    const { send, sockets } = await listen(() => undefined)
    expect(await send({ deadlineAt: performance.now() - 1 })).toMatchObject({ kind: 'not-sent' })
    expect(sockets).toHaveLength(0)
  })
})

describe('a request without a complete answer', () => {
  it.each([
    ['silence', () => undefined],
    ['a reset', (socket: Socket) => socket.resetAndDestroy()],
    ['the end', (socket: Socket) => socket.end()],
    ['what is no HTTP', (socket: Socket) => socket.write('220 ready\r\n')],
    ['half an acceptance', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')],
  ])('is uncertain: %s', async (_, then) => {
    const { send } = await listen(afterRequest(then))
    expect(await send({ deadlineAt: performance.now() + 500 })).toMatchObject({
      kind: 'uncertain',
      failure: { category: 'uncertain', retryable: true, authRejected: false },
    })
  }) // biome-ignore format: a table

  it('is uncertain when it is stopped after it was sent', async () => {
    const stopper = new AbortController()
    const { send } = await listen(afterRequest(() => stopper.abort()))
    expect(await send({ signal: stopper.signal })).toMatchObject({ kind: 'uncertain' })
  })
})

it('counts the status of a refusal whose body is lost', async () => {
  const { send } = await listen(
    afterRequest((socket) => socket.end('HTTP/1.1 503 X\r\ncontent-length: 9\r\n\r\nabc')),
  )
  expect(await send()).toMatchObject({
    kind: 'answered',
    outcome: { providerMessageId: '503 ' },
  })
})

it('counts the status of a refusal that comes before the whole request was sent', async () => {
  const { relays, account } = await listen((socket) => {
    socket.once('data', () => socket.write('HTTP/1.1 413 X\r\ncontent-length: 9\r\n\r\nabc'))
  })
  const large = { ...mail, text: 'x'.repeat(20_000_000) }
  const deadlineAt = performance.now() + 1_000
  expect(await relays.send(account, large, { deadlineAt })).toMatchObject({
    kind: 'answered',
    outcome: { providerMessageId: '413 ' },
  })
})

it('is not-sent when the request ended half-way', async () => {
  const { relays, account } = await listen((socket) => {
    socket.once('data', () => socket.destroy())
  })
  const large = { ...mail, text: 'x'.repeat(20_000_000) }
  expect(await relays.send(account, large)).toMatchObject({
    kind: 'not-sent',
    failure: { category: 'network', retryable: true },
  })
})

describe('a stopped request', () => {
  it('is not made when its commit point cannot be recorded', async () => {
    const { send, sockets } = await listen(() => undefined)
    expect(await send({ beforeRequest: async () => false })).toEqual({ kind: 'stopped' })
    expect(sockets).toHaveLength(0)
  })

  it('is ended by its signal, before and during the connection', async () => {
    const stopper = new AbortController()
    const { send, sockets } = await listen(() => stopper.abort(), createServer, 'https')
    expect(await send({ signal: AbortSignal.abort() })).toEqual({ kind: 'stopped' })
    expect(sockets).toHaveLength(0)
    expect(await send({ signal: stopper.signal })).toEqual({ kind: 'stopped' })
    expect(sockets).toHaveLength(1)
  })

  it('rejects with the error of recording the commit point', async () => {
    const { send, sockets } = await listen(() => undefined)
    const beforeRequest = () => Promise.reject(new Error('the database is away'))
    await expect(send({ beforeRequest })).rejects.toThrow('the database is away')
    expect(sockets).toHaveLength(0)
  })
})

it('observes duration and outcome of each request that was made', async () => {
  const answers = [answer(200, ''), answer(302, ''), answer(404, ''), answer(503, ''), '']
  const { account, egress } = await listen(
    afterRequest((socket) => {
      const next = answers.shift()
      if (next) socket.write(next)
      else socket.end()
    }),
  )
  const observed: ObservedRequest[] = []
  const observing = relaysOver(egress, { observe: (one) => observed.push(one) })
  for (let i = 0; i < 5; i += 1) await observing.send(account, mail)
  await observing.send(account, mail, { deadlineAt: performance.now() - 1 })
  await observing.send(account, mail, { beforeRequest: async () => false })
  expect(observed.map(({ kind, result }) => `${kind} ${result}`)).toEqual(
    ['2xx', '3xx', '4xx', '5xx', 'uncertain', 'not_sent'].map((result) => `sparkpost ${result}`),
  )
  for (const { durationMs } of observed) expect(durationMs).toBeGreaterThanOrEqual(0)
})

describe('requests about a domain', () => {
  const call = (path: string, read: RelayDomainCall['read']): RelayDomainCall => ({
    request: { method: 'GET', path, headers: {} },
    read,
  })
  const done = ({ body }: RelayAnswer) =>
    ({ kind: 'done', records: [], agrees: true, detail: body }) as const

  it('follow each other', async () => {
    const { relays, account } = await listen(
      afterRequest((socket, request) => socket.write(answer(200, request.split(' ')[1] ?? ''))),
    )
    const result = await relays.domain(
      account,
      call('/1', () => call('/2', () => call('/3', done))),
    )
    expect(result).toMatchObject({ kind: 'answered', outcome: { kind: 'done', detail: '/api/3' } })
  })

  it('have no body with GET', async () => {
    const requests: string[] = []
    const { relays, account } = await listen(
      afterRequest((socket, request) => {
        requests.push(request)
        socket.write(answer(200, ''))
      }),
    )
    await relays.domain(account, call('/', done))
    expect(requests[0]).toMatch(/^GET \/api\/ /)
    expect(requests[0]).not.toMatch(/content-/i)
  })

  it('are bounded in number', async () => {
    const { relays, account } = await listen(
      afterRequest((socket) => socket.write(answer(200, ''))),
    )
    const endless: RelayDomainCall = call('/', () => endless)
    await expect(relays.domain(account, endless)).rejects.toThrow(/in a row/)
  })
})

describe('a simulator', () => {
  const simulator: RelaySimulator = {
    kind: 'simulator',
    simulate: (_mail, nowMs) => ({
      outcome: { kind: 'accepted', providerMessageId: 'm' },
      ...(nowMs > 0 && { callback: 'report' }),
    }),
    callbacks: { isAuthentic: () => true, read: () => [] },
  }
  const account = { ...accountAt(''), kind: 'simulator' as const, apiKey: '' }
  const egress = { request: () => Promise.reject(new Error('nothing leaves the process')) }

  it('answers without a request, after its callback was stored', async () => {
    const stored: unknown[] = []
    const relays = relaysOver(egress, {
      adapterOf: () => simulator,
      deliverCallback: async (callback) => void stored.push(callback),
    })
    expect(await relays.send(account, mail)).toEqual({
      kind: 'answered',
      outcome: { kind: 'accepted', providerMessageId: 'm' },
    })
    expect(stored).toEqual([{ tenantId: 'tn_a', kind: 'simulator', body: 'report' }])
  })

  it('is stopped like a provider', async () => {
    const relays = relaysOver(egress, { adapterOf: () => simulator })
    expect(await relays.send(account, mail, { beforeRequest: async () => false })).toEqual({
      kind: 'stopped',
    })
  })
})

/** Connections that a receiver closes while they are kept: found out by the request that goes out on one. */
import { createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { EgressError } from './egress-error.ts'
import { listenRaw, pem } from './raw-receiver.fixture.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const CUT = { code: 'reset', message: 'the connection was closed before the answer was complete' }

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Step = (socket: Socket) => void
const answers: Step = (socket) => socket.write(OK)
const resets: Step = (socket) => void socket.destroy()
const ends: Step = (socket) => void socket.end()
const says =
  (text: string): Step =>
  (socket) =>
    void socket.end(text)

/** Of each connection in turn, what it does with its first, second, … request. */
async function receiver(scheme: 'http' | 'https', ...connections: (readonly Step[])[]) {
  let connection = 0
  const requests: string[] = []
  const serve = (socket: Socket) => {
    const steps = [...(connections[connection] ?? [])]
    connection += 1
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      requests.push(chunk.toString().split('\r\n\r\n')[1] ?? '')
      steps.shift()?.(socket)
    })
  }
  const pair = { cert: pem('localhost.pem'), key: pem('localhost.key') }
  const server = scheme === 'http' ? createServer(serve) : createTlsServer(pair, serve)
  const receiver = await listenRaw(server, scheme)
  cleanups.push(() => receiver.close())
  return { ...receiver, requests }
}

describe.each(['http', 'https'] as const)('a reused connection over %s', (scheme) => {
  it.each([
    ['reset', resets],
    ['ended', ends],
  ])(
    'that was %s without a byte of an answer is reported as such, and a new one follows',
    async (_, step) => {
      const { send, sockets, requests } = await receiver(
        scheme,
        [answers, step],
        [answers, answers],
      )
      expect(await send()).toMatchObject({ status: 200 })
      expect(await send()).toMatchObject({ ...CUT, wasKept: true })
      expect(requests).toEqual(['[]', '[]'])
      expect(await send()).toMatchObject({
        status: 200,
        timings: { connectMs: expect.any(Number) },
      })
      // The new one is kept as well.
      expect(await send()).toMatchObject({ status: 200 })
      expect(sockets).toHaveLength(2)
    },
  )

  it.each(['H', 'HTTP/1.1 200', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Hints\r\n\r\n'])(
    'is not reported as closed when the answer had begun: %j',
    async (text) => {
      const { send, sockets } = await receiver(scheme, [answers, says(text)], [answers])
      await send()
      const error = await send()
      expect(error).toBeInstanceOf(EgressError)
      expect(error).toMatchObject({ wasKept: undefined })
      expect(sockets).toHaveLength(1)
    },
  )

  it('differs from a new connection that was closed', async () => {
    const { send, sockets } = await receiver(scheme, [resets], [answers])
    const error = await send()
    expect(error).toMatchObject(CUT)
    expect(error).toMatchObject({ wasKept: undefined })
    expect(sockets).toHaveLength(1)
  })
})

it('requests on other connections are not affected by a closed one', async () => {
  let answerLate: (() => void) | undefined
  const waits: Step = (socket) => {
    answerLate = () => socket.write(OK)
  }
  const steps = [[answers, waits], [answers, resets], [answers]]
  const { send, sockets, egress } = await receiver('http', ...steps)
  // Both connections are kept, then both are used.
  await Promise.all([send(), send()])
  const both = [send(), send()]
  const quick = await Promise.race(both)
  expect(quick).toMatchObject({ wasKept: true })
  answerLate?.()
  expect((await Promise.all(both)).map((one) => 'status' in one && one.status)).toContain(200)
  expect(await send()).toMatchObject({ status: 200 })
  expect(sockets).toHaveLength(3)
  expect(egress.stats.pools).toBe(1)
})

/** How far a request came before it failed: whether its peer can have all of it. */
import { createHash } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import type { Egress } from './egress.ts'
import { EgressError } from './egress-error.ts'
import { listenRaw, pem } from './raw-receiver.fixture.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

const LARGE = Buffer.alloc(24 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz')
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

type Scheme = 'http' | 'https'

async function receiver(scheme: Scheme, serve: (socket: Socket) => void) {
  const listener = (socket: Socket) => {
    socket.on('error', () => socket.destroy())
    serve(socket)
  }
  const pair = { cert: pem('localhost.pem'), key: pem('localhost.key') }
  const server: Server =
    scheme === 'http' ? createServer(listener) : createTlsServer(pair, listener)
  const { egress, close } = await listenRaw(server, scheme)
  cleanups.push(close)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    send: (body: Buffer | string, o: { timeoutMs?: number; signal?: AbortSignal } = {}) =>
      request(egress, `${scheme}://127.0.0.1:${port}/`, body, o),
  }
}

async function request(egress: Egress, url: string, body: Buffer | string, o: object) {
  const headers = { 'X-A': 'b' }
  try {
    return await egress.request({
      ...{ poolKey: 'a', url, method: 'POST', headers, body, timeoutMs: 20_000 },
      ...o,
    })
  } catch (error) {
    if (error instanceof EgressError) return error
    throw error
  }
}

/** Takes requests whole, and says what came of each. */
function taking(then: (socket: Socket, head: string, body: Buffer) => void) {
  return (socket: Socket) => {
    let chunks: Buffer[] = []
    let bytes = 0
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      const first = chunks[0] ?? chunk
      const end = first.indexOf('\r\n\r\n')
      const length = /content-length: (\d+)/i.exec(first.toString('latin1', 0, end))?.[1]
      if (end === -1 || bytes < end + 4 + Number(length)) return
      const all = Buffer.concat(chunks)
      chunks = []
      bytes = 0
      then(socket, all.toString('latin1', 0, end), all.subarray(end + 4))
    })
  }
}

describe.each<Scheme>(['http', 'https'])('a written request over %s', (scheme) => {
  it.each([
    ['a small body', Buffer.from('[]')],
    ['one of exactly a slice', LARGE.subarray(0, 256 * 1024)],
    ['one of a slice and a byte', LARGE.subarray(0, 256 * 1024 + 1)],
    ['a large one', LARGE],
  ])('%s arrives byte by byte, repeatedly on one connection', async (_, body) => {
    const heads: string[] = []
    const hashes: string[] = []
    const sockets = new Set<Socket>()
    const { send } = await receiver(
      scheme,
      taking((socket, head, received) => {
        sockets.add(socket)
        heads.push(head)
        hashes.push(createHash('sha256').update(received).digest('hex'))
        socket.write(OK)
      }),
    )
    for (let i = 0; i < 3; i += 1) expect(await send(body)).toMatchObject({ status: 200 })
    const hash = createHash('sha256').update(body).digest('hex')
    expect(hashes).toEqual([hash, hash, hash])
    expect(sockets.size).toBe(1)
    for (const head of heads) {
      expect(head).toContain('X-A: b')
      expect(head.match(/content-length/gi)).toHaveLength(1)
      expect(head).not.toMatch(/transfer-encoding/i)
    }
  })

  it('counts as not received when the connection ends in the middle of its body', async () => {
    const { send } = await receiver(scheme, (socket) => {
      let bytes = 0
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > 1_000_000) socket.destroy()
      })
    })
    const failure = await send(LARGE)
    expect(failure).toMatchObject({ code: 'reset', wasWritten: undefined })
  })

  it('counts as not received when the peer stops reading in the middle of its body', async () => {
    const { send } = await receiver(scheme, (socket) => {
      socket.once('data', () => socket.pause())
    })
    const failure = await send(LARGE, { timeoutMs: 500 })
    expect(failure).toMatchObject({ code: 'timeout', wasWritten: undefined })
  })

  it.each([
    ['small', Buffer.from('[]')],
    ['large', LARGE],
  ])('may have been received once its %s body was sent', async (_, body) => {
    const { send } = await receiver(
      scheme,
      taking((socket) => socket.destroy()),
    )
    expect(await send(body)).toMatchObject({ code: 'reset', wasWritten: true })
    const { send: wait } = await receiver(
      scheme,
      taking(() => undefined),
    )
    expect(await wait(body, { timeoutMs: 2_000 })).toMatchObject({
      code: 'timeout',
      wasWritten: true,
    })
  })

  it('may be answered before its body was sent', async () => {
    const { send } = await receiver(scheme, (socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno'),
      )
    })
    expect(await send(LARGE)).toMatchObject({ status: 413, body: 'no' })
  })

  it('counts as not sent before there is a connection', async () => {
    const { send } = await receiver(scheme, () => undefined)
    const failure = await send('[]', { signal: AbortSignal.abort() })
    expect(failure).toMatchObject({ code: 'aborted', wasWritten: undefined })
  })
})

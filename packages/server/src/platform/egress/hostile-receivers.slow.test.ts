/**
 * Receivers that do what no server should. Each costs at most one deadline and a bounded number of
 * bytes, is told apart by the right words, and its connection serves no second request.
 */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { EgressError } from './egress-error.ts'
import { listenRaw, pem } from './raw-receiver.fixture.ts'

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

type Misbehaviour = (socket: Socket) => void

async function listen(server: Server, scheme: 'http' | 'https') {
  const receiver = await listenRaw(server, scheme)
  cleanups.push(() => receiver.close())
  return receiver
}

/** Answers the first bytes of each connection as it is told. */
function listenTcp(misbehave: Misbehaviour) {
  return listen(
    createServer((socket) => socket.once('data', () => misbehave(socket))),
    'http',
  )
}

function listenTls(o: TlsOptions & { cert: string }, misbehave: (socket: TLSSocket) => void) {
  const pair = { cert: pem(`${o.cert}.pem`), key: pem(`${o.cert}.key`) }
  const server = createTlsServer({ ...o, ...pair }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', () => misbehave(socket))
  })
  return listen(server, 'https')
}

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`
const say =
  (text: string | Buffer): Misbehaviour =>
  (socket) =>
    socket.write(text)
const sayAndEnd =
  (text: string): Misbehaviour =>
  (socket) =>
    socket.end(text)
/** A little now and then, for ever. */
const drip =
  (before: string, text: string): Misbehaviour =>
  (socket) => {
    if (before !== '') socket.write(before)
    const timer = setInterval(() => socket.write(text), 5)
    socket.once('close', () => clearInterval(timer))
  }
/** As much as goes, for ever. */
const flood =
  (before: string, text: string): Misbehaviour =>
  (socket) => {
    const more = () => {
      if (!socket.destroyed) socket.write(text, () => setImmediate(more))
    }
    socket.write(before, more)
  }

const TIMEOUT = { code: 'timeout', message: 'the request took too long' }
const UNREADABLE = { code: 'protocol', message: 'the exchange is not valid HTTP' }
const CUT = { code: 'reset', message: 'the connection was closed before the answer was complete' }
const HEADERS_TOO_LARGE = {
  code: 'too_large',
  message: 'the header block of the answer is too large',
}
const TOO_LARGE = { code: 'too_large', message: 'the answer is too large' }
const INTERIM = { code: 'protocol', message: 'the server sends interim responses without end' }

describe('the deadline of a request', () => {
  it.each<[string, Misbehaviour, number | undefined]>([
    ['says nothing', () => undefined, undefined],
    ['drips its status line', drip('HTTP/1.1 200 ', 'a'), undefined],
    ['drips a header', drip(`${OK}X-A: `, 'a'), undefined],
    ['drips headers', drip(OK, 'X-A: a\r\n'), undefined],
    ['drips a body', drip(`${OK}\r\n`, 'a'), 200],
    ['drips chunks', drip(CHUNKED, '1\r\na\r\n'), 200],
    ['drips a chunk extension', drip(`${CHUNKED}1;`, 'e'), 200],
    ['promises more than it sends', say(`${OK}Content-Length: 9\r\n\r\nabc`), 200],
    ['ends its body in no way', say(`${OK}Transfer-Encoding: gzip\r\n\r\nabc`), 200],
  ])('ends a receiver that %s', async (_, misbehave, status) => {
    const { send, sockets } = await listenTcp(misbehave)
    const first = await send(300)
    expect(first).toMatchObject(status === undefined ? TIMEOUT : { ...TIMEOUT, status })
    await send(50)
    expect(sockets).toHaveLength(2)
  })
})

describe('the byte limit of an answer', () => {
  it.each<[string, Misbehaviour, object]>([
    ['a header', flood(`${OK}X-A: `, 'a'.repeat(4_000)), HEADERS_TOO_LARGE],
    ['a header name', flood(OK, 'a'.repeat(4_000)), HEADERS_TOO_LARGE],
    ['headers', flood(OK, `X-A: ${'a'.repeat(4_000)}\r\n`), HEADERS_TOO_LARGE],
    ['trailers', flood(`${CHUNKED}0\r\n`, `X-A: ${'a'.repeat(4_000)}\r\n`), HEADERS_TOO_LARGE],
    ['a reason phrase', flood('HTTP/1.1 200 ', 'a'.repeat(4_000)), TOO_LARGE],
    ['a chunk extension', flood(`${CHUNKED}1;`, 'a'.repeat(4_000)), { ...TOO_LARGE, status: 200 }],
    ['102 Processing', flood('', 'HTTP/1.1 102 Processing\r\n\r\n'), INTERIM],
    ['103 Early Hints', flood('', 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'), INTERIM],
    ['100 Continue', flood('', 'HTTP/1.1 100 Continue\r\n\r\n'), UNREADABLE],
  ])('ends an endless flood of %s', async (_, misbehave, expected) => {
    const { send, sockets } = await listenTcp(misbehave)
    expect(await send()).toMatchObject(expected)
    expect(await send()).toMatchObject(expected)
    expect(sockets).toHaveLength(2)
    for (const socket of sockets) if (!socket.closed) await once(socket, 'close')
  })

  it('ends a header block of 1 MB', async () => {
    const headers = `X-A: ${'a'.repeat(1_000)}\r\n`.repeat(1_000)
    const { send } = await listenTcp(say(`${OK}${headers}Content-Length: 0\r\n\r\n`))
    expect(await send()).toMatchObject(HEADERS_TOO_LARGE)
  })

  it('ends an endless body, which counts as answered', async () => {
    const { send, sockets } = await listenTcp(flood(`${OK}\r\n`, 'b'.repeat(4_000)))
    expect(await send()).toMatchObject({ status: 200, body: 'b'.repeat(4_096) })
    const [socket] = sockets
    if (socket?.closed === false) await once(socket, 'close')
    await send()
    expect(sockets).toHaveLength(2)
  })

  const zeros = Buffer.alloc(64 * 1024 * 1024)
  it.each([
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['zstd', zstdCompressSync(zeros)],
  ])('does not inflate a %s bomb', async (encoding, bomb) => {
    const head = `${OK}Content-Encoding: ${encoding}\r\nContent-Length: ${bomb.length}\r\n\r\n`
    const { send } = await listenTcp(say(Buffer.concat([Buffer.from(head), bomb])))
    const answer = await send()
    if (answer instanceof EgressError) throw answer
    const kept = new TextDecoder().decode(bomb.subarray(0, 4_096), { stream: true })
    expect(answer.status).toBe(200)
    expect(answer.body).toBe(kept)
  })
})

describe('malformed or unusual HTTP', () => {
  it.each<[string, Misbehaviour, object]>([
    ['101 nobody asked for', say('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'), UNREADABLE],
    ['101 without an upgrade', say('HTTP/1.1 101 Switching Protocols\r\n\r\n'), UNREADABLE],
    ['HTTP/0.9', sayAndEnd('<html>hello</html>'), UNREADABLE],
    ['another protocol', sayAndEnd('220 ready\r\n'), UNREADABLE],
    ['a TLS record', say(Buffer.from([0x15, 3, 1, 0, 2, 2, 40])), UNREADABLE],
    ['HTTP/2', say('HTTP/2 200\r\n\r\n'), UNREADABLE],
    ['a status below 100', say('HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n'), UNREADABLE],
    ['a status of two digits', say('HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n'), UNREADABLE],
    ['bare line feeds', say('HTTP/1.1 200 OK\nContent-Length: 2\n\nok'), UNREADABLE],
    ['a folded header', say(`${OK}X: a\r\n b\r\nContent-Length: 2\r\n\r\nok`), UNREADABLE],
    ['NUL in a header', say(`${OK}X: a\0b\r\nContent-Length: 0\r\n\r\n`), UNREADABLE],
    ['a length that is no number', say(`${OK}Content-Length: abc\r\n\r\nok`), UNREADABLE],
    ['a negative length', say(`${OK}Content-Length: -1\r\n\r\nok`), UNREADABLE],
    ['an immense length', say(`${OK}Content-Length: 99999999999999999999\r\n\r\nok`), UNREADABLE],
    ['two lengths', say(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nok`), UNREADABLE],
    ['a length and chunks', say(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n`), UNREADABLE],
    ['chunks that are none', say(`${CHUNKED}zz\r\nok`), { ...UNREADABLE, status: 200 }],
    ['a chunk of immense size', say(`${CHUNKED}FFFFFFFFFFFFFFFFFF\r\nok`), { ...UNREADABLE, status: 200 }],
    ['a chunk that does not end', say(`${CHUNKED}2\r\nokXX0\r\n\r\n`), { ...UNREADABLE, status: 200 }],
    ['half a header, then the end', sayAndEnd(`${OK}Content-Le`), CUT],
    ['half a body, then the end', sayAndEnd(`${OK}Content-Length: 9\r\n\r\nabc`), { ...CUT, status: 200 }],
    ['half a body, then a reset', (socket) => {
      socket.write(`${OK}Content-Length: 9\r\n\r\nabc`, () => setTimeout(() => socket.resetAndDestroy(), 20))
    }, { ...CUT, status: 200 }],
    ['the end at once', (socket) => socket.end(), CUT],
    ['a reset at once', (socket) => socket.resetAndDestroy(), CUT],
  ])('has the right outcome: %s', async (_, misbehave, expected) => {
    const { send, sockets } = await listenTcp(misbehave)
    expect(await send()).toMatchObject(expected)
    expect(await send()).toMatchObject(expected)
    expect(sockets).toHaveLength(2)
  }) // biome-ignore format: a table

  it.each<[string, Misbehaviour, object]>([
    ['HTTP/1.0 with a length', say('HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'), { status: 200, body: 'ok' }],
    ['HTTP/1.0 to the end', sayAndEnd('HTTP/1.0 200 OK\r\n\r\nok'), { status: 200, body: 'ok' }],
    ['HTTP/1.1 to the end', sayAndEnd(`${OK}\r\nok`), { status: 200, body: 'ok' }],
    ['a body where none may be', say('HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello'), { status: 204, body: '' }],
    ['more body than promised', say(`${OK}Content-Length: 2\r\n\r\nok and more`), { status: 200, body: 'ok' }],
    ['a second answer behind the first', say(`${OK}Content-Length: 2\r\n\r\nokHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n`), { status: 200, body: 'ok' }],
    ['100 Continue that nobody asked for', say(`HTTP/1.1 100 Continue\r\n\r\n${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`), { status: 200, body: 'ok' }],
    ['several of them, with headers', say(`${'HTTP/1.1 100 \r\nServer: x\r\nX: y\r\n\r\n'.repeat(3)}${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`), { status: 200, body: 'ok' }],
    ['one interim answer', say(`HTTP/1.1 103 Early Hints\r\n\r\n${OK}Connection: close\r\nContent-Length: 2\r\n\r\nok`), { status: 200, body: 'ok' }],
  ])('is understood, on a connection of its own: %s', async (_, misbehave, expected) => {
    const { send, sockets } = await listenTcp(misbehave)
    expect(await send()).toMatchObject(expected)
    expect(await send()).toMatchObject(expected)
    expect(sockets).toHaveLength(2)
  }) // biome-ignore format: a table

  it.each(['http', 'https'])(
    'may have 100 Continue in pieces before each answer of one %s connection',
    async (scheme) => {
      const misbehave: Misbehaviour = (socket) => {
        const answer = async () => {
          for (const byte of 'HTTP/1.1 100 Continue\r\nX: y\r\n\r\n') {
            socket.write(byte)
            await new Promise((resolve) => setImmediate(resolve))
          }
          // A body of the same text is a body.
          const body = 'HTTP/1.1 100 Continue\r\n\r\n'
          socket.write(`${OK}Content-Length: ${body.length}\r\n\r\n`)
          setTimeout(() => socket.write(body), 5)
        }
        socket.on('data', answer)
        void answer()
      }
      const { send, sockets } = await (scheme === 'http'
        ? listenTcp(misbehave)
        : listenTls({ cert: 'localhost' }, misbehave))
      // More often than it would be taken out of one answer.
      for (let i = 0; i < 25; i += 1)
        expect(await send()).toMatchObject({ status: 200, body: 'HTTP/1.1 100 Continue\r\n\r\n' })
      expect(sockets).toHaveLength(1)
    },
  )

  it.each([
    ['one that does not end', drip('HTTP/1.1 100 Continue\r\n', 'X'), TIMEOUT],
    ['one of many headers', say(`HTTP/1.1 100 Continue\r\n${'X: y\r\n'.repeat(2_000)}\r\n`), UNREADABLE],
    ['nothing behind it', sayAndEnd('HTTP/1.1 100 Continue\r\n\r\n'), CUT],
    ['101 behind it', say('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching\r\n\r\n'), UNREADABLE],
  ])('has the right outcome for 100 Continue: %s', async (_, misbehave, expected) => {
    const { send } = await listenTcp(misbehave)
    expect(await send(300)).toMatchObject(expected)
  }) // biome-ignore format: a table

  it('a redirect to itself is one request', async () => {
    let requests = 0
    const { send, sockets } = await listenTcp((socket) => {
      requests += 1
      socket.on('data', () => {
        requests += 1
      })
      socket.write('HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n')
    })
    expect(await send()).toMatchObject({ status: 302 })
    expect({ requests, connections: sockets.length }).toEqual({ requests: 1, connections: 1 })
  })
})

describe('TLS', () => {
  it.each([
    ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['expired', 'CERT_HAS_EXPIRED'],
  ])('ends the request before it is sent at a certificate that is %s', async (cert, systemCode) => {
    let bytes = 0
    const { send } = await listenTls({ cert }, (socket) => {
      bytes += socket.bytesRead
    })
    expect(await send()).toMatchObject({
      code: 'tls',
      systemCode,
      message: `TLS failed (${systemCode})`,
    })
    expect(bytes).toBe(0)
  })

  it('ends a handshake that stalls or drips at the deadline', async () => {
    const hello = Buffer.from([0x16, 3, 3, 0x40, 0])
    for (const misbehave of [() => undefined, drip(hello.toString('latin1'), 'a')]) {
      const { send } = await listen(
        createServer((socket) => socket.once('data', () => misbehave(socket))),
        'https',
      )
      expect(await send(300)).toMatchObject({ code: 'timeout' })
    }
  })

  it('fails as TLS when there is no handshake', async () => {
    const { send } = await listen(
      createServer((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\n'))),
      'https',
    )
    expect(await send()).toMatchObject({ code: 'tls' })
  })

  it.each([
    ['stalls meets the deadline', false, TIMEOUT],
    ['goes on without end is cut off', true, CUT],
  ])('ends a receiver that renegotiates and %s', async (_, isRepeated, expected) => {
    const renegotiate = (socket: TLSSocket): void => {
      const again = () => (isRepeated ? setTimeout(renegotiate, 5, socket) : undefined)
      if (!socket.destroyed) socket.renegotiate({}, again)
    }
    const o = { cert: 'localhost', maxVersion: 'TLSv1.2' } as const
    const { send, sockets } = await listenTls(o, renegotiate)
    expect(await send(isRepeated ? 5_000 : 300)).toMatchObject(expected)
    await send(50)
    expect(sockets).toHaveLength(2)
  })

  it('bounds a flood', async () => {
    const { send } = await listenTls({ cert: 'localhost' }, (socket) =>
      flood('HTTP/1.1 200 ', 'a'.repeat(4_000))(socket),
    )
    expect(await send()).toMatchObject(TOO_LARGE)
  })
})

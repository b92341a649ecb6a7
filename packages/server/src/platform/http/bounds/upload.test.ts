/** Files over real connections: how they are read, refused and broken off. */
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import { afterEach, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { createHttpApp, type HttpApp } from '../app.ts'
import { addUploadOperation } from '../operation.ts'
import { createUpload } from './upload.ts'

const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] },
} as const
const BYTES_MAX = 1_000_000
const COUNTED = Type.Object({
  success: Type.Literal(true),
  message: Type.String(),
  added: Type.Integer(),
})

let app: HttpApp | undefined
afterEach(async () => {
  app?.server.closeAllConnections()
  await app?.close()
})

/** Answers how many bytes came. `onBroken` is told of what it throws, as the caller may be gone. */
async function serve(
  handle?: (pieces: AsyncIterable<Buffer>) => Promise<number>,
  onBroken: (error: unknown) => void = () => undefined,
) {
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
    bodyLimits: { sharedBytesMax: 1_000, ownBytesMax: 1_000, ownBytesInAllMax: 1_000 },
  })
  addUploadOperation(app, 'importSuppressions', {
    summary: '',
    tag: 'Suppressions',
    scopes: ['send'],
    uploads: 'text/csv',
    bodyBytesMax: BYTES_MAX,
    answer: COUNTED as never,
    async handle({ upload }) {
      const added = await (handle ?? countBytes)(upload).catch((error) => {
        onBroken(error)
        throw error
      })
      return { message: 'Read', added } as never
    },
  })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  return `${origin}/v1/suppressions/import`
}

async function countBytes(pieces: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0
  for await (const piece of pieces) bytes += piece.length
  return bytes
}

const post = (
  url: string,
  body: RequestInit['body'],
  { type = 'text/csv', key = 'a' }: { readonly type?: string; readonly key?: string } = {},
) =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(type === '' ? {} : { 'content-type': type }) },
    body: body ?? null,
    duplex: 'half',
  } as RequestInit)

function streamOf(bytes: number): ReadableStream<Uint8Array> {
  let left = bytes
  return new ReadableStream({
    pull(controller) {
      const size = Math.min(left, 50_000)
      if (size === 0) controller.close()
      else controller.enqueue(new Uint8Array(size))
      left -= size
    },
  })
}

it('is read as it comes, whatever its length is called, beyond the memory for bodies', async () => {
  const url = await serve()
  for (const body of [new Uint8Array(BYTES_MAX), streamOf(BYTES_MAX)]) {
    const response = await post(url, body)
    expect([response.status, await response.json()]).toMatchObject([200, { added: BYTES_MAX }])
  }
  for (const type of ['text/csv; charset=utf-8', 'TEXT/CSV;charset="UTF-8"'])
    expect((await post(url, 'a', { type })).status).toBe(200)
})

it.each<[string, RequestInit['body'], object, number, string]>([
  ['too large by its header', new Uint8Array(BYTES_MAX + 1), {}, 413, 'payload_too_large'],
  ['too large without a header', streamOf(BYTES_MAX + 50_000), {}, 413, 'payload_too_large'],
  ['JSON', '{}', { type: 'application/json' }, 415, 'unsupported_media_type'],
  ['of another type', 'a', { type: 'text/plain' }, 415, 'unsupported_media_type'],
  ['of no type', new Uint8Array(1), { type: '' }, 415, 'unsupported_media_type'],
  ['in another charset', 'a', { type: 'text/csv; charset=latin1' }, 415, 'unsupported_media_type'],
  ['of a key that may not', new Uint8Array(500_000), { key: 'reader' }, 403, 'forbidden'],
  ['of nobody', new Uint8Array(500_000), { key: 'x' }, 401, 'unauthorized'],
])('is refused when it is %s', async (_, body, o, status, code) => {
  const response = await post(await serve(), body, o)
  expect([response.status, await response.json()]).toMatchObject([status, { code }])
})

it('is skipped when its handler refuses it, and the answer arrives', async () => {
  const url = await serve(async (pieces) => {
    for await (const _ of pieces) throw Object.assign(new Error('no'), { statusCode: 409 })
    return 0
  })
  for (let n = 0; n < 3; n++) expect((await post(url, new Uint8Array(900_000))).status).toBe(400)
})

async function open(url: string, head: string): Promise<Socket> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname)
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.write(
    `POST ${pathname} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nContent-Type: text/csv\r\n${head}`,
  )
  return socket
}

it('breaks off in its handler when its caller goes away', async () => {
  const seen = Promise.withResolvers<void>()
  const broken = Promise.withResolvers<unknown>()
  const url = await serve(async (pieces) => {
    for await (const _ of pieces) seen.resolve()
    return 0
  }, broken.resolve)
  const socket = await open(url, 'Content-Length: 100000\r\n\r\nsome bytes')
  await seen.promise
  socket.destroy()
  expect(await broken.promise).toMatchObject({ code: 'ECONNRESET' })
})

it('is given up when nothing more comes, and the time of its handler does not count', async () => {
  async function* slow() {
    yield Buffer.from('a')
    await new Promise(() => undefined)
  }
  const request = { headers: {}, raw: Readable.from(slow()) }
  const upload = createUpload(request as never, BYTES_MAX, 30)
  const pieces: string[] = []
  const read = async () => {
    for await (const piece of upload) {
      pieces.push(piece.toString())
      await new Promise((resolve) => setTimeout(resolve, 60))
    }
  }
  await expect(read()).rejects.toMatchObject({ code: 'request_timeout', bound: 'body-rate' })
  expect(pieces).toEqual(['a'])
})

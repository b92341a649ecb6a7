import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createWebhookHandler, type WebhookHandler } from './create-webhook-handler.ts'
import type { ReceivedEvent } from './event-types.ts'
import { exampleEvent } from './examples.ts'
import { type NodeRequest, type NodeResponse, toNodeHandler } from './node.ts'

const events = [exampleEvent('SMTP_ERROR'), exampleEvent('MAIL_DELIVERED')]
const text = JSON.stringify(events)
const secret = { 'x-webhook-secret': 'secret' }

type Middleware = (req: IncomingMessage & { body?: unknown }, res: ServerResponse) => unknown

/** A server with this handler behind a middleware; both close when the test is over. */
async function serve(handler: WebhookHandler, before: Middleware = () => undefined) {
  const inner = toNodeHandler(handler)
  const server = createServer(async (req, res) => {
    await before(req, res)
    await inner(req, res)
    handled.open()
  })
  const handled = gate()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { port, handled: handled.opened }
}

function receiver(options: { maxBytes?: number } = {}) {
  const seen: ReceivedEvent[] = []
  const errors: unknown[] = []
  const handler = createWebhookHandler({
    header: 'X-Webhook-Secret',
    secrets: ['secret'],
    onEvent: (event) => void seen.push(event),
    onError: (error) => void errors.push(error),
    ...options,
  })
  return { handler, seen, errors }
}

interface Target {
  readonly port: number
}

function post(target: Target, body: string | Iterable<Buffer>, headers: object = secret) {
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const outgoing = request({
      ...target,
      agent: false,
      host: '127.0.0.1',
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
    })
    outgoing.on('error', reject)
    outgoing.on('response', async (response) => {
      resolve({ status: response.statusCode ?? 0, text: (await consume(response)).toString() })
    })
    if (typeof body === 'string') outgoing.end(body)
    else Readable.from(body).pipe(outgoing)
  })
}

function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** The head of a request, but for the empty line after it. */
function head(length: number | 'chunked', value = 'secret'): string {
  return [
    'POST / HTTP/1.1',
    'Host: x',
    'Content-Type: application/json',
    `X-Webhook-Secret: ${value}`,
    length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
  ].join('\r\n')
}

async function consume(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}

describe('toNodeHandler', () => {
  it('passes the request in and the answer out', async () => {
    const { handler, seen } = receiver()
    const answer = await post(await serve(handler), text)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toMatchObject({ success: true, events: 2 })
    expect(seen).toStrictEqual(events)
  })

  it('accepts a body of many chunks', async () => {
    const { handler, seen } = receiver()
    const pieces = Array.from({ length: text.length }, (_, i) => Buffer.from(text.slice(i, i + 1)))
    expect((await post(await serve(handler), pieces)).status).toBe(200)
    expect(seen).toStrictEqual(events)
  })

  it('passes every header, and repeated ones', async () => {
    const target = await serve(async ({ headers }) =>
      Response.json([headers.get('x-one'), headers.get('x-two')], { headers: { 'x-back': 'yes' } }),
    )
    const { text: answer } = await post(target, '{}', { 'x-one': '1', 'x-two': ['a', 'b'] })
    expect(JSON.parse(answer)).toStrictEqual(['1', 'a, b'])
  })

  it.each(['GET', 'HEAD', 'DELETE', 'TRACE'])('answers %s as well', async (method) => {
    const { port } = await serve(receiver().handler)
    const status = await new Promise((resolve, reject) => {
      request({ port, method, agent: false }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
        .on('error', reject)
        .end()
    })
    expect(status).toBe(method === 'TRACE' ? 500 : 405)
  })

  it.each([
    ['before a body is read', 401, 'wrong', 100_000],
    ['in the middle of a body that is too large', 413, 'secret', 100_000],
  ])('answers %s, and keeps the connection open', async (_, status, value, maxBytes) => {
    const { handler, seen } = receiver({ maxBytes })
    const { port } = await serve(handler)
    // A client that writes on after the answer, as node:http and undici do not.
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head('chunked', value)}\r\n\r\n`)
    for (let i = 0; i < 20; i++) socket.write(`f4240\r\n${' '.repeat(1_000_000)}\r\n`)
    socket.write('0\r\n\r\n')
    socket.write(`${head(text.length)}\r\nConnection: close\r\n\r\n${text}`)
    const answers = (await consume(socket)).toString()
    expect([...answers.matchAll(/HTTP\/1.1 (\d+)/g)].map(([, code]) => Number(code))).toEqual([
      status,
      200,
    ])
    expect(seen).toStrictEqual(events)
  })

  it('reads no more from the connection than the handler reads', async () => {
    let made = 0
    const body = function* () {
      for (; made < 1_000; made++) yield Buffer.alloc(65_536, ' ')
    }
    let before = -1
    await toNodeHandler(async (request) => {
      await new Promise((resolve) => setImmediate(resolve))
      before = made
      const reader = request.body?.getReader()
      for (let i = 0; i < 5; i++) await reader?.read()
      for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
      return new Response()
    })(fakeRequest(Readable.from(body(), { objectMode: false })), fakeResponse())
    expect(before).toBe(0)
    expect(made).toBeGreaterThanOrEqual(5)
    expect(made).toBeLessThan(10)
  })
})

describe('behind a body parser', () => {
  it.each<[string, (body: Buffer) => unknown]>([
    ['octets', (body) => body],
    ['text', (body) => body.toString()],
    ['an object', (body) => JSON.parse(body.toString())],
  ])('accepts the parsed body: %s', async (_, parse) => {
    const { handler, seen } = receiver()
    const target = await serve(handler, async (req) => {
      req.body = parse(await consume(req))
    })
    expect((await post(target, text)).status).toBe(200)
    expect(seen).toStrictEqual(events)
  })

  it('applies the size limit', async () => {
    const { handler } = receiver({ maxBytes: 100 })
    const target = await serve(handler, async (req) => {
      req.body = JSON.parse((await consume(req)).toString())
    })
    expect((await post(target, [Buffer.from(text)])).status).toBe(413)
  })

  it('reads the body itself when the parser has set one but read nothing', async () => {
    const { handler, seen } = receiver()
    const target = await serve(handler, (req) => {
      req.body = {}
    })
    expect((await post(target, text)).status).toBe(200)
    expect(seen).toStrictEqual(events)
  })

  it.each<[string, unknown, string]>([
    ['is gone', undefined, 'interrupted'],
    ['was something else', '[object Object]', 'not_json'],
  ])('answers 500, as a fault of the receiver, when the body %s', async (_, body, code) => {
    const { handler, errors } = receiver()
    const target = await serve(handler, async (req) => {
      await consume(req)
      req.body = body
    })
    expect((await post(target, text)).status).toBe(500)
    expect(errors).toMatchObject([{ code }])
  })

  it('answers 500, as a fault of the receiver, when the body cannot be written as JSON', async () => {
    const { handler } = receiver()
    const target = await serve(handler, async (req) => {
      await consume(req)
      req.body = { id: 1n }
    })
    expect((await post(target, text)).status).toBe(500)
  })
})

describe('a client that hangs up', () => {
  it('a client that hangs up in the middle of the body leaves nothing handled and nothing open', async () => {
    const { handler, seen, errors } = receiver()
    const { port, handled } = await serve(handler)
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head(text.length)}\r\n\r\n${text.slice(0, 50)}`, () => socket.destroy())
    await handled
    expect(seen).toStrictEqual([])
    expect(errors).toMatchObject([{ code: 'interrupted' }])
  })

  it('a client that hangs up while events are handled aborts their signal, and gets no answer', async () => {
    const aborted = gate()
    const begun = gate()
    const handler = createWebhookHandler({
      // Longer than a test may last.
      timeoutMs: 600_000,
      onEvents: (_, { signal }) => {
        signal.addEventListener('abort', aborted.open)
        begun.open()
        return aborted.opened
      },
      onError: () => undefined,
    })
    const { port, handled } = await serve(handler)
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head(text.length)}\r\n\r\n${text}`)
    await begun.opened
    socket.destroy()
    await aborted.opened
    await handled
  })

  it('a client that hangs up before the handler starts is not waited for', async () => {
    const gone = gate()
    const { handler, seen } = receiver()
    const { port, handled } = await serve(handler, async (_, res) => {
      res.on('close', gone.open)
      await gone.opened
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head(text.length)}\r\n\r\n${text.slice(0, 50)}`, () => socket.destroy())
    await handled
    expect(seen).toStrictEqual([])
  })
})

describe('a body that breaks off', () => {
  const never = () => new Readable({ read: () => undefined })

  it.each<[string, Error | undefined]>([
    ['with an error', new Error('reset')],
    ['without an error', undefined],
  ])('is an interruption %s', async (_, cause) => {
    const req = fakeRequest(never())
    let failure: unknown
    await toNodeHandler(async (request) => {
      const reading = request.text()
      setImmediate(() => req.destroy(cause))
      failure = await reading.catch((error: unknown) => error)
      return new Response()
    })(req, fakeResponse())
    expect(failure).toMatchObject({ code: 'interrupted' })
    expect((failure as Error).cause).toBe(cause)
  })

  it('is an interruption before it is read', async () => {
    const req = fakeRequest(never())
    let failure: unknown
    await toNodeHandler(async (request) => {
      req.destroy()
      await new Promise((resolve) => req.once('close', resolve))
      failure = await request.text().catch((error: unknown) => error)
      return new Response()
    })(req, fakeResponse())
    expect(failure).toMatchObject({ code: 'interrupted' })
  })
})

describe('an answer that was already given', () => {
  it('an answer that was given before the handler is kept', async () => {
    const { handler, seen } = receiver()
    const target = await serve(handler, async (req, res) => {
      req.body = await consume(req)
      res.writeHead(503).end('busy')
    })
    expect(await post(target, text)).toMatchObject({ status: 503, text: 'busy' })
    await target.handled
    expect(seen).toStrictEqual([])
  })

  it('during the handler is kept', async () => {
    const answered = gate()
    const target = await serve(
      async () => {
        await answered.opened
        return new Response('late')
      },
      (_, res) => {
        setImmediate(() => res.writeHead(503).end('busy', answered.open))
      },
    )
    expect(await post(target, text)).toMatchObject({ status: 503, text: 'busy' })
  })

  it('an answer by the handler is kept, and a second one is dropped', async () => {
    const calls: string[] = []
    const note = (name: string) => () => void calls.push(name)
    const res = {
      ...fakeResponse(),
      headersSent: false,
      setHeader: note('setHeader'),
      end: note('end'),
      destroy: note('destroy'),
    }
    await toNodeHandler(async () => {
      res.headersSent = true
      return Response.json({})
    })(fakeRequest(), res)
    expect(calls).toStrictEqual([])
    expect(res.statusCode).toBe(0)
  })

  it('answers 500 when a handler of another kind throws', async () => {
    const target = await serve(() => Promise.reject(new Error('secret')))
    expect(await post(target, text)).toMatchObject({ status: 500, text: '' })
  })

  it('ends the connection when the answer cannot be written, and rejects nothing', async () => {
    const response = fakeResponse()
    let isDestroyed = false
    const broken = {
      ...response,
      setHeader: () => {
        throw new Error('no')
      },
      end: () => {
        throw new Error('no')
      },
      destroy: () => {
        isDestroyed = true
      },
    }
    await toNodeHandler(async () => Response.json({}))(fakeRequest(), broken)
    expect(isDestroyed).toBe(true)
  })
})

function fakeRequest(stream = Readable.from(['{}'])) {
  return Object.assign(stream, { method: 'POST', headers: {} })
}

function fakeResponse(): NodeResponse {
  const nothing = () => undefined
  const methods = { setHeader: nothing, end: nothing, destroy: nothing, on: nothing }
  return { statusCode: 0, headersSent: false, writableEnded: false, destroyed: false, ...methods }
}

describe('the types', () => {
  it('accept what node:http passes', () => {
    const handler = toNodeHandler(receiver().handler)
    createServer(handler)
    const asRequest = (req: IncomingMessage): NodeRequest => req
    const asResponse = (res: ServerResponse): NodeResponse => res
    expect([asRequest, asResponse]).toHaveLength(2)
  })
})

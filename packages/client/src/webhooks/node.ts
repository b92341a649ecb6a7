/**
 * Puts a handler of `Request` and `Response` behind `node:http`, and what is built on it, such as
 * Express.
 *
 * It imports nothing of Node.js and declares the few members that it uses, so its declarations
 * need no package either. It is an entry point of its own all the same: on other runtimes nobody
 * gets it.
 *
 * The body is streamed as the handler asks for it. Where a body parser was there before, `req.body`
 * is taken instead, and only if the stream has been read: some parsers set it without reading.
 * There is one answer at most: none when the client has gone, or somebody else has answered.
 */
import { isOctets } from './check.ts'
import type { WebhookHandler } from './create-webhook-handler.ts'
import { WebhookError } from './webhook-error.ts'

/** What is used of `http.IncomingMessage`, and of an Express request. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly destroyed?: boolean
  readonly readableEnded?: boolean
  readonly readableDidRead?: boolean
  /** As a body parser left it. */
  readonly body?: unknown
  on(name: 'data', listener: (chunk: Uint8Array | string) => void): unknown
  on(name: 'end' | 'close', listener: () => void): unknown
  on(name: 'error', listener: (error: Error) => void): unknown
  removeListener(name: 'data', listener: (chunk: Uint8Array | string) => void): unknown
  pause(): unknown
  resume(): unknown
}

/** What is used of `http.ServerResponse`. */
export interface NodeResponse {
  statusCode: number
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly destroyed: boolean
  setHeader(name: string, value: string): unknown
  end(body: Uint8Array): unknown
  destroy(): unknown
  on(name: 'close', listener: () => void): unknown
  on(name: 'error', listener: (error: Error) => void): unknown
}

export type NodeHandler = (req: NodeRequest, res: NodeResponse) => Promise<void>

/** The promise resolves when the answer has been handed over; it never rejects. */
export function toNodeHandler(handler: WebhookHandler): NodeHandler {
  return async (req, res) => {
    if (!isOpen(res)) return
    const gone = new AbortController()
    res.on('close', () => gone.abort())
    // A connection that breaks while the answer is written is told by `close`.
    res.on('error', () => gone.abort())
    try {
      await write(res, await handler(toRequest(req, gone.signal)))
    } catch {
      // A webhook handler answers its own errors. What ends here is a request that fetch cannot
      // express, or a `req.body` that JSON cannot: never the fault of an event.
      await write(res, new Response(null, { status: 500 })).catch(() => res.destroy())
    }
  }
}

function isOpen(res: NodeResponse): boolean {
  return !res.headersSent && !res.writableEnded && !res.destroyed
}

async function write(res: NodeResponse, response: Response): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer())
  if (!isOpen(res)) return
  res.statusCode = response.status
  response.headers.forEach((value, name) => {
    res.setHeader(name, value)
  })
  res.end(body)
}

/** The address plays no part: where a webhook arrives is the server's affair. */
function toRequest(req: NodeRequest, signal: AbortSignal): Request {
  const { method = 'GET' } = req
  const headers = headersOf(req)
  const isBodiless = method === 'GET' || method === 'HEAD'
  if (isBodiless) return new Request('http://localhost/', { method, headers, signal })
  const init: StreamingInit = { method, headers, signal, body: bodyOf(req), duplex: 'half' }
  return new Request('http://localhost/', init)
}

/** Asked for by fetch where a body is a stream; the DOM's types do not have it. */
interface StreamingInit extends RequestInit {
  duplex: 'half'
}

function headersOf(req: NodeRequest): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(req.headers)) {
    // HTTP/2 has `:path` and the like among them.
    if (name.startsWith(':')) continue
    for (const value of [values ?? []].flat()) headers.append(name, value)
  }
  return headers
}

function bodyOf(req: NodeRequest): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | string {
  const wasRead = req.readableEnded === true || req.readableDidRead === true
  if (!wasRead) return streamOf(req)
  const { body } = req
  if (typeof body === 'string') return body
  if (isOctets(body)) return new Uint8Array(body)
  if (typeof body === 'object' && body !== null) return JSON.stringify(body)
  return broken(new WebhookError('interrupted', 'The body has been read, but is not in req.body'))
}

function broken(error: Error): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.error(error) })
}

/**
 * Nothing is asked of `req` before the handler reads; after that, one chunk at a time. What is left
 * when the handler has had enough is let go unread, so that the answer gets out on a connection
 * that is still being written to; how long that may go on is the server's `requestTimeout`.
 */
function streamOf(req: NodeRequest): ReadableStream<Uint8Array> {
  let onData: (chunk: Uint8Array | string) => void = () => undefined
  let isBegun = false
  let isOver = false
  const begin = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    isBegun = true
    const finish = (how: () => void) => {
      if (!isOver) how()
      isOver = true
    }
    const fail = (cause?: Error) => {
      const error = new WebhookError('interrupted', 'The client has gone', { cause })
      finish(() => controller.error(error))
    }
    onData = (chunk) => {
      req.pause()
      controller.enqueue(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk)
    }
    req.on('data', onData)
    req.on('end', () => finish(() => controller.close()))
    req.on('error', fail)
    req.on('close', () => fail())
    if (req.destroyed === true) fail()
  }
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (!isBegun) begin(controller)
        req.resume()
      },
      cancel() {
        isOver = true
        req.removeListener('data', onData)
        req.resume()
      },
    },
    { highWaterMark: 0 },
  )
}

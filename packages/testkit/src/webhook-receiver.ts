/**
 * A real HTTP(S) server on loopback that takes webhook requests, answers as it is told to, and keeps
 * every byte: header names in their case and order, bodies as they came.
 *
 * Unless told otherwise it answers 200. Answers come from a queue, one per request, or from a
 * function; either says a status, or in more detail what else a bad receiver may do.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { giveAnswer, type HttpAnswer } from './http-answer.ts'
import { listen } from './listen.ts'
import { createSignal } from './signal.ts'

export type WebhookScript = (request: WebhookRequest) => HttpAnswer | number | undefined
export type WebhookQueue = readonly (HttpAnswer | number)[]

export interface WebhookRequest {
  /** Counts from 1. */
  readonly request: number
  readonly connection: number
  readonly receivedAt: Date
  readonly method: string
  readonly path: string
  readonly httpVersion: string
  /** As sent: pairs of name and value, in order and case. */
  readonly rawHeaders: readonly (readonly [string, string])[]
  readonly body: Buffer
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown
  /** Of the first header of that name, whatever its case. */
  header(name: string): string | undefined
  readonly answer: HttpAnswer
  /** The answer was handed to the kernel as a whole. */
  readonly answerFlushed: boolean
}

export interface WebhookReceiverOptions {
  readonly port?: number
  readonly host?: string
  readonly tls?: { readonly key: string; readonly cert: string }
  readonly script?: WebhookScript | WebhookQueue
  /** Told before the answer is written. */
  readonly onRequest?: (request: WebhookRequest) => void
  /** Told when the whole answer has been handed to the kernel. */
  readonly onAnswered?: (request: WebhookRequest) => void
}

export interface WebhookReceiver {
  readonly host: string
  readonly port: number
  /** `http://127.0.0.1:1234`, without a path. */
  readonly origin: string
  readonly requests: readonly WebhookRequest[]
  /** How many connections were opened, with or without a request on them. */
  readonly connections: number
  /** A queue replaces what is left of the one before it. */
  setScript(script: WebhookScript | WebhookQueue | undefined): void
  waitForRequests(count: number, timeoutMs?: number): Promise<readonly WebhookRequest[]>
  /** Resolves with the first request that fits, past or to come. */
  waitFor(fits: (request: WebhookRequest) => boolean, timeoutMs?: number): Promise<WebhookRequest>
  /** Resolves once the condition holds; it is looked at after every request. */
  waitUntil(
    isMet: (requests: readonly WebhookRequest[]) => boolean,
    timeoutMs?: number,
  ): Promise<void>
  clear(): void
  close(): Promise<void>
}

export async function createWebhookReceiver(
  o: WebhookReceiverOptions = {},
): Promise<WebhookReceiver> {
  const host = o.host ?? '127.0.0.1'
  const changed = createSignal()
  const requests: WebhookRequest[] = []
  const sockets = new Map<Socket, number>()
  const timers = new Set<NodeJS.Timeout>()
  let ask = toScript(o.script)
  let connections = 0
  let lastRequest = 0

  const onRequest = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(incoming)
    // A request that was cut off is no request.
    if (body === undefined) return
    lastRequest += 1
    const request = toRequest(incoming, body, lastRequest, sockets.get(incoming.socket) ?? 0)
    const said = ask(request)
    request.answer = typeof said === 'number' ? { status: said } : (said ?? { status: 200 })
    requests.push(request)
    o.onRequest?.(request)
    changed.notify()
    response.once('finish', () => {
      request.answerFlushed = true
      o.onAnswered?.(request)
      changed.notify()
    })
    await giveAnswer(request.answer, incoming.socket, response, timers)
  }

  const listener = (incoming: IncomingMessage, response: ServerResponse): void => {
    onRequest(incoming, response).catch((error: Error) => response.destroy(error))
  }
  const server: Server = o.tls ? createTlsServer(o.tls, listener) : createServer(listener)
  server.on(o.tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections += 1
    sockets.set(socket, connections)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
  })
  const rawSockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    rawSockets.add(socket)
    socket.once('close', () => rawSockets.delete(socket))
  })
  const port = await listen(server, o.port ?? 0, host)

  const describe = (): string =>
    `${requests.length} requests:\n${requests.map((one) => `${one.method} ${one.path} ${one.body.toString('utf8', 0, 2000)}`).join('\n')}`

  return {
    host,
    port,
    origin: `${o.tls ? 'https' : 'http'}://${host}:${port}`,
    requests,
    get connections() {
      return connections
    },
    setScript(script) {
      ask = toScript(script)
    },
    async waitForRequests(count, timeoutMs) {
      await changed.until(() => requests.length >= count, {
        timeoutMs,
        describe: () => `waited for ${count}; ${describe()}`,
      })
      return requests
    },
    async waitFor(fits, timeoutMs) {
      let found: WebhookRequest | undefined
      const look = (): boolean => {
        found = requests.find(fits)
        return found !== undefined
      }
      await changed.until(look, { timeoutMs, describe: () => `none fits among ${describe()}` })
      if (found === undefined) throw new Error('no request fits')
      return found
    },
    waitUntil: (isMet, timeoutMs) =>
      changed.until(() => isMet(requests), {
        timeoutMs,
        describe: () => `condition not met by ${describe()}`,
      }),
    clear() {
      requests.length = 0
    },
    async close() {
      changed.close('the webhook receiver was closed')
      for (const timer of timers) clearInterval(timer)
      for (const socket of rawSockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function toScript(script: WebhookScript | WebhookQueue | undefined): WebhookScript {
  if (typeof script === 'function') return script
  const queue = [...(script ?? [])]
  return () => queue.shift()
}

function readBody(incoming: IncomingMessage): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => resolve(Buffer.concat(chunks)))
    incoming.on('error', () => resolve(undefined))
    incoming.on('close', () => resolve(undefined))
  })
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

function toRequest(
  incoming: IncomingMessage,
  body: Buffer,
  request: number,
  connection: number,
): Writable<WebhookRequest> {
  const rawHeaders: [string, string][] = []
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    rawHeaders.push([incoming.rawHeaders[i] ?? '', incoming.rawHeaders[i + 1] ?? ''])
  }
  return {
    request,
    connection,
    receivedAt: new Date(),
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    httpVersion: incoming.httpVersion,
    rawHeaders,
    body,
    json: parseJson(body),
    header: (name) => rawHeaders.find(([given]) => given.toLowerCase() === name.toLowerCase())?.[1],
    answer: {},
    answerFlushed: false,
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

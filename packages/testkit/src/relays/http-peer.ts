/**
 * The HTTP part of a relay provider's fake: takes requests whole, keeps them, and answers by the
 * book or, where a script says so, otherwise.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { giveAnswer, type HttpAnswer } from '../http-answer.ts'
import { listen } from '../listen.ts'
import { createSignal } from '../signal.ts'

export interface PeerRequest {
  /** Counts from 1. */
  readonly n: number
  readonly method: string
  /** Without query and final slash. */
  readonly path: string
  readonly query: URLSearchParams
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer
  /** The body as JSON; undefined when it is none. */
  readonly json: unknown
  /** What it was answered by the book; undefined where a script answered in its place. */
  readonly status: number | undefined
}

export interface PeerReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** As JSON; empty without. */
  readonly json?: unknown
}

export interface ScriptedAnswer extends HttpAnswer {
  /** In place of a body. */
  readonly json?: unknown
  /** The request is carried out all the same: its answer alone is another, lost, or only comes `after`. */
  readonly isCarriedOut?: boolean
}

export type PeerScript = (
  request: PeerRequest,
) => ScriptedAnswer | undefined | Promise<ScriptedAnswer | undefined>

export interface HttpPeer {
  readonly origin: string
  readonly requests: readonly PeerRequest[]
  /** How many requests were cut off before their bodies were read. */
  readonly cutOff: number
  setScript(script: PeerScript | undefined): void
  /** Connections of so many requests are cut once their headers have come. */
  cutBodies(count: number): void
  waitUntil(isMet: () => boolean, timeoutMs?: number): Promise<void>
  /** Looks again whether what is waited for has come. */
  notify(): void
  close(): Promise<void>
}

type Changeable = { -readonly [K in keyof PeerRequest]: PeerRequest[K] }

/** `takeUp` carries a request out and says the answer. */
export async function createHttpPeer(
  takeUp: (request: PeerRequest) => PeerReply | Promise<PeerReply>,
): Promise<HttpPeer> {
  const requests: PeerRequest[] = []
  const sockets = new Set<Socket>()
  const timers = new Set<NodeJS.Timeout>()
  const changed = createSignal()
  let script: PeerScript | undefined
  let toCut = 0
  let cutOff = 0

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (toCut > 0) {
      toCut -= 1
      cutOff += 1
      incoming.socket.resetAndDestroy()
      changed.notify()
      return
    }
    const request = await readRequest(incoming, requests.length + 1)
    requests.push(request)
    const said = await script?.(request)
    const reply =
      said === undefined || said.isCarriedOut === true ? await takeUp(request) : undefined
    const isByTheBook = said === undefined || (reply !== undefined && saysNothing(said))
    if (isByTheBook) request.status = reply?.status
    changed.notify()
    if (reply !== undefined && isByTheBook) {
      await said?.after
      writeReply(response, reply)
    } else if (said !== undefined) {
      await giveAnswer(toHttpAnswer(said), incoming.socket, response, timers)
    }
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: Error) => response.destroy(error))
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
  })
  const port = await listen(server)

  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    get cutOff() {
      return cutOff
    },
    setScript(next) {
      script = next
    },
    cutBodies(count) {
      toCut = count
    },
    waitUntil: (isMet, timeoutMs) =>
      changed.until(isMet, {
        timeoutMs,
        describe: () =>
          `condition not met by ${requests.length} requests:\n${requests.map(describe).join('\n')}`,
      }),
    notify: changed.notify,
    async close() {
      changed.close('the provider was closed')
      for (const timer of timers) clearInterval(timer)
      for (const socket of sockets) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

export function isJsonType({ headers }: PeerRequest): boolean {
  const [type = ''] = String(headers['content-type'] ?? '').split(';', 1)
  return type.trim().toLowerCase() === 'application/json'
}

function saysNothing({ status, ending, endless }: ScriptedAnswer): boolean {
  return status === undefined && ending === undefined && endless === undefined
}

function describe({ method, path, status, body }: PeerRequest): string {
  return `${method} ${path} ${status ?? 'scripted'} ${body.toString('utf8', 0, 2000)}`
}

async function readRequest(incoming: IncomingMessage, n: number): Promise<Changeable> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const url = new URL(incoming.url ?? '/', 'http://provider.test')
  return {
    n,
    method: incoming.method ?? '',
    path: url.pathname.replace(/\/$/, ''),
    query: url.searchParams,
    headers: incoming.headers,
    body,
    json: parseJson(body),
    status: undefined,
  }
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

function writeReply(response: ServerResponse, { status, headers, json }: PeerReply): void {
  const type = json === undefined ? {} : { 'content-type': 'application/json' }
  response
    .writeHead(status, { ...type, ...headers })
    .end(json === undefined ? undefined : JSON.stringify(json))
}

function toHttpAnswer({ json, isCarriedOut: _carried, ...answer }: ScriptedAnswer): HttpAnswer {
  if (json === undefined) return answer
  const headers = { 'content-type': 'application/json', ...answer.headers }
  return { ...answer, headers, body: JSON.stringify(json) }
}

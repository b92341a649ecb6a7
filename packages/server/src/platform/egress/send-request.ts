/**
 * One HTTP request over a pool, bounded in everything the peer controls: one absolute deadline for
 * the whole, the bytes read of the answer, its header block, and the number of 1xx responses.
 *
 * A kept connection may have been closed by the peer before our bytes reached it: nothing was wrong
 * with the peer then. When such a one ends without a byte of an answer, the error says so (`wasKept`),
 * and the next request goes out on a new connection. It is not repeated here: the peer may have read it
 * all the same, and a caller that counts requests has to know of each.
 *
 * Redirects are answers like any other, never followed. Bodies are not inflated. Header names keep
 * the caller's spelling.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { Connection } from './connector.ts'
import { EgressError, type RequestTimings, systemCodeOf } from './egress-error.ts'
import type { HttpPools, PoolEntry } from './http-pools.ts'
import { isRefusedPort, portOf } from './refused-ports.ts'
import { withDeadline } from './with-deadline.ts'

const CONNECT_TIMEOUT_MS = 5_000
const BODY_BYTES_MAX = 16 * 1024
const BODY_KEPT_BYTES_MAX = 4 * 1024
const INTERIM_RESPONSES_MAX = 20
const SLICE_BYTES = 256 * 1024

export interface RequestOptions {
  /** Who the connection belongs to: connections are reused within one key and origin only. */
  readonly poolKey: string
  readonly url: string | URL
  readonly method: 'POST' | 'GET' | 'PUT' | 'DELETE'
  readonly headers: Readonly<Record<string, string>> | readonly (readonly [string, string])[]
  readonly body?: string | Buffer | undefined
  /** From the call to the last byte of the answer. */
  readonly timeoutMs: number
  readonly connectTimeoutMs?: number | undefined
  /** Read at most; the connection is then dropped, the answer stands. */
  readonly bodyBytesMax?: number | undefined
  /** Returned at most. */
  readonly bodyKeptBytesMax?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The beginning of the body as well-formed text. */
  readonly body: string
  readonly timings: RequestTimings
}

export async function sendRequest(pools: HttpPools, o: RequestOptions): Promise<HttpAnswer> {
  const url = parseUrl(o.url)
  const connectTimeoutMs = Math.min(o.connectTimeoutMs ?? CONNECT_TIMEOUT_MS, o.timeoutMs)
  const startedAt = performance.now()
  return await withDeadline({ ...o, what: 'the request' }, async (signal) => {
    const entry = pools.acquire(o.poolKey, url, connectTimeoutMs)
    try {
      return await exchange(entry, url, o, { signal, startedAt })
    } catch (error) {
      if (error instanceof EgressError && error.wasKept) pools.renew(o.poolKey, url)
      throw error
    } finally {
      pools.release(entry)
    }
  })
}

function exchange(
  entry: PoolEntry,
  url: URL,
  o: RequestOptions,
  { signal, startedAt }: { readonly signal: AbortSignal; readonly startedAt: number },
): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const kept = new Map([...entry.readUntil.keys()].map((socket) => [socket, socket.bytesRead]))
    const sinceStart = () => Math.round(performance.now() - startedAt)
    const timings: RequestTimings = { totalMs: 0 }
    const bytesMax = o.bodyBytesMax ?? BODY_BYTES_MAX
    const chunks: Buffer[] = []
    let bytes = 0
    let interim = 0
    let isOnKept = false
    let isWritten = false
    const body = typeof o.body === 'string' ? Buffer.from(o.body) : o.body
    const isSliced = body !== undefined && body.length > SLICE_BYTES
    let status: number | undefined
    let headers: IncomingHttpHeaders = {}
    let controller: Dispatcher.DispatchController | undefined
    let isSettled = false

    const settle = (error?: EgressError) => {
      if (isSettled) return
      isSettled = true
      signal.removeEventListener('abort', abort)
      timings.totalMs = sinceStart()
      if (error === undefined && status !== undefined) {
        const kept = Buffer.concat(chunks).subarray(0, o.bodyKeptBytesMax ?? BODY_KEPT_BYTES_MAX)
        resolve({ status, headers, body: wellFormedText(kept), timings })
        return
      }
      const failure = error ?? new EgressError('protocol', 'the answer ended before it began')
      if (isOnKept && failure.code === 'reset' && isWithoutAnswer(kept)) failure.wasKept = true
      if (isWritten) failure.wasWritten = true
      if (status !== undefined) failure.status = status
      failure.timings = timings
      reject(failure)
    }
    const stop = (error?: EgressError) => {
      settle(error)
      controller?.abort(error ?? new Error('enough of the answer has been read'))
    }
    const abort = () => stop(signal.reason)
    signal.addEventListener('abort', abort, { once: true })

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (isSettled) return started.abort(new Error('the request was given up'))
        isWritten = !isSliced // by undici, as soon as this returns
        const { fresh } = entry
        entry.fresh = undefined
        isOnKept = fresh === undefined
        if (fresh !== undefined) Object.assign(timings, timingsOf(fresh))
      },
      onResponseStart(_controller, statusCode, responseHeaders) {
        if (statusCode >= 200) {
          status = statusCode
          headers = responseHeaders
          timings.firstByteMs = sinceStart()
          return
        }
        interim += 1
        if (interim > INTERIM_RESPONSES_MAX) {
          stop(new EgressError('protocol', 'the server sends interim responses without end'))
        }
      },
      onResponseData(_controller, chunk) {
        if (isSettled) return
        chunks.push(chunk.subarray(0, bytesMax - bytes))
        bytes += chunk.length
        if (bytes >= bytesMax) stop()
      },
      // undici frees the connection one loop turn later: a caller that goes on at once must find it.
      onResponseEnd: () => queueMicrotask(() => setImmediate(settle)),
      onResponseError: (_controller, error) => settle(requestFailed(error)),
    }

    try {
      entry.pool.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: o.method,
          headers: isSliced
            ? [...headerList(o.headers), 'content-length', String(body.length)]
            : headerList(o.headers),
          body: isSliced ? slices(body, () => (isWritten = true)) : (body ?? null),
        },
        handler,
      )
    } catch (error) {
      settle(requestFailed(error))
    }
  })
}

function timingsOf({ dnsMs, connectMs, tlsMs }: Connection): Partial<RequestTimings> {
  return { dnsMs, connectMs, ...(tlsMs === undefined ? {} : { tlsMs }) }
}

/**
 * A large body goes out slice by slice, each when the one before it has left: it is not in memory once
 * more, and a request that ends before its last slice is surely not one that the peer has read.
 */
function slices(body: Buffer, onLast: () => void): Readable {
  function* generate() {
    for (let start = 0; start < body.length; start += SLICE_BYTES) {
      if (start + SLICE_BYTES >= body.length) onLast()
      yield body.subarray(start, start + SLICE_BYTES)
    }
  }
  // undici takes any iterable; its types do not say so. A stream would read ahead.
  return generate() as Iterable<Buffer> as unknown as Readable
}

/** Of the connections that were kept, those that have ended since brought nothing more. */
function isWithoutAnswer(kept: ReadonlyMap<Socket, number>): boolean {
  const ended = [...kept].filter(([socket]) => socket.destroyed)
  return ended.length > 0 && ended.every(([socket, bytesRead]) => socket.bytesRead === bytesRead)
}

function parseUrl(given: string | URL): URL {
  const url = typeof given === 'string' ? URL.parse(given) : given
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new EgressError('protocol', 'not an http URL')
  }
  if (url.username !== '' || url.password !== '') {
    throw new EgressError('protocol', 'the URL holds credentials')
  }
  if (isRefusedPort(portOf(url))) {
    throw new EgressError('protocol', `port ${portOf(url)} is not for HTTP`)
  }
  return url
}

function headerList(headers: RequestOptions['headers']): string[] {
  const pairs = Array.isArray(headers) ? headers : Object.entries(headers)
  return pairs.flat()
}

function requestFailed(cause: unknown): EgressError {
  if (cause instanceof EgressError) return cause
  const systemCode = systemCodeOf(cause)
  const o = { systemCode, cause }
  if (systemCode === 'UND_ERR_HEADERS_OVERFLOW') {
    return new EgressError('too_large', 'the header block of the answer is too large', o)
  }
  if (systemCode === 'UND_ERR_DESTROYED' || systemCode === 'UND_ERR_CLOSED') {
    return new EgressError('aborted', 'the service is stopping', o)
  }
  if (isUnreadable(cause) || /^UND_ERR_(INVALID|RES|REQ|NOT_SUPPORTED)/.test(systemCode ?? '')) {
    return new EgressError('protocol', 'the exchange is not valid HTTP', o)
  }
  const inner = cause instanceof Error ? systemCodeOf(cause.cause) : undefined
  return new EgressError('reset', 'the connection was closed before the answer was complete', {
    systemCode: inner ?? systemCode,
    cause,
  })
}

/**
 * An answer that the parser gave up. For a 1xx out of turn undici has neither a code nor a name: it
 * is a failed assertion, or a socket error with one of these texts.
 */
function isUnreadable(cause: unknown): boolean {
  if (!(cause instanceof Error)) return false
  if (cause.name === 'HTTPParserError' || systemCodeOf(cause) === 'ERR_ASSERTION') return true
  return cause.message === 'bad upgrade' || cause.message === 'bad response'
}

function wellFormedText(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
}

/**
 * Sends the request of an operation: prepares it once, tries it within its deadlines, repeats it
 * where that is safe (contract §2, §6).
 *
 * Every attempt of one operation is the same request, byte for byte and under the same
 * `Idempotency-Key`. Each attempt has `timeout`; the whole operation has as much for every
 * attempt that it may make, and one minute for the waits between them.
 */
import { readAnswer } from './answer.ts'
import { runAttempt } from './attempt.ts'
import { abortedBy, invalidArgument, PostriderError } from './errors.ts'
import { openStream } from './open-stream.ts'
import { fillPath, queryOf } from './path.ts'
import { decideRetry } from './retry.ts'
import { timeText } from './times.ts'

export interface RequestOptions {
  /** Ends the operation at once, also while it waits for its next attempt. */
  readonly signal?: AbortSignal
  /** Milliseconds for each attempt, in place of the client's. */
  readonly timeout?: number
  /** Names this request for 24 hours: the service carries out only one with the same key. */
  readonly idempotencyKey?: string
  /** Further headers, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Parameters in braces. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  /** Whether the service honours `Idempotency-Key` here, so that a POST may be repeated. */
  readonly honoursIdempotencyKey?: boolean
  /** Of a POST: carried out twice it has done the same as once. Other methods always are so. */
  readonly isIdempotent?: boolean
}

/** The one function that resources are built on. */
export type Send = <Answer>(call: Call, options?: RequestOptions) => Promise<Answer>

export interface SendDeps {
  readonly apiKey: string
  readonly basePath: string
  readonly timeoutMs: number
  readonly retriesMax: number
  readonly fetch: typeof globalThis.fetch
  readonly random: () => number
  /** A clock that is never set. */
  readonly nowMs: () => number
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

const waitsMsMax = 60_000
/** The longest that timers take. */
const timeoutMsMax = 2 ** 31 - 1
const ownHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'accept',
  'content-type',
  'idempotency-key',
])

export function createSend(deps: SendDeps): Send {
  return async <Answer>(call: Call, options: RequestOptions = {}): Promise<Answer> => {
    const request = prepare(deps, call, options)
    const { signal } = options
    const endsAtMs = deps.nowMs() + request.timeoutMs * (deps.retriesMax + 1) + waitsMsMax
    for (let attempts = 1; ; attempts += 1) {
      const leftMs = endsAtMs - deps.nowMs()
      const timeoutMs = Math.max(1, Math.min(request.timeoutMs, leftMs, timeoutMsMax))
      try {
        const answer = await runAttempt({ ...request, fetch: deps.fetch, timeoutMs, signal })
        // The contract's type of this operation; only `success` is checked here.
        return readAnswer(answer, Date.now()) as Answer
      } catch (error) {
        if (!(error instanceof PostriderError)) throw error
        const waitMs = decideRetry({
          error,
          attempts,
          retriesMax: deps.retriesMax,
          isRepeatable: request.isRepeatable,
          remainingMs: endsAtMs - deps.nowMs(),
          random: deps.random(),
        })
        if (waitMs === undefined) throw error
        await deps.wait(waitMs, signal)
      }
    }
  }
}

/** Begins to take a text as it comes; never repeated. */
export type Open = (call: Call, options?: RequestOptions) => Promise<ReadableStream<Uint8Array>>

export function createOpen(deps: SendDeps): Open {
  return async (call, options = {}) => {
    const { url, headers, timeoutMs } = prepare(deps, call, options)
    headers.set('accept', '*/*')
    return await openStream({ url, headers, timeoutMs, fetch: deps.fetch, signal: options.signal })
  }
}

function prepare(deps: SendDeps, call: Call, options: RequestOptions) {
  return {
    url: deps.basePath + fillPath(call.path, call.parameters ?? {}) + queryOf(call.query ?? {}),
    method: call.method,
    headers: headersOf(deps.apiKey, call, options),
    body: call.method === 'GET' ? undefined : serialize(call.body),
    timeoutMs:
      options.timeout === undefined
        ? deps.timeoutMs
        : checkTimeout(options.timeout, invalidArgument),
    isRepeatable:
      call.method !== 'POST' ||
      call.isIdempotent === true ||
      (call.honoursIdempotencyKey === true && options.idempotencyKey !== undefined),
  }
}

function headersOf(apiKey: string, call: Call, options: RequestOptions): Headers {
  const headers = new Headers()
  try {
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
  } catch (error) {
    throw invalidArgument('headers hold a name or value that HTTP does not allow', error)
  }
  for (const name of ownHeaders) {
    if (headers.has(name)) throw invalidArgument(`headers must not set ${name}`)
  }
  headers.set('authorization', `Bearer ${apiKey}`)
  headers.set('accept', 'application/json')
  if (call.body !== undefined) headers.set('content-type', 'application/json')
  if (options.idempotencyKey !== undefined) {
    if (!/^[\x21-\x7e]{1,255}$/.test(options.idempotencyKey)) {
      throw invalidArgument('idempotencyKey must be 1 to 255 visible ASCII characters')
    }
    headers.set('idempotency-key', options.idempotencyKey)
  }
  return headers
}

function serialize(body: unknown): string | undefined {
  if (body === undefined) return undefined
  try {
    return JSON.stringify(body, refuseInvalidDates)
  } catch (error) {
    if (error instanceof PostriderError) throw error
    throw invalidArgument('The payload cannot be written as JSON', error)
  }
}

/** Called with what holds the member: the value is text by now, or null. */
function refuseInvalidDates(this: unknown, name: string, value: unknown): unknown {
  const given = (this as Readonly<Record<string, unknown>>)[name]
  return given instanceof Date ? timeText(name, given) : value
}

export function checkTimeout(timeoutMs: number, refuse: (message: string) => Error): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= timeoutMsMax) return timeoutMs
  throw refuse(`timeout must be a number of milliseconds from 1 to ${timeoutMsMax}`)
}

/** Waits, or rejects as soon as the signal is aborted. */
export function waitUnlessAborted(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(abortedBy(signal))
      return
    }
    const onAbort =
      signal &&
      (() => {
        clearTimeout(timer)
        reject(abortedBy(signal))
      })
    const timer = setTimeout(() => {
      if (onAbort) signal.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (onAbort) signal.addEventListener('abort', onAbort, { once: true })
  })
}

/**
 * Sends the request of an operation: prepares it once, tries it within its deadlines, repeats it
 * where that is safe (docs/reference/client.md#failures).
 *
 * Every attempt of one operation is the same request, byte for byte and under the same
 * `Idempotency-Key`. Each attempt has `timeout`; the whole operation has as much for every
 * attempt that it may make, and `maxRetryAfter` for the waits between them.
 */
import { readAnswer } from './answer.ts'
import {
  type AnswerPromise,
  answerPromise,
  type WithResponse,
  withRequestId,
} from './answer-promise.ts'
import { runAttempt } from './attempt.ts'
import { abortedBy, invalidArgument, PostriderError } from './errors.ts'
import { type ByteStream, openStream, type StreamInput } from './open-stream.ts'
import { type Limits, type RequestOptions, readRequestLimits, timerMsMax } from './options.ts'
import { fillPath, queryOf } from './path.ts'
import { decideRetry } from './retry.ts'
import { timeText } from './times.ts'

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Parameters in braces. */
  readonly path: string
  readonly parameters?: Readonly<Record<string, string>>
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, unknown>> | undefined
  readonly body?: unknown
  /** In place of a JSON body: a file, sent as it is. */
  readonly upload?: { readonly type: string; readonly file: Upload }
  /** In place of parameters and body: the path takes its parameters out of it, the rest is the body. */
  readonly input?: object
  /** Whether the service honours `Idempotency-Key` here, so that a POST may be repeated. */
  readonly honoursIdempotencyKey?: boolean
  /** Of a POST: carried out twice it has done the same as once. Other methods always are so. */
  readonly isIdempotent?: boolean
}

/** What can be sent a second time. */
export type Upload = string | Uint8Array<ArrayBuffer> | Blob

export type Send = <Answer>(call: Call, options?: RequestOptions) => AnswerPromise<Answer>

/** Begins to take an answer as it comes. */
export type Open = (call: Call, options?: RequestOptions) => AnswerPromise<ByteStream>

export interface SendDeps extends Limits {
  /** Undefined: the cookie of a session. */
  readonly apiKey: string | undefined
  readonly tenant?: string | undefined
  readonly basePath: string
  readonly userAgent: string | undefined
  readonly fetch: typeof globalThis.fetch
  readonly random: () => number
  /** A clock that is never set. */
  readonly nowMs: () => number
  readonly wait: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

const ownHeaders: ReadonlySet<string> = new Set([
  'authorization',
  'accept',
  'content-type',
  'idempotency-key',
  'x-postrider-session',
])

export function createSend(deps: SendDeps): Send {
  return <Answer>(call: Call, options?: RequestOptions) =>
    answerPromise(
      repeat(deps, call, options, async (input) => {
        const { response, text } = await runAttempt(input)
        const { status, headers } = response
        // The contract's type of this operation; only `success` is checked here.
        const data = readAnswer({ status, headers, text }, Date.now()) as Answer
        return withRequestId(response, data)
      }),
    )
}

export function createOpen(deps: SendDeps): Open {
  return (call, options) =>
    answerPromise(
      repeat(deps, call, options, (input) => {
        input.headers.set('accept', '*/*')
        return openStream(input)
      }),
    )
}

async function repeat<Data>(
  deps: SendDeps,
  call: Call,
  options: RequestOptions = {},
  attempt: (input: StreamInput) => Promise<WithResponse<Data>>,
): Promise<WithResponse<Data>> {
  const limits = readRequestLimits(options, deps)
  const { isRepeatable, ...request } = prepare(deps, call, options)
  const { retriesMax, retryAfterMsMax } = limits
  const { signal } = options
  const endsAtMs = deps.nowMs() + limits.timeoutMs * (retriesMax + 1) + retryAfterMsMax
  for (let attempts = 1; ; attempts += 1) {
    const leftMs = endsAtMs - deps.nowMs()
    const timeoutMs = Math.max(1, Math.min(limits.timeoutMs, leftMs, timerMsMax))
    try {
      const { idleTimeoutMs } = limits
      return await attempt({ ...request, fetch: deps.fetch, timeoutMs, idleTimeoutMs, signal })
    } catch (error) {
      if (!(error instanceof PostriderError)) throw error
      const waitMs = decideRetry({
        ...{ error, attempts, retriesMax, retryAfterMsMax, isRepeatable },
        remainingMs: endsAtMs - deps.nowMs(),
        random: deps.random(),
      })
      if (waitMs === undefined) throw error
      await deps.wait(waitMs, signal)
    }
  }
}

function prepare(deps: SendDeps, call: Call, options: RequestOptions) {
  const { method, path, query = {} } = call
  // Programs that no compiler checks: without its payload it would be another request.
  for (const name of ['body', 'input'] as const)
    if (name in call && (call[name] ?? undefined) === undefined)
      throw invalidArgument('The payload is missing')
  const { upload } = call
  if ('upload' in call && (upload?.file ?? undefined) === undefined)
    throw invalidArgument('The file is missing')
  const { parameters, body } = call.input === undefined ? call : divide(path, call.input)
  return {
    url: deps.basePath + prefixOf(deps, path) + fillPath(path, parameters ?? {}) + queryOf(query),
    // Of a fetch to another origin, too: the service may be at a name beside that of the page.
    ...(deps.apiKey === undefined && { credentials: 'include' as const }),
    method,
    headers: headersOf(deps, upload?.type ?? (body === undefined ? undefined : JSON_TYPE), options),
    body: method === 'GET' ? undefined : (upload?.file ?? serialize(body)),
    isRepeatable:
      method !== 'POST' ||
      call.isIdempotent === true ||
      (call.honoursIdempotencyKey === true && options.idempotencyKey !== undefined),
  }
}

/** A session calls operations under a prefix, and what is its own without one. */
function prefixOf({ apiKey }: SendDeps, path: string): string {
  return apiKey === undefined && !path.startsWith('/ui/') ? '/ui/api' : ''
}

function divide(path: string, input: object): Pick<Call, 'parameters' | 'body'> {
  const entries = Object.entries(input)
  const isNamed = ([name]: [string, unknown]) => path.includes(`{${name}}`)
  return {
    parameters: Object.fromEntries(entries.filter(isNamed)),
    body: Object.fromEntries(entries.filter((entry) => !isNamed(entry))),
  }
}

const JSON_TYPE = 'application/json'

function headersOf(
  deps: SendDeps,
  contentType: string | undefined,
  options: RequestOptions,
): Headers {
  const headers = new Headers()
  if (deps.userAgent !== undefined) headers.set('user-agent', deps.userAgent)
  try {
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value)
  } catch (error) {
    throw invalidArgument('headers hold a name or value that HTTP does not allow', error)
  }
  for (const name of ownHeaders) {
    if (headers.has(name)) throw invalidArgument(`headers must not set ${name}`)
  }
  if (deps.apiKey === undefined) headers.set('x-postrider-session', '1')
  else headers.set('authorization', `Bearer ${deps.apiKey}`)
  if (deps.tenant !== undefined && !headers.has('x-postrider-tenant'))
    headers.set('x-postrider-tenant', deps.tenant)
  headers.set('accept', JSON_TYPE)
  if (contentType !== undefined) headers.set('content-type', contentType)
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

/**
 * Options of the client, and of one call in place of the client's. A name that is not known is
 * refused: a misspelt one would change nothing, and nobody would know.
 */
import { invalidArgument } from './errors.ts'

export interface PostriderOptions {
  /** Required, unless there is a `session`. */
  readonly apiKey?: string | undefined
  /**
   * In a page of the dashboard: the cookie of createSession takes the place of a key. Give no `apiKey` then.
   */
  readonly session?: boolean | undefined
  /** The tenant that a session, or the operator's token as `apiKey`, acts for. */
  readonly tenant?: string | undefined
  /**
   * Base URL of the API. When left out: with a session the origin of the page, else
   * `http://127.0.0.1:8080`.
   */
  readonly basePath?: string | undefined
  /** Milliseconds for each attempt, of a stream until its first bytes; 30,000 when left out. */
  readonly timeout?: number | undefined
  /** Milliseconds that the reader of a stream waits for the next bytes; 60,000 when left out. */
  readonly idleTimeout?: number | undefined
  /** Further attempts after the first; 2 when left out. */
  readonly maxRetries?: number | undefined
  /** The longest `Retry-After` that is waited for, in milliseconds; 60,000 when left out. */
  readonly maxRetryAfter?: number | undefined
  /** In place of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined
}

export interface RequestOptions {
  /** Ends the operation at once, also while it waits for its next attempt or its stream is read. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt, in place of the client's. */
  readonly timeout?: number | undefined
  /** Milliseconds that the reader of a stream waits for the next bytes, in place of the client's. */
  readonly idleTimeout?: number | undefined
  /** Further attempts after the first, in place of the client's. */
  readonly maxRetries?: number | undefined
  /** The longest `Retry-After` that is waited for, in milliseconds, in place of the client's. */
  readonly maxRetryAfter?: number | undefined
  /** Names this request for 24 hours: the service carries out only one with the same key. */
  readonly idempotencyKey?: string | undefined
  /** Further headers, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** What the client and one call of it may both set, checked. */
export interface Limits {
  readonly timeoutMs: number
  readonly idleTimeoutMs: number
  readonly retriesMax: number
  readonly retryAfterMsMax: number
}

export const defaultBasePath = 'http://127.0.0.1:8080'
export const defaultLimits: Limits = {
  timeoutMs: 30_000,
  idleTimeoutMs: 60_000,
  retriesMax: 2,
  retryAfterMsMax: 60_000,
}

/** The longest that timers take. */
export const timerMsMax = 2 ** 31 - 1

const limitNames = ['timeout', 'idleTimeout', 'maxRetries', 'maxRetryAfter'] as const
const clientNames = ['apiKey', 'session', 'tenant', 'basePath', 'fetch', ...limitNames]
const requestNames = ['signal', 'idempotencyKey', 'headers', ...limitNames]

type Refuse = (message: string) => Error
type Given = Pick<RequestOptions, (typeof limitNames)[number]>

export function readClientOptions(options: PostriderOptions) {
  checkNames(options, clientNames, typeError)
  return {
    apiKey: options.session === true ? checkNoKey(options.apiKey) : checkApiKey(options.apiKey),
    tenant: checkTenant(options.tenant),
    basePath: checkBasePath(options.basePath ?? defaultBasePathOf(options)),
    fetch: checkFetch(options.fetch),
    ...readLimits(options, defaultLimits, typeError),
  }
}

/** What the call leaves out is the client's. */
export function readRequestLimits(options: RequestOptions, limits: Limits): Limits {
  checkNames(options, requestNames, invalidArgument)
  return readLimits(options, limits, invalidArgument)
}

function readLimits(given: Given, limits: Limits, refuse: Refuse): Limits {
  const milliseconds = (name: keyof Given, least: number, fallback: number): number => {
    const value = given[name] ?? fallback
    // The least itself is no time-out, but a Retry-After may be.
    if (typeof value === 'number' && value >= least && value <= timerMsMax) return value
    throw refuse(`${name} must be a number of milliseconds from ${least} to ${timerMsMax}`)
  }
  return {
    timeoutMs: milliseconds('timeout', 1, limits.timeoutMs),
    idleTimeoutMs: milliseconds('idleTimeout', 1, limits.idleTimeoutMs),
    retriesMax: checkRetries(given.maxRetries ?? limits.retriesMax, refuse),
    retryAfterMsMax: milliseconds('maxRetryAfter', 0, limits.retryAfterMsMax),
  }
}

function checkNames(options: object, known: readonly string[], refuse: Refuse): void {
  const unknown = Object.keys(options).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw refuse(`There is no option ${unknown}; there are ${known.join(', ')}`)
}

/** The service is where the page came from. */
function defaultBasePathOf({ session }: PostriderOptions): string {
  const { location } = globalThis as { readonly location?: { readonly origin?: string } }
  return (session === true ? location?.origin : undefined) ?? defaultBasePath
}

/** A page must not hold a key. */
function checkNoKey(apiKey: unknown): undefined {
  if (apiKey === undefined) return undefined
  throw typeError('apiKey and session exclude each other')
}

function checkTenant(tenant: unknown): string | undefined {
  if (tenant === undefined) return undefined
  if (typeof tenant === 'string' && /^[\x21-\x7e]+$/.test(tenant)) return tenant
  throw typeError('tenant must be the id of a tenant')
}

/** What HTTP would refuse is refused here, where the message does not show the key. */
function checkApiKey(apiKey: unknown): string {
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw typeError('apiKey must be a non-empty string of visible ASCII characters')
}

function checkBasePath(basePath: unknown): string {
  const url = typeof basePath === 'string' && URL.canParse(basePath) ? new URL(basePath) : undefined
  const isHttp = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (!url || !isHttp || url.username || url.password || url.search || url.hash) {
    throw typeError('basePath must be an http or https URL without credentials, query and fragment')
  }
  return (url.origin + url.pathname).replace(/\/+$/, '')
}

function checkFetch(fetch: unknown): typeof globalThis.fetch {
  if (fetch === undefined) return (input, init) => globalThis.fetch(input, init)
  if (typeof fetch === 'function') return fetch as typeof globalThis.fetch
  throw typeError('fetch must be a function')
}

function checkRetries(retries: unknown, refuse: Refuse): number {
  if (Number.isInteger(retries) && Number(retries) >= 0 && Number(retries) <= 10) {
    return Number(retries)
  }
  throw refuse('maxRetries must be an integer from 0 to 10')
}

function typeError(message: string): TypeError {
  return new TypeError(message)
}

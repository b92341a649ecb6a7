/**
 * Whether a webhook URL may be registered: https, no credentials, no port of another protocol, a
 * publicly reachable host (400 `url_not_allowed`), and a connection with TLS to it
 * (422 `url_unreachable`).
 *
 * Sends nothing. The answer must not serve as a port scanner: whatever went wrong with the
 * connection, it says the one sentence of its code; it comes after one of two times only, so that
 * not even a stopwatch tells a refused connection from a certificate that does not fit; and a tenant
 * may fail so many times a minute. What is counted is counted before a name server is asked: a check
 * gets its point back when it succeeds. Refusing a written address needs no one, and is free.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCatalogue } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import {
  type Egress,
  EgressError,
  isRefusedPort,
  notReachable,
  parseHost,
  portOf,
} from '../../platform/egress/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'

export interface ReceiverRules {
  readonly egress: Egress
  /** Accept `http:` (ALLOW_HTTP_WEBHOOKS). */
  readonly allowHttp: boolean
  /** For looking the name up, connecting and TLS together. */
  readonly connectTimeoutMs: number
  /** Of checks that fail, per tenant. */
  readonly limit: RateLimit
  /** Of checks at once: their part of the name lookups, and no more. */
  readonly limiter: ConcurrencyLimiter
  /** Waits before a failure is told; in tests at once. */
  readonly wait?: (ms: number) => Promise<unknown>
}

export interface ReceiverUrl {
  readonly url: URL
  /** Empty ones too, as in `https://@example.com/`, of which a parsed URL says nothing. */
  readonly hasCredentials: boolean
  /** In which it was given. */
  readonly field: string
}

/** A text that is no URL is refused by its field. Parsers differ over white space in one. */
export function parseReceiverUrl(text: string, path = '/webhook_url'): ReceiverUrl {
  const refuse = (message: string) => validationError({ path, message })
  if (!URL.canParse(text) || hasControlOrSpace(text)) throw refuse('must be an absolute https URL')
  if (text.includes('#')) throw refuse('must not have a fragment')
  const url = new URL(text)
  if (isRefusedPort(portOf(url))) throw refuse(`must not name port ${portOf(url)}`)
  const field = path.slice(path.lastIndexOf('/') + 1)
  return { url, hasCredentials: authorityOf(text).includes('@'), field }
}

/** Of an http or https URL, as WHATWG URL reads it: any number of slashes of either kind before it. */
function authorityOf(text: string): string {
  return /^[a-z][a-z0-9+.-]*:[\\/]*([^\\/?#]*)/i.exec(text)?.[1] ?? ''
}

function hasControlOrSpace(text: string): boolean {
  return /[\s\p{Cc}]/u.test(text)
}

export async function checkReceiver(
  rules: ReceiverRules,
  tenantId: string,
  { url, hasCredentials, field }: ReceiverUrl,
): Promise<void> {
  const isAllowedScheme = url.protocol === 'https:' || (rules.allowHttp && url.protocol === 'http:')
  if (!isAllowedScheme || hasCredentials) throw notAllowed(field)
  const told = (check: () => Promise<void>) => tell(rules, field, check)
  if (parseHost(url.hostname)?.kind === 'address') await told(() => checkHost(rules, url))
  await rules.limiter.run(tenantId, () =>
    rules.limit.useUnlessDone(tenantId, () => told(() => checkOnce(rules, url))),
  )
}

function notAllowed(field: string, cause?: unknown): ApiError {
  const rule = errorCatalogue.url_not_allowed.message.replace(/^webhook_url/, field)
  const message = cause === undefined ? rule : `${rule}: its host ${notReachable}`
  return new ApiError('url_not_allowed', { message, cause })
}

async function checkOnce(rules: ReceiverRules, url: URL): Promise<void> {
  const startedMs = performance.now()
  await checkHost(rules, url)
  await connectOnce(rules, url, rules.connectTimeoutMs - (performance.now() - startedMs))
}

/** All its addresses, not only the one that is connected to. */
async function checkHost({ egress, connectTimeoutMs }: ReceiverRules, url: URL): Promise<void> {
  await egress.check(url.hostname, connectTimeoutMs)
}

/** A failure as it is reported to the tenant, and when. */
async function tell(
  rules: ReceiverRules,
  field: string,
  check: () => Promise<void>,
): Promise<void> {
  const startedMs = performance.now()
  try {
    await check()
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    if (error.code === 'address_refused') throw notAllowed(field, error)
    const { wait = sleep } = rules
    await wait(failureDelayMs(performance.now() - startedMs, rules.connectTimeoutMs))
    throw new ApiError('url_unreachable', { cause: error })
  }
}

async function connectOnce({ egress }: ReceiverRules, url: URL, timeoutMs: number): Promise<void> {
  const socket = await egress.connect({
    host: url.hostname,
    port: portOf(url),
    ...(url.protocol === 'https:' ? { tls: egress.tlsForRequests() } : {}),
    timeoutMs: Math.max(0, timeoutMs),
  })
  socket.destroy()
}

const FAILURE_MS = 1_000

/** Until a failure may be told: a second after the start, or at the end of the time for it. */
export function failureDelayMs(elapsedMs: number, timeoutMs: number): number {
  const toldAtMs = elapsedMs < FAILURE_MS ? FAILURE_MS : timeoutMs
  return Math.max(0, toldAtMs - elapsedMs)
}

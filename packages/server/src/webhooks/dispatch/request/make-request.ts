/**
 * One webhook request (docs/reference/webhooks.md#envelope): what is sent, and what came back as values that
 * can be decided on and stored.
 */
import { signingSecretPrefix } from '@postrider/contract'
import type { Clock } from '../../../platform/clock.ts'
import { type Egress, EgressError, type RequestTimings } from '../../../platform/egress/index.ts'
import type { Logger } from '../../../platform/log.ts'
import { type KeyRing, SealedValueError } from '../../../platform/secrets/index.ts'
import { openHeaders } from '../../subscriptions/custom-headers.ts'
import {
  openSigning,
  SIGNATURE_HEADERS,
  type Signing,
  secretsAt,
} from '../../subscriptions/signing.ts'
import { type DeliveryOutcome, parseRetryAfter } from '../settle/decide-delivery.ts'
import type { StreamKey } from '../stream-store.ts'
import type { Target } from '../take/delivery.ts'
import { createHeaderMask } from './mask-header-values.ts'
import { signRequest } from './sign-request.ts'
import type { Header, OpenTarget, TargetCache } from './target-cache.ts'

/** Of an answer; replacing characters can make it longer than what was read. */
const TEXT_OCTETS_MAX = 4_096
const ERROR_LENGTH_MAX = 500

export interface RequestDeps {
  readonly clock: Clock
  readonly egress: Egress
  readonly keyRing: KeyRing
  readonly targets: TargetCache
  readonly log: Logger
  /** Make requests to `http:` URLs (ALLOW_HTTP_WEBHOOKS), which may have been stored when it was set. */
  readonly allowHttp: boolean
  readonly timeoutMs: number
}

export interface WebhookRequest {
  readonly key: StreamKey
  readonly target: Target
  /** Of the delivery: the same when it is repeated. */
  readonly deliveryId: string
  readonly traceparent: string
  readonly body: string
  readonly signal: AbortSignal
}

export interface MadeRequest {
  readonly outcome: DeliveryOutcome
  readonly durationMs: number
  readonly status: number | undefined
  readonly error: string | undefined
  /** JSON for the record: `at`, `duration_ms`, `status`, `error`, `response`, `timings`, `header_names`. */
  readonly record: string
}

interface Seen {
  readonly status?: number | undefined
  readonly error?: string
  /** The beginning of the answer's body, without the values of our own headers. */
  readonly response?: string
  readonly timings?: RequestTimings | undefined
}

/** Stopped, or busy with other names: nothing is known then, and the delivery stays as it is. */
export async function makeRequest(
  deps: RequestDeps,
  request: WebhookRequest,
): Promise<MadeRequest | 'stopped' | 'busy'> {
  const at = deps.clock.now()
  const startedMs = performance.now()
  /** Once the request is made. */
  let opened: OpenTarget | undefined
  /** As it may be stored and shown. */
  const shown = (text: string, lengthMax = text.length) =>
    storable((opened?.mask.hide(text) ?? text).slice(0, lengthMax))
  const finish = (outcome: DeliveryOutcome, seen: Seen): MadeRequest => {
    const durationMs = Math.round(performance.now() - startedMs)
    const record = JSON.stringify({
      at,
      duration_ms: durationMs,
      status: seen.status ?? null,
      error: seen.error ?? null,
      response: seen.response ?? null,
      timings: seen.timings ?? null,
      header_names: opened?.names ?? [],
    })
    return { outcome, durationMs, status: seen.status, error: seen.error, record }
  }
  const { key, target } = request
  try {
    const found = deps.targets.get(key, target, () => openTarget(deps.keyRing, key, target))
    if (!deps.allowHttp && found.url.protocol === 'http:')
      return finish(
        { kind: 'failed' },
        { error: 'url_not_allowed: http: URLs are not allowed here' },
      )
    opened = found
    const signed = await signatureOf(request, found, at)
    const answer = await deps.egress.request({
      poolKey: key.webhookId,
      url: opened.url,
      method: 'POST',
      headers: [
        ...opened.before,
        ['traceparent', request.traceparent],
        ...signed.headers,
        ...opened.after,
      ],
      body: signed.body,
      timeoutMs: deps.timeoutMs,
      signal: request.signal,
    })
    const { status, timings } = answer
    const retryAfterMs = parseRetryAfter(answer.headers['retry-after'], deps.clock.now())
    return finish(
      { kind: 'answered', status, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) },
      {
        status,
        response: shown(answer.body),
        timings,
        ...(isRedirect(status) ? { error: 'redirect: redirects are not followed' } : {}),
      },
    )
  } catch (error) {
    if (error instanceof SealedValueError) {
      // The operator has to bring the key back; meanwhile this is a failure like any other.
      deps.log.error({ err: error, webhook_id: key.webhookId }, 'webhook_headers.unreadable')
      const what = target.signingSealed === undefined ? 'headers' : 'headers or the signing secret'
      return finish({ kind: 'failed' }, { error: `configuration: the ${what} cannot be decrypted` })
    }
    if (!(error instanceof EgressError)) throw error
    if (request.signal.aborted || error.code === 'aborted') return 'stopped'
    if (error.code === 'busy') return 'busy'
    const { code, message, status, timings } = error
    const told = `${code}: ${shown(message, ERROR_LENGTH_MAX - code.length - 2)}`
    const outcome: DeliveryOutcome = { kind: 'failed', wasKept: error.wasKept === true }
    return finish(outcome, { error: told, status, timings })
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400 && status !== 304
}

/** What is not signed is sent as the text that it is. */
async function signatureOf(
  { deliveryId: id, body }: WebhookRequest,
  { signing }: OpenTarget,
  at: Date,
): Promise<{ readonly headers: readonly Header[]; readonly body: string | Buffer }> {
  if (signing === undefined) return { headers: [], body }
  const octets = Buffer.from(body)
  const secrets = secretsAt(signing, at.getTime())
  return { headers: await signRequest(secrets, { id, at, body: octets }), body: octets }
}

/** Ours cannot be among the tenant's, save User-Agent, where the tenant's takes its place. */
function openTarget(keyRing: KeyRing, key: StreamKey, target: Target): OpenTarget {
  const custom = openHeaders(keyRing, key, target.headersSealed)
  const { signingSealed } = target
  const signing = signingSealed === undefined ? undefined : openSigning(keyRing, key, signingSealed)
  const hasUserAgent = custom.some(([name]) => name.toLowerCase() === 'user-agent')
  const before: Header[] = [['Content-Type', 'application/json']]
  if (!hasUserAgent) before.push(['User-Agent', 'Postrider'])
  const nameOf = ([name]: Header) => name
  return {
    url: new URL(target.url),
    before,
    after: custom,
    names: [
      ...before.map(nameOf),
      'traceparent',
      ...(signing === undefined ? [] : SIGNATURE_HEADERS),
      ...custom.map(nameOf),
    ],
    ...(signing === undefined ? {} : { signing }),
    mask: createHeaderMask([...custom, ...secretsOf(signing)]),
  }
}

/** A receiver has them, too, and may show its settings in an answer. */
function secretsOf(signing: Signing | undefined): Header[] {
  if (signing === undefined) return []
  const secrets = [signing.secret, ...signing.former.map(({ secret }) => secret)]
  return secrets.flatMap((secret): Header[] => [
    ['signing_secret', secret],
    ['signing_secret', secret.slice(signingSecretPrefix.length)],
  ])
}

/**
 * PostgreSQL stores neither NUL nor half a surrogate pair. The other control characters would be six
 * octets each in the JSON of an answer, and say nothing.
 */
function storable(text: string): string {
  const plain = text.toWellFormed().replace(/(?![\t\n\r\u0080-\u009f])\p{Cc}/gu, '\ufffd')
  const octets = Buffer.from(plain)
  if (octets.length <= TEXT_OCTETS_MAX) return plain
  let end = TEXT_OCTETS_MAX
  while (((octets[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return octets.toString('utf8', 0, end)
}

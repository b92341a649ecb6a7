/**
 * A receiver as a function of `Request` and `Response` (docs/reference/webhooks.md#envelope).
 *
 * It answers 2xx when every event has been handled, and not before: what it has acknowledged, the
 * service does not send again. What it answers otherwise decides what the service does, so the
 * statuses are chosen by whose fault it is:
 *
 * - 422 and 413 are about the events themselves. The service divides the delivery until the
 *   offending event stands alone, and the others arrive.
 * - 5xx is about this receiver: a handler that throws or is slow, a body that something on the way
 *   has cut or eaten. The service keeps the delivery as it is and repeats it. A body that is not
 *   JSON is among these: the service sends none, and by a 400 it would set good events aside, one
 *   by one.
 * - 401, 405 and 415 (any type but JSON) go to those who are not the service.
 */
import type { ReceivedEvent } from './event-types.ts'
import { parseWebhook } from './parse-webhook.ts'
import { readBody } from './read-body.ts'
import { createHeaderCheck } from './verify-header.ts'
import { createSignatureCheck } from './verify-signature.ts'
import { WebhookError, type WebhookErrorCode } from './webhook-error.ts'

export interface WebhookContext {
  /** Of the send that the oldest of the events is about; undefined when it is none (W3C). */
  readonly traceparent: string | undefined
  /** Aborted when the answer would come too late: whatever is still done, the events come again. */
  readonly signal: AbortSignal
}

interface CommonOptions {
  /** Name of the header that holds the secret. Without it and `signingSecrets`, everybody is let in. */
  readonly header?: string | undefined
  /** Every value that is accepted: two of them while one replaces the other. */
  readonly secrets?: readonly string[] | undefined
  /**
   * Every accepted `whsec_…` of a webhook that is registered with `signing`: two of them while one
   * replaces the other. Requests whose signature does not fit, or is older than 5 minutes, get 401.
   */
  readonly signingSecrets?: readonly string[] | undefined
  /**
   * Told why a delivery was not taken, before the answer: what `onEvent` threw, or a
   * `WebhookError`. Of requests without the secret it is told at most once a minute, for anybody can
   * make them; not at all of those that are refused with 405 and 415. `console.error` when left out.
   * The answer waits for it, but not longer than a second.
   */
  readonly onError?: ((error: unknown, context: WebhookContext) => unknown) | undefined
  /** The largest body, 16 MiB when left out: enough for an INCOMING_EMAIL as it is by default. */
  readonly maxBytes?: number | undefined
  /** Milliseconds for the whole request; 12,000 when left out, as the service waits for 15,000. */
  readonly timeoutMs?: number | undefined
}

/** Called for one event after the other, each when the one before it has resolved. */
interface EachEvent {
  readonly onEvent: (event: ReceivedEvent, context: WebhookContext) => void | Promise<void>
  readonly onEvents?: undefined
}

/** Called once, with all events of a request in their order. */
interface AllEvents {
  readonly onEvents: (
    events: readonly ReceivedEvent[],
    context: WebhookContext,
  ) => void | Promise<void>
  readonly onEvent?: undefined
}

export type WebhookHandlerOptions = CommonOptions & (EachEvent | AllEvents)

export type WebhookHandler = (request: Request) => Promise<Response>

/** An INCOMING_EMAIL with 5 MiB of text and, in base64, 5 MiB of attachments. */
const maxBytesDefault = 16 * 1024 * 1024
const timeoutMsDefault = 12_000
/** The longest that timers take. */
const timeoutMsMax = 2 ** 31 - 1
const tellingMsMax = 1_000
const strangerEveryMs = 60_000

/** Throws `TypeError` for options that cannot work. The handler never throws: it answers. */
export function createWebhookHandler(options: WebhookHandlerOptions): WebhookHandler {
  const set = checkOptions(options)
  return async (request) => {
    if (request.method !== 'POST') return refusal(405, 'Only POST is accepted', { allow: 'POST' })
    if (set.isAuthentic && !set.isAuthentic(request.headers)) {
      const what = request.headers.has(set.header) ? 'is none of the secrets' : 'is missing'
      return set.refuseStranger(request, `The header ${set.header} ${what}`)
    }
    if (!isJson(request.headers.get('content-type'))) {
      return refusal(415, 'The content type must be application/json')
    }
    return takeDelivery(set, request)
  }
}

/** A misspelt `secrets` must not let everybody in. */
const names: ReadonlySet<string> = new Set([
  ...[
    'header',
    'secrets',
    'signingSecrets',
    'onEvent',
    'onEvents',
    'onError',
    'maxBytes',
    'timeoutMs',
  ],
])

type OnError = NonNullable<CommonOptions['onError']>
type Settings = ReturnType<typeof checkOptions>
type Handle = AllEvents['onEvents']

function checkOptions(options: WebhookHandlerOptions) {
  const { header, secrets, signingSecrets, onEvent, onEvents, onError = report } = options
  const { maxBytes = maxBytesDefault, timeoutMs = timeoutMsDefault } = options
  const unknown = Object.keys(options).find((name) => !names.has(name))
  if (unknown !== undefined) {
    throw new TypeError(`There is no option ${unknown}; there are ${[...names].join(', ')}`)
  }
  if ((header === undefined) !== (secrets === undefined)) {
    throw new TypeError('header and secrets are given together, or neither of them')
  }
  const handle = onEvents ?? (onEvent && inTurn(onEvent))
  if (handle === undefined || (onEvent && onEvents)) {
    throw new TypeError('either onEvent or onEvents must be given')
  }
  if (!Number.isSafeInteger(maxBytes) || maxBytes < 1) {
    throw new TypeError('maxBytes must be a positive integer')
  }
  if (!(timeoutMs >= 1 && timeoutMs <= timeoutMsMax)) {
    throw new TypeError(`timeoutMs must be a number from 1 to ${timeoutMsMax}`)
  }
  const isAuthentic =
    header !== undefined && secrets !== undefined ? createHeaderCheck(header, secrets) : undefined
  const checkSignature = signingSecrets && createSignatureCheck({ signingSecrets })
  const refuseStranger = createStrangerRefusal(onError)
  const shared = { header: header ?? '', isAuthentic, checkSignature, refuseStranger }
  return { ...shared, handle, onError, maxBytes, timeoutMs }
}

/**
 * Of the first at once, of what follows once a minute: it is most likely a secret that was replaced
 * on one side only, and then the service comes again and again; but anyone who knows the address can
 * come as often.
 */
function createStrangerRefusal(onError: OnError) {
  let toldAtMs = Number.NEGATIVE_INFINITY
  let count = 0
  const report = async ({ headers }: Request, reason: string): Promise<void> => {
    count += 1
    const nowMs = performance.now()
    if (nowMs - toldAtMs < strangerEveryMs) return
    toldAtMs = nowMs
    const often = count > 1 ? ` (${count} such requests since the last report)` : ''
    count = 0
    const error = new WebhookError('unauthorized', `${reason}${often}`)
    const { signal } = new AbortController()
    await tell(onError, error, { traceparent: traceparentOf(headers), signal })
  }
  return async (request: Request, reason: string): Promise<Response> => {
    await report(request, reason)
    return refusal(401, 'Unauthorized', { 'www-authenticate': 'Webhook' })
  }
}

function inTurn(onEvent: EachEvent['onEvent']): Handle {
  return async (events, context) => {
    for (const event of events) {
      // What is not begun now comes again.
      if (context.signal.aborted) return
      await done(onEvent(event, context))
    }
  }
}

/**
 * The types ask for a promise or nothing. Without them it is easily a promise for each event, as
 * `events.map(…)` gives: all of those too, or the answer would come before they are done.
 */
async function done(given: unknown): Promise<void> {
  const value = await given
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) return
  const results = await Promise.allSettled([...(value as Iterable<unknown>)])
  const failed = results.find((result) => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

/** What became of a delivery: the answer, and whatever the receiver should know of. */
interface Outcome {
  readonly answer: Response
  readonly error?: unknown
}

async function takeDelivery(set: Settings, request: Request): Promise<Response> {
  const controller = new AbortController()
  const { signal } = controller
  const context: WebhookContext = { traceparent: traceparentOf(request.headers), signal }
  const stopped = new Promise<Outcome>((resolve) => {
    signal.addEventListener('abort', () => resolve(refused(signal.reason)), { once: true })
  })
  const timer = setTimeout(() => controller.abort(tooLate(set.timeoutMs)), set.timeoutMs)
  const onHangUp = () => controller.abort(hungUp())
  request.signal?.addEventListener('abort', onHangUp, { once: true })
  if (request.signal?.aborted) onHangUp()
  try {
    const outcome = await Promise.race([stopped, takeEvents(set, request, context)])
    if ('error' in outcome) await tell(set.onError, outcome.error, context)
    return outcome.answer
  } finally {
    clearTimeout(timer)
    request.signal?.removeEventListener('abort', onHangUp)
  }
}

async function takeEvents(
  set: Settings,
  request: Request,
  context: WebhookContext,
): Promise<Outcome> {
  let events: readonly ReceivedEvent[]
  try {
    const body = await readBody(request, set.maxBytes, context.signal)
    await set.checkSignature?.(body, request.headers)
    events = parseWebhook(body)
  } catch (error) {
    if (error instanceof WebhookError && error.code === 'unauthorized')
      return { answer: await set.refuseStranger(request, error.message) }
    return refused(error)
  }
  try {
    await done(set.handle(events, context))
    const count = events.length
    return { answer: Response.json({ success: true, message: 'Handled', events: count }) }
  } catch (error) {
    // Whatever it is, a `WebhookError` too: the events are sound.
    return { answer: refusal(500, 'The events could not be handled'), error }
  }
}

const statusOf = {
  not_an_event: 422,
  too_large: 413,
  not_json: 500,
  interrupted: 500,
  timeout: 503,
  unauthorized: 401,
} as const satisfies Record<WebhookErrorCode, number>

/** The message of an error that is not ours may hold anything, and stays here. */
function refused(error: unknown): Outcome {
  const isOurs = error instanceof WebhookError
  const status = isOurs ? statusOf[error.code] : 500
  return { answer: refusal(status, isOurs ? error.message : 'The body cannot be read'), error }
}

/** The answer does not depend on it. */
async function tell(onError: OnError, error: unknown, context: WebhookContext): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const tooLong = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, tellingMsMax)
  })
  const told = (async () => onError(error, context))().catch(report)
  await Promise.race([tooLong, told])
  clearTimeout(timer)
}

function report(error: unknown): void {
  // biome-ignore lint/suspicious/noConsole: a receiver that fails in silence is never fixed
  console.error(error)
}

function refusal(status: number, message: string, headers: Record<string, string> = {}): Response {
  return Response.json({ success: false, message }, { status, headers })
}

/** Asked for because a browser sends it to another origin only with that origin's permission. */
function isJson(contentType: string | null): boolean {
  return /^application\/(?:[\w.+-]+\+)?json[ \t]*(?:;|$)/i.test(contentType ?? '')
}

function traceparentOf(headers: Headers): string | undefined {
  const value = headers.get('traceparent') ?? ''
  return /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(value) ? value : undefined
}

function tooLate(timeoutMs: number): WebhookError {
  return new WebhookError('timeout', `The events were not handled within ${timeoutMs} ms`)
}

function hungUp(): WebhookError {
  return new WebhookError('interrupted', 'The sender did not wait for the answer')
}

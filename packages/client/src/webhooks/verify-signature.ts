/**
 * Checks the signature of a webhook that is registered with `signing`, as Standard Webhooks has it
 * (docs/reference/webhooks.md#signatures): HMAC-SHA256 of `id.timestamp.body`.
 *
 * WebCrypto is what every runtime has, and it is asynchronous. So nothing here answers true or
 * false: the check gives the events, or throws. Who forgets to await it has no events, and lets
 * nobody in.
 */
import type { ReceivedEvent } from './event-types.ts'
import { parseWebhook } from './parse-webhook.ts'
import { createHeaderReader, type HeadersLike } from './verify-header.ts'
import { WebhookError } from './webhook-error.ts'

export interface VerifyOptions {
  /** Every accepted `whsec_…`: two of them while one replaces the other. */
  readonly signingSecrets: readonly string[]
  /** By how much the time of a request may differ from ours, in milliseconds; 5 minutes when left out. */
  readonly toleranceMs?: number | undefined
}

export type SignatureCheck = (body: string | Uint8Array, headers: HeadersLike) => Promise<void>

/**
 * The events of a signed request, in the order in which they were sent.
 *
 * `body` is exactly what was received: what a parser has read and written again has other bytes.
 *
 * @throws {WebhookError} `unauthorized`, `not_json` or `not_an_event`
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: HeadersLike,
  options: VerifyOptions,
): Promise<ReceivedEvent[]> {
  await createSignatureCheck(options)(body, headers)
  return parseWebhook(body)
}

const toleranceMsDefault = 5 * 60_000
const signaturesMax = 20
const version = 'v1,'

/** Throws `TypeError` for options that nothing can be checked with. */
export function createSignatureCheck({
  signingSecrets,
  toleranceMs = toleranceMsDefault,
}: VerifyOptions): SignatureCheck {
  if (!Array.isArray(signingSecrets) || signingSecrets.length === 0) {
    throw new TypeError('signingSecrets must be an array of at least one whsec_… secret')
  }
  if (!(toleranceMs > 0)) throw new TypeError('toleranceMs must be a positive number')
  const keys = signingSecrets.map(octetsOf)
  const [idOf, timestampOf, signatureOf] = names.map(createHeaderReader)
  return async (body, headers) => {
    const id = idOf?.(headers)
    const timestamp = timestampOf?.(headers)
    const given = signatureOf?.(headers)
    if (!id || !timestamp || !given) {
      throw refusal(`The headers ${names.join(', ')} must each be there once`)
    }
    const ageMs = /^\d{1,12}$/.test(timestamp) ? Date.now() - Number(timestamp) * 1000 : Number.NaN
    if (!(Math.abs(ageMs) <= toleranceMs)) {
      throw refusal(`The header webhook-timestamp is not within ${toleranceMs / 1000} s of now`)
    }
    const signatures = given.split(' ').slice(0, signaturesMax).map(signatureOctets)
    const content = contentOf(id, timestamp, body)
    let fits = false
    for (const key of keys) {
      const expected = await hmac(key, content)
      for (const one of signatures) fits = isEqual(expected, one) || fits
    }
    if (!fits) {
      throw refusal(
        'The header webhook-signature fits none of the signing secrets, or the body was changed on its way here, as by a body parser',
      )
    }
  }
}

/** The headers of a signed request with this body, for tests of a receiver. */
export async function exampleSignature(
  body: ReceivedEvent | readonly ReceivedEvent[] | string,
  signingSecret: string,
  { id = 'dlv_01JD4M8W6ZQ3V5T7X9Y2A4C6E8', at = new Date() } = {},
): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const octets = await hmac(octetsOf(signingSecret), contentOf(id, timestamp, text))
  const signature = btoa(String.fromCharCode(...octets))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': version + signature,
  }
}

const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const

function refusal(message: string): WebhookError {
  return new WebhookError('unauthorized', message)
}

/** What is no secret of ours is refused without quoting it. */
function octetsOf(secret: unknown): Uint8Array<ArrayBuffer> {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(String(secret)) ?? []
  const octets = base64 === undefined ? undefined : fromBase64(base64)
  if (octets !== undefined && octets.length >= 16) return octets
  throw new TypeError('every signing secret must be whsec_ and base64, as the service has shown it')
}

function signatureOctets(signature: string): Uint8Array {
  const octets = signature.startsWith(version)
    ? fromBase64(signature.slice(version.length))
    : undefined
  return octets ?? new Uint8Array(0)
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function contentOf(id: string, timestamp: string, body: string | Uint8Array) {
  const encoder = new TextEncoder()
  const head = encoder.encode(`${id}.${timestamp}.`)
  const octets = typeof body === 'string' ? encoder.encode(body) : body
  const content = new Uint8Array(head.length + octets.length)
  content.set(head)
  content.set(octets, head.length)
  return content
}

async function hmac(key: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>) {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, content))
}

/** Without a branch on their content. */
function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false
  let difference = 0
  for (let i = 0; i < one.length; i++) difference |= Number(one[i]) ^ Number(other[i])
  return difference === 0
}

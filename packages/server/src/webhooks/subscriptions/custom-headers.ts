/**
 * The headers that a tenant has us send (docs/reference/webhooks.md#headers): verbatim, on every request.
 *
 * Names keep their case. What would change the request itself is refused: undici lets a `host` or
 * `connection` through, and two spellings of one name make a request ambiguous.
 */
import {
  type FieldError,
  reservedWebhookHeaderPrefix,
  reservedWebhookHeaders,
  webhookHeaderBytesMax,
  webhookHeaderNameLengthMax,
} from '@postrider/contract'
import { validationError } from '../../platform/errors.ts'
import { jsonPointer } from '../../platform/http/body/json-body.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { SIGNATURE_HEADERS } from './signing.ts'
import type { Subscription } from './subscription.ts'

export type CustomHeaders = readonly (readonly [name: string, value: string])[]

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e]*$/
/** Where a webhook is not signed, these are its own to use. */
const OF_SIGNATURES: ReadonlySet<string> = new Set(SIGNATURE_HEADERS)
const COLLIDES = 'is a header that signing sets: give it another name'
const RESERVED: ReadonlySet<string> = new Set(reservedWebhookHeaders)

export interface HeaderRules {
  /** Of the webhook in the body. */
  readonly at?: string
  /** It is signed by the same body. */
  readonly isSigned?: boolean | undefined
}

/** Throws every problem, by the path of the header (`/headers/X-Secret`). How many: the schema. */
export function checkHeaders(
  headers: Readonly<Record<string, string>>,
  { at = '', isSigned = false }: HeaderRules = {},
): void {
  const errors: FieldError[] = []
  const seen = new Set<string>()
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase()
    const problem =
      problemOf(name, lower, value, seen) ??
      (isSigned && OF_SIGNATURES.has(lower) ? COLLIDES : undefined)
    if (problem !== undefined)
      errors.push({ path: `${at}/headers${jsonPointer([name])}`, message: problem })
    seen.add(lower)
  }
  if (errors.length > 0) throw validationError(...errors)
}

/** Of a change: the headers and the signing that a webhook would have, one of them perhaps from before. */
export function checkCollision(
  { headerNames, signingSealed }: Pick<Subscription, 'headerNames' | 'signingSealed'>,
  { at, areHeadersGiven }: { readonly at: string; readonly areHeadersGiven: boolean },
): void {
  if (signingSealed === undefined) return
  const name = headerNames.find((one) => OF_SIGNATURES.has(one.toLowerCase()))
  if (name === undefined) return
  throw validationError(
    areHeadersGiven
      ? { path: `${at}/headers${jsonPointer([name])}`, message: COLLIDES }
      : {
          path: `${at}/signing`,
          message: `needs the custom header ${name} for itself: replace headers in the same call`,
        },
  )
}

function problemOf(
  name: string,
  lower: string,
  value: string,
  seen: ReadonlySet<string>,
): string | undefined {
  if (name.length > webhookHeaderNameLengthMax)
    return `must have a name of at most ${webhookHeaderNameLengthMax} characters`
  if (!NAME.test(name)) return 'is not a header name'
  if (RESERVED.has(lower) || lower.startsWith(reservedWebhookHeaderPrefix))
    return 'is a reserved header name'
  if (seen.has(lower)) return 'is given twice'
  if (!VALUE.test(value)) return 'must be visible ASCII characters, spaces and tabs'
  if (value.trim() !== value) return 'must not begin or end with white space'
  // ASCII only, as has been seen: characters are octets.
  if (value.length > webhookHeaderBytesMax) return `must be at most ${webhookHeaderBytesMax} bytes`
  return undefined
}

/**
 * Values are credentials (docs/reference/webhooks.md#headers): bound to their tenant and webhook, never in
 * clear.
 */
export function sealHeaders(keyRing: KeyRing, owner: HeaderOwner, headers: CustomHeaders): string {
  return keyRing.encrypt(JSON.stringify(headers), headersPlaceOf(owner))
}

export function openHeaders(keyRing: KeyRing, owner: HeaderOwner, sealed: string): CustomHeaders {
  return JSON.parse(keyRing.decrypt(sealed, headersPlaceOf(owner))) as CustomHeaders
}

interface HeaderOwner {
  readonly tenantId: string
  readonly webhookId: string
}

export function headersPlaceOf(owner: HeaderOwner): string {
  return `webhooks|${owner.tenantId}|${owner.webhookId}|headers`
}

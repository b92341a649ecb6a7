/**
 * Checks the custom header by which a receiver knows the service (docs/reference/webhooks.md#signatures).
 *
 * The time it takes says nothing about a secret, nor about how much of it was right, nor which of
 * several it was: all are compared, each over the longest length that a header can have
 * (docs/reference/webhooks.md#signatures), without a branch on their content.
 *
 * It is synchronous on purpose, and so does not use WebCrypto: a promise that somebody forgets to
 * await is always true, and lets everybody in.
 */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** Whether the header is there once and is one of the secrets. Several allow for rotation. */
export function verifyHeader(
  headers: HeadersLike,
  name: string,
  secrets: readonly string[],
): boolean {
  return createHeaderCheck(name, secrets)(headers)
}

/** Throws `TypeError` for what no header can be checked with, so that nobody is let in by it. */
export function createHeaderCheck(
  name: string,
  secrets: readonly string[],
): (headers: HeadersLike) => boolean {
  if (typeof name !== 'string' || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) {
    throw new TypeError('header must be the name of a header')
  }
  if (!Array.isArray(secrets)) throw new TypeError('secrets must be an array of strings')
  if (secrets.length === 0) throw new TypeError('secrets must hold at least one value')
  const lowerName = name.toLowerCase()
  const expected = secrets.map((secret) => padded(checkSecret(secret)))
  return (headers) => {
    // No secret is empty, so a header that is missing equals none.
    const given = padded(onlyValueOf(headers, lowerName) ?? '')
    let equal = 0
    for (const one of expected) equal |= isEqual(one, given)
    return equal === 1
  }
}

const lengthMax = 4096

/** What the service would not send is refused: nothing could ever equal it. */
function checkSecret(secret: unknown): string {
  const isSendable =
    typeof secret === 'string' &&
    secret.length <= lengthMax &&
    /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/.test(secret)
  if (isSendable) return secret
  throw new TypeError(
    `every secret must be 1 to ${lengthMax} visible ASCII characters, without white space around them`,
  )
}

/** Its value, when it is there once. */
export function createHeaderReader(name: string): (headers: HeadersLike) => string | undefined {
  return (headers) => onlyValueOf(headers, name)
}

function onlyValueOf(headers: HeadersLike, lowerName: string): string | undefined {
  if (isHeaders(headers)) return headers.get(lowerName) ?? undefined
  const values = Object.entries(headers)
    .filter(([name]) => name.toLowerCase() === lowerName)
    .flatMap(([, value]) => value)
  return values.length === 1 ? values[0] : undefined
}

function isHeaders(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof headers.get === 'function'
}

/** The length comes first; no header is longer than this, or it is not ours. */
function padded(text: string): Uint32Array {
  const units = new Uint32Array(lengthMax + 1)
  units[0] = text.length
  for (let i = 0; i < Math.min(text.length, lengthMax); i++) units[i + 1] = text.charCodeAt(i)
  return units
}

/** 1 or 0. */
function isEqual(one: Uint32Array, other: Uint32Array): number {
  let difference = 0
  for (let i = 0; i <= lengthMax; i++) difference |= Number(one[i]) ^ Number(other[i])
  return difference === 0 ? 1 : 0
}

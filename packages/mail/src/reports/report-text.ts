/** Bounds and cleans what reports say, and finds servers' replies in it. */

export const RECIPIENTS_MAX = 100
const DIAGNOSTIC_CHARS_MAX = 2_000
const ADDRESS_CHARS_MAX = 320
const HOST_CHARS_MAX = 255
const ID_CHARS_MAX = 998

/** In one line. */
export function boundedText(text: string): string {
  return text
    .slice(0, DIAGNOSTIC_CHARS_MAX * 2)
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, DIAGNOSTIC_CHARS_MAX)
    .toWellFormed()
}

const ADDRESS =
  /[^\s<>"'(),:;[\]：，；（）。]{1,64}@[\p{L}\d](?:[\p{L}\p{M}\d.-]{0,252}[\p{L}\d])?/u
const ADDRESSES = new RegExp(ADDRESS, 'gu')
const LINE_CHARS_MAX = 1_000

export function addressIn(text: string): string | undefined {
  return ADDRESS.exec(text.slice(0, ADDRESS_CHARS_MAX * 2))?.[0]
}

/** Of the beginning of a line. */
export function addressesIn(line: string): readonly string[] {
  return line.slice(0, LINE_CHARS_MAX).match(ADDRESSES) ?? []
}

/** `rfc822; a@b`, `utf-8; \x{e9}@b` (RFC 6533 §3), or an address alone. */
export function typedAddress(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const [type = '', rest] = splitTyped(value)
  const text = rest ?? value
  if (!/^utf-?8$/i.test(type)) return addressIn(text)
  const decoded = text
    .slice(0, ADDRESS_CHARS_MAX * 8)
    .replace(/\\x\{([\da-f]{1,6})\}/gi, (whole, hex: string) => {
      const point = Number.parseInt(hex, 16)
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole
    })
  return addressIn(decoded.toWellFormed())
}

/** `dns; host`, `smtp; 550 words`; what has no type is taken as it is. */
export function typedText(value: string | undefined): string | undefined {
  return value === undefined ? undefined : (splitTyped(value)[1] ?? value.trim())
}

function splitTyped(value: string): readonly string[] {
  const semicolon = value.indexOf(';')
  const type = value.slice(0, Math.max(0, semicolon)).trim()
  return /^[\w-]{1,40}$/.test(type) ? [type, value.slice(semicolon + 1).trim()] : []
}

export function boundedHost(text: string | undefined): string | undefined {
  const host = text?.trim().split(/\s/, 1)[0]?.slice(0, HOST_CHARS_MAX)
  return host === '' ? undefined : host
}

export function boundedId(text: string | undefined): string | undefined {
  return text === undefined || text === '' || text.length > ID_CHARS_MAX ? undefined : text
}

/** From the reply on: `550 5.1.1 …`, `550-5.1.1 …`; undefined without one. */
export function replyIn(text: string): string | undefined {
  const found = /(?<![\d.])[45]\d\d(?:[ :-](?=[ #]?[\d\p{L}<"(-]))/u.exec(text)
  return found === null ? undefined : text.slice(found.index)
}

export function statusIn(text: string): string | undefined {
  return /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/.exec(text)?.[0]
}

/** Microseconds since 1970 of a Date field. */
export function microsOf(date: string): bigint | undefined {
  const ms = Date.parse(date.slice(0, 100))
  return Number.isNaN(ms) ? undefined : BigInt(ms) * 1000n
}

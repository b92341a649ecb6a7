/**
 * Readings of a text that may be written in one or several of JSON, HTML, URLs, base64 and
 * hexadecimal digits. Each character keeps its place in the text that was given. Only what can be in
 * the value of a header is decoded: visible ASCII characters, the space and the tab.
 *
 * One pass each, in linear time, whatever the text: a receiver chooses it.
 */

export interface Decoded {
  readonly codes: readonly number[]
  /** By character: where it begins and ends in the text. */
  readonly from: readonly number[]
  readonly to: readonly number[]
}

/** As it is, without escape sequences, and what is packed in it. */
export function readings(text: string): Decoded[] {
  const raw = readPlain(text)
  const clear = unescaped(raw)
  return [raw, clear, ...unpacked(clear).map(unescaped)]
}

export function readPlain(text: string): Decoded {
  const places = Array.from({ length: text.length }, (_, at) => at)
  return {
    codes: places.map((at) => text.charCodeAt(at)),
    from: places,
    to: places.map((at) => at + 1),
  }
}

interface Growing extends Decoded {
  readonly codes: number[]
  readonly from: number[]
  readonly to: number[]
}

const BACKSLASH = 0x5c
/** The longest is `&#x0000002b;`. */
const ENTITY_LENGTH_MAX = 12

/**
 * Without escape sequences, also those that other sequences are written in: each is replaced when
 * its last character comes, and what it stands for may be the last one of another.
 */
export function unescaped(given: Decoded): Decoded {
  const out: Growing = { codes: [], from: [], to: [] }
  given.codes.forEach((code, at) => {
    let decoded: number | undefined = code
    let from = given.from[at] ?? 0
    while (decoded !== undefined) {
      out.codes.push(decoded)
      out.from.push(from)
      out.to.push(given.to[at] ?? 0)
      const length = lengthOfEscape(out.codes)
      if (length === 0) return
      decoded = escapeAt(out.codes, length)
      if (decoded === undefined) return
      const start = out.codes.length - length
      from = out.from[start] ?? 0
      for (const list of [out.codes, out.from, out.to]) list.length = start
    }
  })
  return out
}

/** Of what may be an escape sequence at the end, or 0. */
function lengthOfEscape(codes: readonly number[]): number {
  const end = codes.length
  const last = codes[end - 1] ?? 0
  if (codes[end - 2] === BACKSLASH && ESCAPED.has(last)) return 2
  if (last === 0x3b) {
    for (let length = 4; length <= ENTITY_LENGTH_MAX; length += 1)
      if (codes[end - length] === 0x26) return length
    return 0
  }
  if (!isHex(last)) return 0
  if (codes[end - 3] === 0x25) return 3
  if (codes[end - 4] === BACKSLASH && codes[end - 3] === 0x78) return 4
  return codes[end - 6] === BACKSLASH && codes[end - 5] === 0x75 ? 6 : 0
}

/** `\"`, `\\`, `\/` and `\'`. */
const ESCAPED: ReadonlySet<number> = new Set([0x22, BACKSLASH, 0x2f, 0x27])
const NUMBERED =
  /^(?:%([\da-f]{2})|\\x([\da-f]{2})|\\u([\da-f]{4})|&#x0*([\da-f]{1,2});|&#0*(\d{1,3});)$/i
const NAMED: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
}

function escapeAt(codes: readonly number[], length: number): number | undefined {
  const end = codes.length
  if (length === 2) return codes[end - 1]
  const sequence = String.fromCharCode(...codes.slice(end - length))
  const numbers = NUMBERED.exec(sequence)
  if (numbers === null) return NAMED[sequence.toLowerCase()]?.charCodeAt(0)
  const [, percent, x, u, hex, decimal] = numbers
  const code =
    decimal === undefined
      ? Number.parseInt(percent ?? x ?? u ?? hex ?? '', 16)
      : Number.parseInt(decimal, 10)
  return code === 0x09 || (code >= 0x20 && code <= 0x7e) ? code : undefined
}

function isHex(code: number): boolean {
  return digitOf(code, HEX_DIGITS) >= 0
}

interface Digits {
  /** Of each. */
  readonly bits: number
  /** By character code; -1 is none. */
  readonly values: Int8Array
  /** Characters after which octets and digits begin together again. */
  readonly period: number
  /** A shorter run holds no value of four characters. */
  readonly runMin: number
}

const DIGITS = '0123456789'
const LETTERS = 'abcdefghijklmnopqrstuvwxyz'
const HEX_DIGITS: Digits = {
  bits: 4,
  values: valuesOf([`${DIGITS}abcdef`, `${DIGITS}ABCDEF`]),
  period: 2,
  runMin: 8,
}
/** The usual ones and those for URLs (RFC 4648 §4, §5). */
const BASE64_DIGITS: Digits = {
  bits: 6,
  values: valuesOf(['+/', '-_'].map((signs) => LETTERS.toUpperCase() + LETTERS + DIGITS + signs)),
  period: 4,
  runMin: 6,
}

function valuesOf(alphabets: readonly string[]): Int8Array {
  const values = new Int8Array(128).fill(-1)
  for (const alphabet of alphabets)
    for (let value = 0; value < alphabet.length; value += 1)
      values[alphabet.charCodeAt(value)] = value
  return values
}

function digitOf(code: number, { values }: Digits): number {
  return values[code] ?? -1
}

/** What hexadecimal digits and base64 stand for, from wherever in a run of them it begins. */
function unpacked(given: Decoded): Decoded[] {
  return [HEX_DIGITS, BASE64_DIGITS].flatMap((digits) =>
    runsOf(given, digits).flatMap((run) =>
      Array.from({ length: digits.period }, (_, skipped) =>
        octetsOf(given, digits, run.start + skipped, run.end),
      ),
    ),
  )
}

function runsOf({ codes }: Decoded, digits: Digits) {
  const runs: { start: number; end: number }[] = []
  let start = 0
  for (let at = 0; at <= codes.length; at += 1) {
    if (digitOf(codes[at] ?? -1, digits) >= 0) continue
    if (at - start >= digits.runMin) runs.push({ start, end: at })
    start = at + 1
  }
  return runs
}

function octetsOf(given: Decoded, digits: Digits, start: number, end: number): Decoded {
  const out: Growing = { codes: [], from: [], to: [] }
  let value = 0
  let held = 0
  let begin = start
  for (let at = start; at < end; at += 1) {
    value = ((value << digits.bits) | digitOf(given.codes[at] ?? 0, digits)) & 0xffff
    held += digits.bits
    if (held < 8) continue
    held -= 8
    out.codes.push((value >> held) & 0xff)
    out.from.push(given.from[begin] ?? 0)
    out.to.push(given.to[at] ?? 0)
    begin = held > 0 ? at : at + 1
  }
  // Digits that are less than an octet belong to one that was cut off.
  if (out.to.length > 0) out.to[out.to.length - 1] = given.to[end - 1] ?? 0
  return out
}

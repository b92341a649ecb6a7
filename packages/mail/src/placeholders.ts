/**
 * Placeholders: texts in a body that are another text in each copy of the message, of the same length.
 * The body is encoded once, with the placeholders, and they are written over in each copy; encoding it
 * anew for each takes twenty times as long for a newsletter of 60 kB.
 *
 * A placeholder is plain ASCII that no encoding escapes and looks like a URL, which what is made of the
 * HTML may depend on. It is derived from the email's id, which nobody knows before the email was
 * accepted, so that no content holds one by itself.
 */
import { createHash } from 'node:crypto'
import { type EncodedBody, wrapLongBase64 } from './encode-body.ts'

/** By their numbers. */
export type Placeholders = readonly string[]

export interface MarkedBody {
  readonly isBase64: boolean
  /** On the wire or, for base64, before it is encoded. */
  readonly bytes: Buffer
  readonly places: readonly Place[]
}

interface Place {
  readonly placeholder: number
  /** Where each of its characters is in the bytes: quoted-printable breaks lines within it. */
  readonly at: Uint32Array
}

const SOFT_BREAK = '=\r\n'
const NUMBER_CHARS = 4
const RADIX = 36

const MARK_SCHEME = 'https://'
const MARK_DIGITS = 32
const HEAD_CHARS = MARK_SCHEME.length + MARK_DIGITS + NUMBER_CHARS

/** One for each length, which is at least 44. */
export function createPlaceholders(id: string, lengths: readonly number[]): Placeholders {
  const mark = markOf(id)
  return lengths.map((length, i) => {
    if (length < HEAD_CHARS) throw new RangeError(`a placeholder of ${length} characters`)
    const number = i.toString(RADIX).padStart(NUMBER_CHARS, '0')
    return `${mark}${number}`.padEnd(length, 'x')
  })
}

function markOf(id: string): string {
  const digits = createHash('sha256').update(`placeholder ${id}`).digest('hex')
  return MARK_SCHEME + digits.slice(0, MARK_DIGITS)
}

/** Undefined where the body has none. */
export function findPlaceholders(
  { encoding, parts }: EncodedBody,
  id: string,
  placeholders: Placeholders,
): MarkedBody | undefined {
  const isBase64 = encoding === 'base64'
  const joined = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  const bytes = isBase64 ? Buffer.from(joined.toString('latin1'), 'base64') : joined
  const text = bytes.toString('latin1')
  const places: Place[] = []
  // Each character is taken once, whatever the text.
  const mark = new RegExp([...markOf(id)].join(`(?:${SOFT_BREAK})?`), 'g')
  for (const { index } of text.matchAll(mark)) places.push(readPlace(text, index, placeholders))
  return places.length === 0 ? undefined : { isBase64, bytes, places }
}

/** Reads on from where a placeholder begins, over the breaks within it. */
function readPlace(text: string, from: number, placeholders: Placeholders): Place {
  const at: number[] = []
  let read = ''
  let next = from
  const readTo = (length: number) => {
    while (read.length < length && next < text.length) {
      if (text.startsWith(SOFT_BREAK, next)) next += SOFT_BREAK.length
      at.push(next)
      read += text[next]
      next += 1
    }
  }
  readTo(HEAD_CHARS)
  const placeholder = Number.parseInt(read.slice(-NUMBER_CHARS), RADIX)
  const expected = placeholders[placeholder] ?? ''
  readTo(expected.length)
  if (read !== expected) throw new Error('a placeholder is not as it was written')
  return { placeholder, at: Uint32Array.from(at) }
}

/** The body of one copy, with `texts` by the numbers of their placeholders. */
export async function writeOver(
  { bytes, isBase64, places }: MarkedBody,
  texts: readonly string[],
): Promise<readonly Buffer[]> {
  const copy = Buffer.from(bytes)
  for (const { placeholder, at } of places) {
    const text = texts[placeholder] ?? ''
    if (text.length !== at.length)
      throw new Error(`${text.length} characters in place of ${at.length}`)
    for (let i = 0; i < at.length; i++) copy[at[i] ?? -1] = text.charCodeAt(i)
  }
  return isBase64 ? wrapLongBase64(copy.toString('base64')) : [copy]
}

/** For those who take text: what is between the placeholders, and their numbers. */
export interface SplitText {
  /** One more than there are placeholders. */
  readonly pieces: readonly string[]
  readonly placeholders: readonly number[]
}

export function splitAtPlaceholders(
  text: string,
  id: string,
  placeholders: Placeholders,
): SplitText {
  const mark = markOf(id)
  const pieces: string[] = []
  const numbers: number[] = []
  let from = 0
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, from)) {
    const numberAt = at + mark.length
    const placeholder = Number.parseInt(text.slice(numberAt, numberAt + NUMBER_CHARS), RADIX)
    const expected = placeholders[placeholder]
    if (expected === undefined || !text.startsWith(expected, at))
      throw new Error('a placeholder is not as it was written')
    pieces.push(text.slice(from, at))
    numbers.push(placeholder)
    from = at + expected.length
  }
  pieces.push(text.slice(from))
  return { pieces, placeholders: numbers }
}

/** The text of one copy, with `texts` by the numbers of their placeholders. */
export function fillSplit({ pieces, placeholders }: SplitText, texts: readonly string[]): string {
  return pieces.map((piece, i) => piece + (texts[placeholders[i] ?? -1] ?? '')).join('')
}

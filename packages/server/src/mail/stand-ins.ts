/**
 * Stand-ins: texts in a body that are another text in each copy of the message, of the same length.
 * The body is encoded once, with the stand-ins, and they are written over in each copy; encoding it
 * anew for each takes twenty times as long for a newsletter of 60 kB.
 *
 * A stand-in is plain ASCII that no encoding escapes and looks like a URL, which what is made of the
 * HTML may depend on. It is derived from the email's id, which nobody knows before the email was
 * accepted, so that no content holds one by itself.
 */
import { createHash } from 'node:crypto'
import { type EncodedBody, wrapLongBase64 } from './encode-body.ts'

/** By their numbers. */
export type StandIns = readonly string[]

export interface MarkedBody {
  readonly isBase64: boolean
  /** On the wire or, for base64, before it is encoded. */
  readonly bytes: Buffer
  readonly places: readonly Place[]
}

interface Place {
  readonly standIn: number
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
export function createStandIns(id: string, lengths: readonly number[]): StandIns {
  const mark = markOf(id)
  return lengths.map((length, i) => {
    if (length < HEAD_CHARS) throw new RangeError(`a stand-in of ${length} characters`)
    const number = i.toString(RADIX).padStart(NUMBER_CHARS, '0')
    return `${mark}${number}`.padEnd(length, 'x')
  })
}

function markOf(id: string): string {
  const digits = createHash('sha256').update(`stand-in ${id}`).digest('hex')
  return MARK_SCHEME + digits.slice(0, MARK_DIGITS)
}

/** Undefined where the body has none. */
export function findStandIns(
  { encoding, parts }: EncodedBody,
  id: string,
  standIns: StandIns,
): MarkedBody | undefined {
  const isBase64 = encoding === 'base64'
  const joined = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  const bytes = isBase64 ? Buffer.from(joined.toString('latin1'), 'base64') : joined
  const text = bytes.toString('latin1')
  const places: Place[] = []
  // Each character is taken once, whatever the text.
  const mark = new RegExp([...markOf(id)].join(`(?:${SOFT_BREAK})?`), 'g')
  for (const { index } of text.matchAll(mark)) places.push(readPlace(text, index, standIns))
  return places.length === 0 ? undefined : { isBase64, bytes, places }
}

/** Reads on from where a stand-in begins, over the breaks within it. */
function readPlace(text: string, from: number, standIns: StandIns): Place {
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
  const standIn = Number.parseInt(read.slice(-NUMBER_CHARS), RADIX)
  const expected = standIns[standIn] ?? ''
  readTo(expected.length)
  if (read !== expected) throw new Error('a stand-in is not as it was written')
  return { standIn, at: Uint32Array.from(at) }
}

/** The body of one copy, with `texts` by the numbers of their stand-ins. */
export async function writeOver(
  { bytes, isBase64, places }: MarkedBody,
  texts: readonly string[],
): Promise<readonly Buffer[]> {
  const copy = Buffer.from(bytes)
  for (const { standIn, at } of places) {
    const text = texts[standIn] ?? ''
    if (text.length !== at.length)
      throw new Error(`${text.length} characters in place of ${at.length}`)
    for (let i = 0; i < at.length; i++) copy[at[i] ?? -1] = text.charCodeAt(i)
  }
  return isBase64 ? wrapLongBase64(copy.toString('base64')) : [copy]
}

/** For those who take text: what is between the stand-ins, and their numbers. */
export interface SplitText {
  /** One more than there are stand-ins. */
  readonly pieces: readonly string[]
  readonly standIns: readonly number[]
}

export function splitAtStandIns(text: string, id: string, standIns: StandIns): SplitText {
  const mark = markOf(id)
  const pieces: string[] = []
  const numbers: number[] = []
  let from = 0
  for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, from)) {
    const numberAt = at + mark.length
    const standIn = Number.parseInt(text.slice(numberAt, numberAt + NUMBER_CHARS), RADIX)
    const expected = standIns[standIn]
    if (expected === undefined || !text.startsWith(expected, at))
      throw new Error('a stand-in is not as it was written')
    pieces.push(text.slice(from, at))
    numbers.push(standIn)
    from = at + expected.length
  }
  pieces.push(text.slice(from))
  return { pieces, standIns: numbers }
}

/** The text of one copy, with `texts` by the numbers of their stand-ins. */
export function fillSplit({ pieces, standIns }: SplitText, texts: readonly string[]): string {
  return pieces.map((piece, i) => piece + (texts[standIns[i] ?? -1] ?? '')).join('')
}

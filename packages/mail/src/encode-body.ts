/**
 * Encodes bodies for the wire (RFC 2045 §6.7, §6.8).
 *
 * What is long is encoded in slices with a turn of the event loop after each: a body of many
 * megabytes may take its time, but nothing else waits for it. Neither the slices nor what happens
 * between them changes the result.
 */
import { setImmediate } from 'node:timers/promises'
import { countEscaped, toQuotedPrintable } from './quoted-printable.ts'

export interface EncodedBody {
  readonly encoding: '7bit' | 'base64' | 'quoted-printable'
  readonly parts: readonly Buffer[]
}

const CRLF = '\r\n'
const PLAIN_LINE_CHARS_MAX = 76
const BASE64_LINE_CHARS = 76
const BASE64_LINE_BYTES = 57
/** Whole lines of base64. */
const BASE64_SLICE_CHARS = BASE64_LINE_CHARS * 4096
const BASE64_SLICE_BYTES = BASE64_LINE_BYTES * 4096
const TEXT_SLICE_CHARS = 32 * 1024
const LONG_TEXT_CHARS = 128 * 1024
/** Copied between two turns of the event loop. */
const COPIED_BYTES = 1024 * 1024

/** With CRLF for every line end: as it is where that can be sent, else in the encoding that suits it. */
export async function encodeTextBody(text: string): Promise<EncodedBody> {
  if (text.length > LONG_TEXT_CHARS) return encodeLongText(text)
  const normalized = normalizeLineEnds(text)
  if (isPlain(normalized)) return { encoding: '7bit', parts: [Buffer.from(normalized, 'latin1')] }
  const bytes = Buffer.from(normalized)
  return isMostlyEscaped(bytes.length, countEscaped(bytes))
    ? { encoding: 'base64', parts: [wrapBase64(bytes.toString('base64'))] }
    : { encoding: 'quoted-printable', parts: [toQuotedPrintable(bytes).encoded] }
}

/** Printable ASCII in lines that no relay has to break. */
function isPlain(text: string): boolean {
  if (/[^\t\r\n\x20-\x7e]/.test(text)) return false
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(CRLF, from)
    const length = (end < 0 ? text.length : end) - from
    if (length > PLAIN_LINE_CHARS_MAX) return false
    from += length + CRLF.length
  }
  return true
}

function normalizeLineEnds(text: string): string {
  return text.replace(/\r\n?|\n/g, CRLF)
}

/** Quoted-printable stays legible; where a third is escaped it is not, and takes more than base64. */
function isMostlyEscaped(bytes: number, escaped: number): boolean {
  return escaped * 3 > bytes
}

async function encodeLongText(text: string): Promise<EncodedBody> {
  const { bytes, escaped } = await readText(text)
  return isMostlyEscaped(bytes.length, escaped)
    ? { encoding: 'base64', parts: await encodeBase64(bytes) }
    : { encoding: 'quoted-printable', parts: await encodeLongQuotedPrintable(bytes) }
}

/** Breaks base64 without white space into lines. */
export async function wrapLongBase64(encoded: string): Promise<readonly Buffer[]> {
  if (encoded.length <= BASE64_SLICE_CHARS) return [wrapBase64(encoded)]
  const parts: Buffer[] = []
  for (let at = 0; at < encoded.length; at += BASE64_SLICE_CHARS) {
    if (at > 0) parts.push(Buffer.from(CRLF))
    parts.push(wrapBase64(encoded.slice(at, at + BASE64_SLICE_CHARS)))
    await setImmediate()
  }
  return parts
}

export async function joinInTurns(parts: readonly Buffer[]): Promise<Buffer> {
  const joined = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  let turnAt = COPIED_BYTES
  for (const part of parts) {
    for (let from = 0; from < part.length; from += COPIED_BYTES) {
      at += part.copy(joined, at, from, from + COPIED_BYTES)
      if (at < turnAt) continue
      turnAt = at + COPIED_BYTES
      await setImmediate()
    }
  }
  return joined
}

/** In UTF-8 with normalized line ends, and how many of its bytes quoted-printable escapes. */
async function readText(text: string): Promise<{ bytes: Buffer; escaped: number }> {
  const slices: Buffer[] = []
  let escaped = 0
  for (let at = 0; at < text.length; ) {
    const end = endOfSlice(text, at + TEXT_SLICE_CHARS)
    const slice = Buffer.from(normalizeLineEnds(text.slice(at, end)))
    escaped += countEscaped(slice)
    slices.push(slice)
    at = end
    await setImmediate()
  }
  return { bytes: await joinInTurns(slices), escaped }
}

/** Not within a line end, nor within a character. */
function endOfSlice(text: string, at: number): number {
  const last = text.charCodeAt(at - 1)
  const isInLineEnd = last === 0x0d && text.charCodeAt(at) === 0x0a
  const isInCharacter = last >= 0xd800 && last <= 0xdbff
  return isInLineEnd || isInCharacter ? at + 1 : at
}

async function encodeBase64(bytes: Buffer): Promise<readonly Buffer[]> {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += BASE64_SLICE_BYTES) {
    if (at > 0) parts.push(Buffer.from(CRLF))
    parts.push(wrapBase64(bytes.toString('base64', at, at + BASE64_SLICE_BYTES)))
    await setImmediate()
  }
  return parts
}

async function encodeLongQuotedPrintable(bytes: Buffer): Promise<readonly Buffer[]> {
  const parts: Buffer[] = []
  let [next, column] = [0, 0]
  while (next < bytes.length) {
    const to = Math.min(bytes.length, next + TEXT_SLICE_CHARS)
    const piece = toQuotedPrintable(bytes, next, to, column)
    ;({ next, column } = piece)
    parts.push(piece.encoded)
    await setImmediate()
  }
  return parts
}

function wrapBase64(encoded: string): Buffer {
  const padded = encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '=')
  const lines: string[] = []
  for (let at = 0; at < padded.length; at += BASE64_LINE_CHARS)
    lines.push(padded.slice(at, at + BASE64_LINE_CHARS))
  return Buffer.from(lines.join(CRLF), 'latin1')
}

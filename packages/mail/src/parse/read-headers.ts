/**
 * Reads a header section as it stands: fields in their order, unfolded, names as written. What is no
 * field is passed over. Bytes beyond ASCII are UTF-8 (RFC 6532), else windows-1252.
 */
import { cleanText } from './clean-text.ts'
import { decodeUnlabelled } from './decode-text.ts'
import type { MessageHeader } from './parsed-message.ts'

export interface HeaderSection {
  readonly headers: readonly MessageHeader[]
  /** Where the body begins. */
  readonly bodyAt: number
  /** There is more than what was read. */
  readonly isCut: boolean
}

export interface HeaderLimits {
  readonly bytesMax: number
  readonly fieldsMax: number
}

const LF = 0x0a
const CR = 0x0d
const FIELD = /^([!-9;-~]+)[ \t]*:/

/** @param isEnd whether a line is not of this section any more: a delimiter that comes too early. */
export function readHeaders(
  bytes: Buffer,
  start: number,
  { bytesMax, fieldsMax }: HeaderLimits,
  isEnd: (lineStart: number, lineEnd: number) => boolean = () => false,
): HeaderSection {
  const headers: MessageHeader[] = []
  let at = start
  let fieldAt = start
  const finishField = (end: number) => {
    const field = readField(bytes.subarray(fieldAt, end))
    if (field !== undefined) headers.push(field)
    fieldAt = end
  }
  while (at < bytes.length) {
    const lineEnd = endOfLine(bytes, at)
    const isBlank = isBlankLine(bytes, at)
    const isFolded = bytes[at] === 0x20 || bytes[at] === 0x09
    const isNewField = !isFolded && !(at > start && isLooseBoundary(bytes, at))
    if (isNewField && at > start) finishField(at)
    if (isBlank) return { headers, bodyAt: lineEnd, isCut: false }
    if (isEnd(at, lineEnd)) return { headers, bodyAt: at, isCut: false }
    if (lineEnd - start > bytesMax || headers.length >= fieldsMax) {
      finishField(Math.min(at, start + bytesMax))
      return { headers, bodyAt: findBody(bytes, at), isCut: true }
    }
    at = lineEnd
  }
  finishField(bytes.length)
  return { headers, bodyAt: bytes.length, isCut: false }
}

export function isField(line: Buffer): boolean {
  return FIELD.test(line.subarray(0, 200).toString('latin1'))
}

/** Of nothing, however often something has put a CR before its end. */
function isBlankLine(bytes: Buffer, start: number): boolean {
  let at = start
  while (bytes[at] === CR) at++
  return bytes[at] === LF
}

const BOUNDARY = 'boundary='
const SEMICOLON = 0x3b

/** A parameter of the line before, which ends with a semicolon: some forget to indent it. */
function isLooseBoundary(bytes: Buffer, at: number): boolean {
  let end = at - 1
  if (bytes[end] === LF) end--
  if (bytes[end] === CR) end--
  if (bytes[end] !== SEMICOLON) return false
  const beginning = bytes.subarray(at, at + BOUNDARY.length).toString('latin1')
  return beginning.toLowerCase() === BOUNDARY
}

function endOfLine(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(LF, at)
  return end < 0 ? bytes.length : end + 1
}

function readField(bytes: Buffer): MessageHeader | undefined {
  const text = decodeUnlabelled(bytes)
  const found = FIELD.exec(text)
  if (found === null) return undefined
  const [whole, name = ''] = found
  const value = text.slice(whole.length).replace(/\r?\n(?=[ \t])/g, '')
  return { name, value: cleanText(value.replace(/[\r\n]/g, ' ')).trim() }
}

function findBody(bytes: Buffer, from: number): number {
  const ends = ['\n\n', '\n\r\n'].flatMap((blank) => {
    const at = bytes.indexOf(blank, Math.max(0, from - 1), 'latin1')
    return at < 0 ? [] : at + blank.length
  })
  return Math.min(bytes.length, ...ends)
}

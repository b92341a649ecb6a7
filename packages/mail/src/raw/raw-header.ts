/**
 * Reads the header of a message that was handed in, strictly (RFC 5322 §2.2, §3.6): what two programs
 * could read in two ways is refused, so that nobody downstream sees another sender or another recipient.
 * One pass over its bytes; fields are offsets.
 */
import { decodeUnlabelled } from '../parse/decode-text.ts'

export interface RawField {
  /** In lower case. */
  readonly name: string
  /** As it is written. */
  readonly label: string
  /** From its name to the end of its last line. */
  readonly start: number
  readonly end: number
  /** After the colon, unfolded. */
  readonly value: string
}

export interface RawHeader {
  readonly fields: readonly RawField[]
  /** Of the empty line behind the fields; the message's end where there is none. */
  readonly end: number
  readonly bodyAt: number
}

/** A sentence about the message, for the program that sent it. */
export interface RawProblem {
  readonly problem: string
}

const HEADER_BYTES_MAX = 512 * 1024
const FIELDS_MAX = 2_000
const NAME_BYTES_MAX = 200
const NAME = /^[!-9;-~]+$/
const CR = 0x0d
const LF = 0x0a
const COLON = 0x3a
/** RFC 5322 §3.6. Bcc is taken out, however often it stands there. */
const ONCE: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'in-reply-to',
  'references',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
])

export function readRawHeader(bytes: Buffer): RawHeader | RawProblem {
  const fields: RawField[] = []
  const seen = new Set<string>()
  let at = 0
  while (at < bytes.length) {
    const lineEnd = endOfLine(bytes, at)
    if (lineEnd - at === 2) return { fields, end: at, bodyAt: lineEnd }
    const end = endOfField(bytes, lineEnd)
    if (end > HEADER_BYTES_MAX || fields.length >= FIELDS_MAX)
      return {
        problem: `has more than ${HEADER_BYTES_MAX} bytes or ${FIELDS_MAX} fields of header`,
      }
    const field = readField(bytes, at, end)
    if ('problem' in field) return field
    if (ONCE.has(field.name) && seen.has(field.name))
      return { problem: `has the header field ${field.name} twice` }
    seen.add(field.name)
    fields.push(field)
    at = end
  }
  return { fields, end: at, bodyAt: at }
}

/** Line ends are whole where this is called. */
function endOfLine(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(LF, at)
  return end < 0 ? bytes.length : end + 1
}

function endOfField(bytes: Buffer, lineEnd: number): number {
  let end = lineEnd
  while (end < bytes.length && end <= HEADER_BYTES_MAX && isBlank(bytes[end]))
    end = endOfLine(bytes, end)
  return end
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09
}

function readField(bytes: Buffer, start: number, end: number): RawField | RawProblem {
  const head = bytes.subarray(start, Math.min(end, start + NAME_BYTES_MAX))
  const colon = head.indexOf(COLON)
  const name = colon < 0 ? '' : head.toString('latin1', 0, colon)
  if (!NAME.test(name)) return { problem: `has a header line that is no field: ${shown(head)}` }
  const value = decodeUnlabelled(bytes.subarray(start + colon + 1, end))
  return {
    name: name.toLowerCase(),
    label: name,
    start,
    end,
    value: value.replace(/\r\n/g, '').trim(),
  }
}

function shown(head: Buffer): string {
  const [line = ''] = head.toString('latin1').split('\r\n', 1)
  return JSON.stringify(line.replace(/[^ -~]/g, '?').slice(0, 60))
}

/**
 * What makes a message end early, or differ, to some of those who read it. Looks for single bytes, which
 * takes a tenth of a second for 100 MB.
 */
export function problemOfBytes(bytes: Buffer): string | undefined {
  if (bytes.indexOf(0) >= 0) return 'has a NUL'
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf)
    return 'begins with a byte order mark'
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1))
    if (bytes[at - 1] !== CR) return 'has a bare LF: lines end with CRLF'
  for (let at = bytes.indexOf(CR); at >= 0; at = bytes.indexOf(CR, at + 1))
    if (bytes[at + 1] !== LF) return 'has a bare CR: lines end with CRLF'
  return undefined
}

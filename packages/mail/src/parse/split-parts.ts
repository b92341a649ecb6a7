/**
 * Finds the parts of a message in one pass over its bytes (RFC 2046 §5.1), however broken or hostile it
 * is: a delimiter that is missing ends a part no later than the message, one too many ends nothing.
 * Multiparts are not entered beyond a depth: such a one is a part as it stands. Messages within a
 * message are not entered either.
 *
 * It is not done with postal-mime, which keeps an object for every line of a body: a message of 24 MB
 * in lines of 60 took it 7 s, and one of a million lines more than 256 MB; here it is a tenth of a
 * second.
 */
import { headerOf, readStructured, type StructuredValue } from './header-values.ts'
import type { MessageHeader } from './parsed-message.ts'
import { type HeaderSection, readHeaders } from './read-headers.ts'

/** A part that is no multipart, or is not entered. */
export interface LeafPart {
  readonly headers: readonly MessageHeader[]
  readonly type: StructuredValue
  readonly disposition: StructuredValue
  /** Encoded as it came. */
  readonly bytes: Buffer
  /** Where its headers begin. */
  readonly headerAt: number
}

export interface SplitMessage {
  readonly parts: readonly LeafPart[]
  /** The types of the multiparts that were entered. */
  readonly multiparts: ReadonlySet<string>
  readonly problems: ReadonlySet<string>
}

export interface SplitLimits {
  readonly depthMax: number
  readonly partsMax: number
}

interface Multipart {
  readonly boundary: Buffer
  readonly isDigest: boolean
}

/** Of RFC 2046 §5.1.1, thrice. */
const BOUNDARY_BYTES_MAX = 210
const LINE_BYTES_MAX = 512
const PART_HEADER_LIMITS = { bytesMax: 65_536, fieldsMax: 1_000 }
const DASHES = '\n--'
const DASH = 0x2d

export function splitParts(
  bytes: Buffer,
  root: HeaderSection,
  { depthMax, partsMax }: SplitLimits,
): SplitMessage {
  const parts: LeafPart[] = []
  const problems = new Set<string>()
  const multiparts = new Set<string>()
  const open: Multipart[] = []
  let leaf: (Omit<LeafPart, 'bytes'> & { readonly at: number }) | undefined
  let partCount = 0

  const begin = ({ headers, bodyAt, isCut }: HeaderSection, headerAt: number) => {
    partCount += 1
    if (isCut) problems.add('A header section is too long')
    const type = typeOf(headers, open.at(-1)?.isDigest === true)
    const boundary = type.value.startsWith('multipart/') ? boundaryOf(type) : ''
    const isEntered = boundary !== '' && boundary.length <= BOUNDARY_BYTES_MAX
    if (isEntered && open.length < depthMax) {
      multiparts.add(type.value)
      open.push({
        boundary: Buffer.from(boundary, 'latin1'),
        isDigest: type.value === 'multipart/digest',
      })
      return
    }
    if (isEntered) problems.add('Parts are nested too deeply')
    const disposition = readStructured(headerOf(headers, 'content-disposition'))
    leaf = { headers, type, disposition, headerAt, at: bodyAt }
  }
  const finish = (end: number) => {
    if (leaf === undefined) return
    const { at, ...rest } = leaf
    parts.push({ ...rest, bytes: bytes.subarray(at, Math.max(at, end)) })
    leaf = undefined
  }
  const isDelimiter = (start: number, end: number) =>
    delimiterOf(bytes, start, end, open) !== undefined

  begin(root, 0)
  let at = root.bodyAt
  while (open.length > 0) {
    const dashes = startsWithDashes(bytes, at) ? at : bytes.indexOf(DASHES, at, 'latin1') + 1
    if (dashes === 0) break
    const newline = bytes.indexOf(0x0a, dashes)
    const lineEnd = newline < 0 ? bytes.length : newline + 1
    const delimiter = delimiterOf(bytes, dashes, lineEnd, open)
    at = lineEnd
    if (delimiter === undefined) continue
    finish(beforeLineEnd(bytes, dashes))
    open.length = delimiter.level + (delimiter.isLast ? 0 : 1)
    if (delimiter.isLast) continue
    if (partCount >= partsMax) {
      problems.add('The message has too many parts')
      return { parts, multiparts, problems }
    }
    const section = readHeaders(bytes, lineEnd, PART_HEADER_LIMITS, isDelimiter)
    begin(section, lineEnd)
    at = section.bodyAt
  }
  finish(bytes.length)
  return { parts, multiparts, problems }
}

function typeOf(headers: readonly MessageHeader[], isInDigest: boolean): StructuredValue {
  const type = readStructured(headerOf(headers, 'content-type'))
  if (type.value.includes('/')) return type
  return { ...type, value: isInDigest ? 'message/rfc822' : 'text/plain' }
}

function boundaryOf({ parameters }: StructuredValue): string {
  const boundary = parameters.get('boundary') ?? ''
  return Buffer.from(boundary).toString('latin1').trimEnd()
}

interface Delimiter {
  readonly level: number
  readonly isLast: boolean
}

/**
 * Which of the open multiparts a line belongs to, the innermost of a name; blanks may follow. No string
 * is made of the line: a message has millions of lines that begin with dashes, if its sender wants it.
 */
function delimiterOf(
  bytes: Buffer,
  start: number,
  end: number,
  open: readonly Multipart[],
): Delimiter | undefined {
  if (bytes[start] !== DASH || bytes[start + 1] !== DASH) return undefined
  const from = start + 2
  let to = Math.min(end, start + LINE_BYTES_MAX)
  while (to > from && isBlank(bytes[to - 1])) to--
  const level = levelOf(bytes, from, to, open)
  if (level >= 0) return { level, isLast: false }
  if (bytes[to - 1] !== DASH || bytes[to - 2] !== DASH) return undefined
  const last = levelOf(bytes, from, to - 2, open)
  return last < 0 ? undefined : { level: last, isLast: true }
}

function levelOf(bytes: Buffer, from: number, to: number, open: readonly Multipart[]): number {
  for (let level = open.length - 1; level >= 0; level--) {
    const boundary = open[level]?.boundary
    if (boundary?.length !== to - from) continue
    let i = 0
    while (i < boundary.length && boundary[i] === bytes[from + i]) i++
    if (i === boundary.length) return level
  }
  return -1
}

/** What `trim` takes away, of bytes as characters. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0xa0 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)
}

function startsWithDashes(bytes: Buffer, at: number): boolean {
  const isAtLine = at === 0 || bytes[at - 1] === 0x0a
  return isAtLine && bytes[at] === 0x2d && bytes[at + 1] === 0x2d
}

/** The line break before a delimiter belongs to it. */
function beforeLineEnd(bytes: Buffer, at: number): number {
  if (bytes[at - 1] !== 0x0a) return at
  return bytes[at - 2] === 0x0d ? at - 2 : at - 1
}

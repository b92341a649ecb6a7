/**
 * A message as a verifier can read it within bounds: what senders choose (how many signatures, how long a
 * line, a header or a row of blanks) makes some of mailauth's work grow by its square. The work here is
 * linear in the header, whatever is in it.
 */
import { Readable } from 'node:stream'

export type Verifiable =
  | {
      readonly kind: 'verifiable'
      readonly header: Buffer
      readonly body: Buffer
      /** More ARC sets than are looked at: none is left in the header. */
      readonly hasSurplusChain: boolean
    }
  | { readonly kind: 'unverifiable'; readonly why: string }

const CR = 0x0d
const LF = 0x0a
const SLICE_BYTES = 16 * 1024
const HEADER_BYTES_MAX = 256 * 1024
const HEADER_LINES_MAX = 2_000
/** Of a signature's header; its list of signed fields is compared with all of them. */
const SIGNATURE_BYTES_MAX = 8 * 1024
/** RFC 5322 §2.1.1 allows 998. */
const LINE_BYTES_MAX = 64 * 1024
const NOTHING = Buffer.alloc(0)
/** mailauth looks for the end of a row of them from each of them. */
const BARE_ENDS = /\r{100}/
const DKIM = 'dkim-signature'
const CHAIN: ReadonlySet<string> = new Set([
  'arc-seal',
  'arc-message-signature',
  'arc-authentication-results',
])
const SIGNATURES: ReadonlySet<string> = new Set([DKIM, ...CHAIN])
/** RFC 8617 §4.2.1 allows 50, each signed over all before it. */
const CHAIN_SETS_MAX = 10
/** Within a signature. Folded lines begin with some; many trims look for the end of a row from each. */
const ROW_OF_BLANKS = /[ \t\r\n]{200}/
/** With the blanks behind it, whose end is looked for from each of them. RFC 5322 §2.1.1 allows 998. */
const NAME_BYTES_MAX = 998
/** Of fields that are read as a structure: addresses, groups, parameters. RFC 5322 §2.1.1 wants 998. */
const STRUCTURED_BYTES_MAX = 16 * 1024
const STRUCTURED: ReadonlySet<string> = new Set(['from', 'content-type'])
/** Anywhere, so that no way to write a name leaves a signature without the body that it is of. */
const NAMES_SIGNATURE = /dkim-signature|arc-message-signature/i

export function makeVerifiable(raw: Buffer, signaturesMax: number): Verifiable {
  const end = endOfHeader(raw)
  if (end > HEADER_BYTES_MAX) return refuse('its header is too long')
  const text = raw.toString('latin1', 0, endOfLines(raw, end))
  if (BARE_ENDS.test(text)) return refuse('its header has bare line ends')
  const lines = text.split(/\r?\n/)
  if (lines.length > HEADER_LINES_MAX) return refuse('its header has too many lines')
  const found = fieldsOf(lines)
  // They could not be left out: who reads the message may see an author there.
  if (found.some((field) => beforeColon(field).length > NAME_BYTES_MAX))
    return refuse('the name of a header field is too long')
  const all = found.map((field) => ({ name: nameOf(field), field }))
  if (hasLongStructure(all)) return refuse('one of its header fields is too long')
  const hasSurplusChain = countMost(all, CHAIN) > CHAIN_SETS_MAX
  const named = hasSurplusChain ? all.filter(({ name }) => !CHAIN.has(name)) : all
  const fields = withoutSurplus(named, signaturesMax)
  // What nobody has signed need not be read.
  const isSigned = NAMES_SIGNATURE.test(text.replaceAll(/[\r\n]/g, ''))
  const body = isSigned ? raw.subarray(end) : NOTHING
  if (hasLongLine(body)) return refuse('it has a line that is too long')
  const header = Buffer.from(`${fields.join('\r\n')}\r\n\r\n`, 'latin1')
  return { kind: 'verifiable', header, body, hasSurplusChain }
}

/** Mailauth copies what it is given whole. */
export function inSlices({ header, body }: Pick<Verified, 'header' | 'body'>): Readable {
  function* slices(): Generator<Buffer> {
    yield header
    let last = 0
    for (let at = 0; at < body.length; at += SLICE_BYTES) {
      const slice = body.subarray(at, at + SLICE_BYTES)
      yield withLineEnds(slice, last)
      last = slice.at(-1) ?? 0
    }
  }
  return Readable.from(slices(), { objectMode: false })
}

type Verified = Extract<Verifiable, { readonly kind: 'verifiable' }>

/** After the empty line; a message without one is all header. */
function endOfHeader(raw: Buffer): number {
  for (let at = 0; at < Math.min(raw.length, HEADER_BYTES_MAX + 1); ) {
    const lineEnd = raw.indexOf(LF, at)
    if (lineEnd < 0) return raw.length
    const isEmpty = lineEnd === at || (lineEnd === at + 1 && raw[at] === CR)
    if (isEmpty) return lineEnd + 1
    at = lineEnd + 1
  }
  return raw.length
}

/** Without the empty line, and what else there is of line ends before it. */
function endOfLines(raw: Buffer, end: number): number {
  let at = end
  while (at > 0 && (raw[at - 1] === LF || raw[at - 1] === CR)) at -= 1
  return at
}

/** The colon may stand on the next line (RFC 5322 §4.5.8). */
const FIELD = /^[!-9;-~]+[ \t\r\n]*:/

/** As mailauth reads them: each with all lines below it that begin none. */
function fieldsOf(lines: readonly string[]): string[] {
  const fields: string[][] = []
  for (const [i, line] of lines.entries()) {
    const open = fields.at(-1)
    if (open === undefined || FIELD.test(`${line}\r\n${lines[i + 1] ?? ''}`)) fields.push([line])
    else open.push(line)
  }
  return fields.map((field) => field.join('\r\n'))
}

interface NamedField {
  readonly name: string
  readonly field: string
}

/** The uppermost are the latest. */
function withoutSurplus(fields: readonly NamedField[], signaturesMax: number): string[] {
  let signatures = 0
  const kept = fields.filter(({ name, field }) => {
    if (!SIGNATURES.has(name)) return true
    if (field.length > SIGNATURE_BYTES_MAX || ROW_OF_BLANKS.test(field)) return false
    if (name !== DKIM) return true
    signatures += 1
    return signatures <= signaturesMax
  })
  return kept.map(({ field }) => field)
}

function nameOf(field: string): string {
  const name = beforeColon(field).replaceAll(/\r?\n/g, '')
  return name.replaceAll(/^[ \t]+|[ \t]+$/g, '').toLowerCase()
}

/** All of it where there is none: the first line of a header may be no field. */
function beforeColon(field: string): string {
  const at = field.indexOf(':')
  return at < 0 ? field : field.slice(0, at)
}

function countMost(fields: readonly NamedField[], names: ReadonlySet<string>): number {
  return Math.max(...[...names].map((one) => fields.filter(({ name }) => name === one).length))
}

function hasLongStructure(fields: readonly NamedField[]): boolean {
  return [...STRUCTURED].some(
    (one) =>
      fields.reduce((sum, { name, field }) => sum + (name === one ? field.length : 0), 0) >
      STRUCTURED_BYTES_MAX,
  )
}

function hasLongLine(body: Buffer): boolean {
  for (let at = 0; body.length - at > LINE_BYTES_MAX; ) {
    const lineEnd = body.subarray(at, at + LINE_BYTES_MAX).lastIndexOf(LF)
    if (lineEnd < 0) return true
    at += lineEnd + 1
  }
  return false
}

/** A line end for each LF: mailauth would hand out every bare one by itself. */
function withLineEnds(slice: Buffer, before: number): Buffer {
  let bare = 0
  for (let i = 0; i < slice.length; i++)
    if (slice[i] === LF && (i === 0 ? before : slice[i - 1]) !== CR) bare += 1
  if (bare === 0) return slice
  const whole = Buffer.allocUnsafe(slice.length + bare)
  let to = 0
  for (let i = 0; i < slice.length; i++) {
    const byte = slice[i] ?? 0
    if (byte === LF && (i === 0 ? before : slice[i - 1]) !== CR) whole[to++] = CR
    whole[to++] = byte
  }
  return whole
}

function refuse(why: string): Verifiable {
  return { kind: 'unverifiable', why }
}

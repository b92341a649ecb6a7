/**
 * A message as a verifier can read it within bounds: what senders choose (how many signatures, how long a
 * line or a header) makes some of mailauth's work grow by its square.
 *
 * Its bytes are handed out in slices, so that others have their turn between them, and no longer than
 * until the deadline.
 */
import { Readable } from 'node:stream'

export type Verifiable =
  | { readonly kind: 'verifiable'; readonly header: Buffer; readonly body: Buffer }
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
const SIGNATURES: ReadonlySet<string> = new Set([DKIM, 'arc-seal', 'arc-message-signature'])
/** Anywhere, so that no way to write a name leaves a signature without the body that it is of. */
const NAMES_SIGNATURE = /dkim-signature|arc-message-signature/i

export function makeVerifiable(raw: Buffer, signaturesMax: number): Verifiable {
  const end = endOfHeader(raw)
  if (end > HEADER_BYTES_MAX) return refuse('its header is too long')
  const text = raw.toString('latin1', 0, endOfLines(raw, end))
  if (BARE_ENDS.test(text)) return refuse('its header has bare line ends')
  const lines = text.split(/\r?\n/)
  if (lines.length > HEADER_LINES_MAX) return refuse('its header has too many lines')
  const fields = withoutSurplus(fieldsOf(lines), signaturesMax)
  // What nobody has signed need not be read.
  const isSigned = NAMES_SIGNATURE.test(text.replaceAll(/[\r\n]/g, ''))
  const body = isSigned ? raw.subarray(end) : NOTHING
  if (hasLongLine(body)) return refuse('it has a line that is too long')
  const header = Buffer.from(`${fields.join('\r\n')}\r\n\r\n`, 'latin1')
  return { kind: 'verifiable', header, body }
}

/** Ends with an error when it is over. */
export function readInSlices(
  { header, body }: { readonly header: Buffer; readonly body: Buffer },
  isOver: () => boolean,
): Readable {
  async function* slices(): AsyncGenerator<Buffer> {
    yield header
    let last = 0
    for (let at = 0; at < body.length; at += SLICE_BYTES) {
      if (isOver()) throw new Error('it took too long')
      const slice = body.subarray(at, at + SLICE_BYTES)
      yield withLineEnds(slice, last)
      last = slice.at(-1) ?? 0
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return Readable.from(slices(), { objectMode: false })
}

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

/** The uppermost are the latest. */
function withoutSurplus(fields: readonly string[], signaturesMax: number): string[] {
  let signatures = 0
  return fields.filter((field) => {
    const name = nameOf(field)
    if (!SIGNATURES.has(name)) return true
    if (field.length > SIGNATURE_BYTES_MAX) return false
    if (name !== DKIM) return true
    signatures += 1
    return signatures <= signaturesMax
  })
}

function nameOf(field: string): string {
  const name = field.slice(0, field.indexOf(':')).replaceAll(/\r?\n/g, '')
  return name.replaceAll(/^[ \t]+|[ \t]+$/g, '').toLowerCase()
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

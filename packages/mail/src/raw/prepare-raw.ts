/**
 * Makes a message that was handed in ready for all its copies. Where nothing is written into it, its bytes
 * stay as they are. A part whose text changes is encoded anew, in UTF-8, with the headers that say so; all
 * other bytes stay.
 */
import { checkBodyText, type PreparedMessage } from '../build-message.ts'
import { encodeTextBody, joinInTurns } from '../encode-body.ts'
import { headerLine, type Mailbox, mailboxLine, textLine } from '../header-lines.ts'
import { findPlaceholders, type MarkedBody, type Placeholders } from '../placeholders.ts'
import { type RawHeader, readRawHeader } from './raw-header.ts'
import { charsetOf, type PartPlace } from './read-raw.ts'

export interface ChangedPart {
  readonly type: 'text/plain' | 'text/html'
  readonly place: PartPlace
  readonly text: string
}

type Piece = Buffer | MarkedBody

export async function prepareRaw(o: {
  readonly raw: Buffer
  readonly hasMessageId: boolean
  /** Of a copy that goes to no recipient. */
  readonly bcc?: readonly Mailbox[] | undefined
  readonly changed: readonly ChangedPart[]
  /** Of `id`, where the changed parts hold them. */
  readonly id: string
  readonly placeholders?: Placeholders | undefined
}): Promise<PreparedMessage> {
  const { bcc = [] } = o
  const mark = (encoded: Parameters<typeof findPlaceholders>[0]) =>
    o.placeholders && findPlaceholders(encoded, o.id, o.placeholders)
  return {
    beforeMessageId: Buffer.from(bcc.length > 0 ? mailboxLine('Bcc', bcc) : ''),
    afterMessageId: await changeParts(o.raw, o.changed, mark),
    ...(o.hasMessageId ? { hasMessageId: true } : {}),
  }
}

/** With texts that were rendered in place of those that were handed in. */
export async function rewriteRaw(
  raw: Buffer,
  changed: readonly ChangedPart[],
  subject: string,
): Promise<Buffer> {
  const pieces = (await changeParts(raw, changed, () => undefined)) as readonly Buffer[]
  const whole = await joinInTurns(pieces)
  const header = readRawHeader(whole)
  if ('problem' in header) throw new Error(`a message that was read ${header.problem}`)
  const field = header.fields.find(({ name }) => name === 'subject')
  const at = field?.start ?? 0
  const line = Buffer.from(textLine('Subject', subject))
  return await joinInTurns([whole.subarray(0, at), line, whole.subarray(field?.end ?? at)])
}

async function changeParts(
  raw: Buffer,
  changed: readonly ChangedPart[],
  mark: (encoded: Parameters<typeof findPlaceholders>[0]) => MarkedBody | undefined,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = []
  let at = 0
  for (const { type, place, text } of [...changed].sort(byPlace)) {
    const problem = checkBodyText(text)
    if (problem !== undefined) throw new TypeError(`a part ${problem}`)
    const encoded = await encodeTextBody(text)
    pieces.push(
      raw.subarray(at, place.headerAt),
      headerOf(raw.subarray(place.headerAt, place.bodyAt), type, encoded.encoding),
    )
    const marked = mark(encoded)
    if (marked === undefined) pieces.push(...encoded.parts)
    else pieces.push(marked)
    at = place.bodyEnd
  }
  // Base64 is written without the end of its last line, and SMTP ends a message with one.
  const isLast = at === raw.length && changed.length > 0
  pieces.push(isLast ? Buffer.from('\r\n') : raw.subarray(at))
  return pieces
}

function byPlace(a: ChangedPart, b: ChangedPart): number {
  return a.place.bodyAt - b.place.bodyAt
}

/** The part's other fields stay as they are, a Content-Type that says UTF-8 among them. */
function headerOf(header: Buffer, type: ChangedPart['type'], encoding: string): Buffer {
  const read = readPartHeader(header)
  const kept: Buffer[] = []
  let contentType = headerLine('Content-Type', `${type}; charset=utf-8`)
  for (const { name, start, end, value } of read.fields) {
    const field = header.subarray(start, end)
    if (name === 'content-type' && charsetOf(value) === 'utf-8')
      contentType = field.toString('latin1')
    if (name !== 'content-type' && name !== 'content-transfer-encoding') kept.push(field)
  }
  const own = contentType + headerLine('Content-Transfer-Encoding', encoding)
  return Buffer.concat([...kept, Buffer.from(`${own}\r\n`, 'latin1')])
}

/** A part may have no fields, and lines that are none: these go. */
function readPartHeader(header: Buffer): RawHeader {
  const read = readRawHeader(header)
  return 'problem' in read ? { fields: [], end: 0, bodyAt: header.length } : read
}

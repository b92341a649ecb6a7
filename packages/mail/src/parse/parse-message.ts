/**
 * Reads a message (RFC 5322, RFC 2045 to 2049): everything that can be read of any bytes, within
 * limits of depth, parts and headers. It answers for every input; a problem says what is missing.
 */
import { readReports } from '../reports/read-reports.ts'
import { cleanBody } from './clean-text.ts'
import { decodeBody } from './decode-body.ts'
import { decodeText } from './decode-text.ts'
import {
  decodeHeaderText,
  headerOf,
  headersOf,
  mailboxesOf,
  messageIdsOf,
  readStructured,
} from './header-values.ts'
import { isAutoReply } from './is-auto-reply.ts'
import type { MessageHeader, ParsedAttachment, ParsedMessage } from './parsed-message.ts'
import { type HeaderSection, isField, readHeaders } from './read-headers.ts'
import { type LeafPart, splitParts } from './split-parts.ts'

export interface ParseLimits {
  readonly headerBytesMax: number
  readonly headersMax: number
  readonly depthMax: number
  readonly partsMax: number
}

export const PARSE_LIMITS: ParseLimits = {
  headerBytesMax: 256 * 1024,
  headersMax: 10_000,
  depthMax: 50,
  partsMax: 1_000,
}

export function parseMessage(raw: Uint8Array, limits: ParseLimits = PARSE_LIMITS): ParsedMessage {
  const bytes = withLineEnds(raw)
  const section = readRoot(bytes, limits)
  const { parts, problems } = splitParts(bytes, section, limits)
  const { text, html, attachments } = readContent(
    parts.length > 0 ? parts : [wholeOf(bytes, section)],
  )
  const { headers } = section
  const type = readStructured(headerOf(headers, 'content-type'))
  const reports = readReports({
    headers,
    reportType: (type.parameters.get('report-type') ?? '').toLowerCase(),
    text,
    html,
    parts: attachments,
  })
  const isReport = reports.length > 0 || type.value === 'multipart/report'
  const fields = readFields(headers, isReport)
  const problem = [...problems].join('. ')
  return {
    ...fields,
    text,
    html,
    attachments,
    reports,
    ...(problem === '' ? {} : { problem }),
  }
}

/** What is left to tell of a message that cannot be read further, from its beginning. */
export function parseHeadersOnly(
  raw: Uint8Array,
  limits: ParseLimits,
  problem: string,
): ParsedMessage {
  const { headers } = readRoot(withLineEnds(raw), limits)
  return {
    ...readFields(headers, false),
    text: '',
    html: '',
    attachments: [],
    reports: [],
    problem,
  }
}

function readFields(headers: readonly MessageHeader[], isReport: boolean) {
  const [from = { email: '', name: '' }] = mailboxesOf(headersOf(headers, 'from'))
  const [messageId = ''] = messageIdsOf(headerOf(headers, 'message-id'))
  const [inReplyTo = ''] = messageIdsOf(headerOf(headers, 'in-reply-to'))
  const subject = decodeHeaderText(headerOf(headers, 'subject'))
  return {
    messageId,
    inReplyTo,
    references: messageIdsOf(headerOf(headers, 'references')),
    from,
    to: mailboxesOf(headersOf(headers, 'to')),
    cc: mailboxesOf(headersOf(headers, 'cc')),
    replyTo: mailboxesOf(headersOf(headers, 'reply-to')),
    subject,
    headers,
    isAutoReply: isAutoReply(headers, { subject, isReport }),
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** Some are written with CR alone, and some with a mark in front. */
function withLineEnds(raw: Uint8Array): Buffer {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  const isMarked = bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const plain = isMarked ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes
  if (plain.includes(0x0a) || !plain.includes(0x0d)) return plain
  return Buffer.from(plain.map((byte) => (byte === 0x0d ? 0x0a : byte)))
}

/** What does not begin with a field, nor with the line of a mailbox file, is all body. */
function readRoot(bytes: Buffer, { headerBytesMax, headersMax }: ParseLimits): HeaderSection {
  const isBody = !isField(bytes) && !/^>?From /.test(bytes.subarray(0, 6).toString('latin1'))
  if (isBody && bytes[0] !== 0x0a && bytes[0] !== 0x0d)
    return { headers: [], bodyAt: 0, isCut: false }
  return readHeaders(bytes, 0, { bytesMax: headerBytesMax, fieldsMax: headersMax })
}

/** Of a multipart without parts: its body as text. */
export function wholeOf(bytes: Buffer, { headers, bodyAt }: HeaderSection): LeafPart {
  return {
    headers: headers.filter(({ name }) => !/^content-(type|transfer)/i.test(name)),
    type: readStructured('text/plain'),
    disposition: readStructured(''),
    bytes: bytes.subarray(bodyAt),
    headerAt: 0,
  }
}

function readContent(parts: readonly LeafPart[]) {
  const shown: Record<'text/plain' | 'text/html', string[]> = { 'text/plain': [], 'text/html': [] }
  const attachments: ParsedAttachment[] = []
  for (const part of parts) {
    const { value: type } = part.type
    const content = decodeBody(part.bytes, encodingOf(part))
    const isText = type === 'text/plain' || type === 'text/html'
    if (isText && isShown(part, shown[type].length === 0)) {
      const charset = part.type.parameters.get('charset')
      shown[type].push(textOf(content, charset, type === 'text/html'))
    } else attachments.push(toAttachment(part, content))
  }
  return {
    text: shown['text/plain'].join('\n'),
    html: shown['text/html'].join('\n'),
    attachments,
  }
}

/** A text with a name is a file, unless it is the first. */
export function isShown(part: LeafPart, isFirst: boolean): boolean {
  return part.disposition.value !== 'attachment' && (isFirst || filenameOf(part) === '')
}

export function textOf(content: Uint8Array, charset: string | undefined, isHtml: boolean): string {
  return cleanBody(decodeText(content, charset, isHtml))
}

export function encodingOf({ headers }: LeafPart): string {
  return readStructured(headerOf(headers, 'content-transfer-encoding')).value
}

export function filenameOf({ disposition, type }: LeafPart): string {
  return disposition.parameters.get('filename') ?? type.parameters.get('name') ?? ''
}

function toAttachment(part: LeafPart, content: Uint8Array<ArrayBuffer>): ParsedAttachment {
  const contentId = headerOf(part.headers, 'content-id').replace(/^<|>$/g, '')
  const isInline =
    part.disposition.value === 'inline' || (part.disposition.value === '' && contentId !== '')
  return {
    filename: filenameOf(part),
    type: part.type.value.slice(0, TYPE_CHARS_MAX),
    size: content.length,
    contentId: contentId === '' ? null : contentId,
    disposition: isInline ? 'inline' : 'attachment',
    content,
  }
}

const TYPE_CHARS_MAX = 200

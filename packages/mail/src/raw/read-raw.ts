/**
 * Reads a message that a program handed in, in time that is linear in its size: who it says it is from,
 * what it asks of the service, its texts, and where in it these stand. The message itself stays as it is,
 * but for fields that are taken out and a Date where it has none.
 */
import { createHash } from 'node:crypto'
import { parseAddress } from '../address.ts'
import { headerLine } from '../header-lines.ts'
import { decodeBody } from '../parse/decode-body.ts'
import { decodeHeaderText, mailboxesOf, readStructured } from '../parse/header-values.ts'
import {
  encodingOf,
  filenameOf,
  isShown,
  PARSE_LIMITS,
  textOf,
  wholeOf,
} from '../parse/parse-message.ts'
import { readHeaders } from '../parse/read-headers.ts'
import { type LeafPart, splitParts } from '../parse/split-parts.ts'
import { problemOfBytes, type RawField, type RawHeader, readRawHeader } from './raw-header.ts'

interface RawMailbox {
  /** In wire form where it has one, else as it is written. */
  readonly address: string
  readonly name?: string
}

/** Where a part stands. */
export interface PartPlace {
  readonly headerAt: number
  readonly bodyAt: number
  readonly bodyEnd: number
}

export interface RawAttachment {
  readonly filename: string
  readonly type: string
  readonly size: number
  readonly disposition: 'attachment' | 'inline'
  readonly contentId: string | null
  /** Of a page alone, which is as good as a link: its beginning, in base64. */
  readonly content: string
  /** Where its content stands in the message, encoded as it came. */
  readonly place: FilePlace
}

export interface FilePlace {
  readonly at: number
  readonly end: number
  readonly encoding: string
}

export interface RawMessage {
  /** As it is sent, but for what each copy has of its own. */
  readonly message: Buffer
  readonly from: RawMailbox
  readonly to: readonly RawMailbox[]
  readonly cc: readonly RawMailbox[]
  readonly replyTo?: RawMailbox
  readonly subject: string
  /** With its angle brackets. */
  readonly messageId?: string
  /** The fields that ask something of the service, by their names in lower case. */
  readonly controls: Readonly<Record<string, string>>
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Of all parts that are shown; the place where there is one alone. */
  readonly text?: string
  readonly textPlace?: PartPlace
  readonly html?: string
  readonly htmlPlace?: PartPlace
  readonly attachments: readonly RawAttachment[]
  /** Nothing in it may change: it is signed or encrypted. */
  readonly isSealed: boolean
  readonly hasUtf8Header: boolean
  /** Of what it says, whatever its dates, ids and boundaries. */
  readonly digest: string
}

export type RawReading =
  | { readonly kind: 'read'; readonly message: RawMessage }
  | {
      readonly kind: 'refused'
      /** Goes on after "The message". */
      readonly problem: string
      readonly isTooLarge?: boolean
    }

export interface RawOptions {
  /** Of the fields that are taken out and asked. */
  readonly controlPrefix: string
  /** Of all texts, encoded as they came. */
  readonly textBytesMax: number
  /** Of the plain text, and of the HTML. */
  readonly textCharsMax: number
  /** Where the message has no date. */
  readonly date: Date
}

const MESSAGE_ID = /^<[!-;=?-~]{1,995}>$/
const ADDRESSES_CHARS_MAX = 65_536
/** Three times as many as a message may have. */
const ADDRESSES_MAX = 3_000
const AUTHOR_CHARS_MAX = 2_000
/**
 * One address alone, or the last thing behind a name, with comments after it. In anything else another
 * program may find another address.
 */
const AUTHOR =
  /^(?:(?:"(?:[^"\\]|\\.)*"|\((?:[^()\\]|\\.)*\)|[^<>()"\\])*<[^<>()",:;\\\s]+>|[^<>()",:;\\\s]+)\s*(?:\((?:[^()\\]|\\.)*\)\s*)*$/
const CONTROL_CHARS_MAX = 65_536
const PAGE_BYTES_MAX = 1024 * 1024
/** All pages of a message: they are kept beside it. */
const PAGES_BYTES_MAX = 4 * 1024 * 1024
const SEALED =
  /^(?:multipart\/(?:signed|encrypted)|application\/(?:x-)?pkcs7-mime|application\/pgp-encrypted)$/
const SEALED_TEXT = /^-----BEGIN PGP (?:SIGNED )?MESSAGE-----/m
const PAGE_TYPE = /^(?:text\/html|application\/xhtml|image\/svg)/i
const PAGE_NAME = /\.(?:s?html?|xht(?:ml)?|svg)$/i
/** Recipients whom no other may see (RFC 5322 §3.6.3, §3.6.6). */
const BLIND: ReadonlySet<string> = new Set(['bcc', 'resent-bcc'])
/** Each sending makes them anew. */
const VOLATILE =
  /^(?:date|message-id|received|return-path|mime-version|content-|dkim-|arc-|x-mailer)/

export function readRaw(given: Uint8Array, o: RawOptions): RawReading {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  const problem = problemOfBytes(bytes)
  if (problem !== undefined) return refuse(problem)
  const header = readRawHeader(bytes)
  if ('problem' in header) return refuse(header.problem)
  const people = readPeople(header)
  if ('problem' in people) return refuse(people.problem)
  const controls = readControls(header, o)
  if ('problem' in controls) return refuse(controls.problem)
  const message = withoutControls(bytes, header, o)
  return readContent(message, header, { ...people, ...controls }, o)
}

function refuse(problem: string): RawReading {
  return { kind: 'refused', problem }
}

function fieldOf({ fields }: RawHeader, name: string): string | undefined {
  return fields.find((field) => field.name === name)?.value
}

function readPeople(header: RawHeader) {
  const found: Record<string, RawMailbox[]> = {}
  for (const name of ['from', 'to', 'cc', 'reply-to'] as const) {
    const value = fieldOf(header, name)
    if ((value?.length ?? 0) > ADDRESSES_CHARS_MAX)
      return {
        problem: `has a header field ${name} of more than ${ADDRESSES_CHARS_MAX} characters`,
      }
    found[name] = mailboxesOf(value === undefined ? [] : [value]).flatMap(
      ({ email, name: shown }) =>
        email === '' ? [] : { address: wireOf(email), ...(shown === '' ? {} : { name: shown }) },
    )
    if (found[name].length > ADDRESSES_MAX)
      return { problem: `has more than ${ADDRESSES_MAX} addresses in the header field ${name}` }
  }
  const [from, ...others] = found.from ?? []
  if (from === undefined) return { problem: 'has no address in a header field From' }
  if (others.length > 0) return { problem: 'has several authors in the header field From' }
  const author = fieldOf(header, 'from') ?? ''
  if (author.length > AUTHOR_CHARS_MAX || !AUTHOR.test(author))
    return { problem: 'has a header field From that is not of the form Name <address>' }
  const messageId = fieldOf(header, 'message-id')
  if (messageId !== undefined && !MESSAGE_ID.test(messageId))
    return { problem: 'has a Message-ID that is no <id@host> of at most 997 characters' }
  const [replyTo] = found['reply-to'] ?? []
  return {
    from,
    to: found.to ?? [],
    cc: found.cc ?? [],
    ...(replyTo === undefined ? {} : { replyTo }),
    ...(messageId === undefined ? {} : { messageId }),
  }
}

function wireOf(email: string): string {
  const parsed = parseAddress(email)
  return parsed.ok ? parsed.address.address : email
}

function readControls(header: RawHeader, o: RawOptions) {
  const controls: Record<string, string> = {}
  for (const field of header.fields) {
    if (!isControl(field, o)) continue
    const { name, label, value } = field
    if (controls[name] !== undefined) return { problem: `has the header field ${label} twice` }
    if (value.length > CONTROL_CHARS_MAX)
      return { problem: `has a header field ${label} of more than ${CONTROL_CHARS_MAX} characters` }
    controls[name] = decodeHeaderText(value)
  }
  return { controls }
}

function isControl({ name }: RawField, { controlPrefix }: RawOptions): boolean {
  return name.startsWith(controlPrefix)
}

/** Untouched, one piece of memory. */
function withoutControls(bytes: Buffer, header: RawHeader, o: RawOptions): Buffer {
  const { fields } = header
  const kept: Buffer[] = []
  if (!fields.some(({ name }) => name === 'date')) {
    const date = o.date.toUTCString().replace('GMT', '+0000')
    kept.push(Buffer.from(headerLine('Date', date)))
  }
  let from = 0
  for (const field of fields) {
    if (!BLIND.has(field.name) && !isControl(field, o)) continue
    kept.push(bytes.subarray(from, field.start))
    from = field.end
  }
  kept.push(bytes.subarray(from))
  // A header alone, without the line that ends it.
  if (header.end === header.bodyAt) kept.push(Buffer.from('\r\n'))
  const [only, ...others] = kept
  return only !== undefined && others.length === 0 ? only : Buffer.concat(kept)
}

type People = Pick<RawMessage, 'from' | 'to' | 'cc' | 'replyTo' | 'messageId' | 'controls'>

function readContent(
  message: Buffer,
  header: RawHeader,
  people: People,
  o: RawOptions,
): RawReading {
  const limits = { bytesMax: message.length, fieldsMax: Number.POSITIVE_INFINITY }
  const root = readHeaders(message, 0, limits)
  const { parts, multiparts, problems } = splitParts(message, root, PARSE_LIMITS)
  const [problem] = problems
  if (problem !== undefined) return refuse(`cannot be read: ${problem.toLowerCase()}`)
  const leaves = parts.length > 0 ? parts : [wholeOf(message, root)]
  const { shown, others } = divideParts(leaves)
  const textBytes = [...shown['text/plain'], ...shown['text/html']].reduce(
    (sum, { bytes }) => sum + bytes.length,
    0,
  )
  if (textBytes > o.textBytesMax)
    return {
      kind: 'refused',
      problem: `has more than ${o.textBytesMax} bytes of text`,
      isTooLarge: true,
    }
  const text = joined(shown['text/plain'], false)
  const html = joined(shown['text/html'], true)
  if (Math.max(text?.length ?? 0, html?.length ?? 0) > o.textCharsMax)
    return {
      kind: 'refused',
      problem: `has more than ${o.textCharsMax} characters of plain text or of HTML`,
      isTooLarge: true,
    }
  const types = [...multiparts, ...leaves.map(({ type }) => type.value)]
  const headers = header.fields.flatMap((field) =>
    BLIND.has(field.name) || isControl(field, o) ? [] : [[field.label, field.value] as const],
  )
  const subject = decodeHeaderText(fieldOf(header, 'subject') ?? '')
  const attachments = toAttachments(message, others)
  return {
    kind: 'read',
    message: {
      message,
      ...people,
      subject,
      headers,
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      ...placeOf('textPlace', message, shown['text/plain']),
      ...placeOf('htmlPlace', message, shown['text/html']),
      attachments,
      isSealed:
        types.some((type) => SEALED.test(type)) ||
        SEALED_TEXT.test(text ?? '') ||
        header.fields.some(({ name }) => name === 'dkim-signature'),
      hasUtf8Header: message.subarray(0, root.bodyAt).some((byte) => byte > 0x7f),
      digest: digestOf([
        headers.filter(([name]) => !VOLATILE.test(name.toLowerCase())),
        people.controls,
        text,
        html,
        others.map((part, i) => [attachments[i]?.filename, hashOf(part.bytes)]),
      ]),
    },
  }
}

/** What is read, and what is a file. */
function divideParts(leaves: readonly LeafPart[]) {
  const shown = { 'text/plain': [] as LeafPart[], 'text/html': [] as LeafPart[] }
  const others: LeafPart[] = []
  for (const part of leaves) {
    const type = part.type.value
    if ((type === 'text/plain' || type === 'text/html') && isShown(part, shown[type].length === 0))
      shown[type].push(part)
    else others.push(part)
  }
  return { shown, others }
}

function joined(parts: readonly LeafPart[], isHtml: boolean): string | undefined {
  if (parts.length === 0) return undefined
  return parts
    .map((part) => {
      const content = decodeBody(part.bytes, encodingOf(part))
      return textOf(content, part.type.parameters.get('charset'), isHtml)
    })
    .join('\n')
}

function placeOf<K extends 'textPlace' | 'htmlPlace'>(
  key: K,
  message: Buffer,
  parts: readonly LeafPart[],
): { readonly [key in K]?: PartPlace } {
  const [part, ...others] = parts
  if (part === undefined || others.length > 0) return {}
  const bodyAt = part.bytes.byteOffset - message.byteOffset
  const place = { headerAt: part.headerAt, bodyAt, bodyEnd: bodyAt + part.bytes.length }
  return { [key]: place } as { readonly [key in K]?: PartPlace }
}

function toAttachments(message: Buffer, parts: readonly LeafPart[]): RawAttachment[] {
  const files = parts.map((part) => ({ part, file: describeFile(part) }))
  const pages = files.filter(({ file }) => isPage(file)).length
  const pageBytesMax = Math.min(PAGE_BYTES_MAX, Math.floor(PAGES_BYTES_MAX / Math.max(1, pages)))
  return files.map(({ part, file }) => {
    const [encoding, at] = [encodingOf(part), part.bytes.byteOffset - message.byteOffset]
    const content = decodeBody(part.bytes, encoding)
    const page = isPage(file) ? content.subarray(0, pageBytesMax) : new Uint8Array()
    return {
      ...file,
      size: content.length,
      content: Buffer.from(page).toString('base64'),
      place: { at, end: at + part.bytes.length, encoding },
    }
  })
}

function isPage({ type, filename }: ReturnType<typeof describeFile>): boolean {
  return PAGE_TYPE.test(type) || PAGE_NAME.test(filename)
}

function describeFile(part: LeafPart): Omit<RawAttachment, 'size' | 'content' | 'place'> {
  const contentId = part.headers.find(({ name }) => /^content-id$/i.test(name))?.value ?? ''
  const isInline = part.disposition.value === 'inline'
  return {
    filename: filenameOf(part).slice(0, 255),
    type: part.type.value.slice(0, 200),
    disposition: isInline ? 'inline' : 'attachment',
    contentId: contentId === '' ? null : contentId.replace(/^<|>$/g, ''),
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}

function digestOf(value: unknown): string {
  return hashOf(Buffer.from(JSON.stringify(value)))
}

/** The type of a part as it is written, without its parameters. */
export function charsetOf(contentType: string): string {
  return (readStructured(contentType).parameters.get('charset') ?? '').toLowerCase()
}

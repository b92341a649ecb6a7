/**
 * Builds the bytes of messages (RFC 5322, RFC 2045 to 2047, RFC 2231): the same input gives the
 * same bytes, so that every attempt sends what the first one sent.
 *
 * The copies of an email differ in nothing but their Message-ID: everything else is prepared once,
 * and each copy is composed of it.
 *
 * nodemailer's MimeNode chooses structure, headers and encodings; the tree is then written here in
 * one go instead of through its streams, which take more than twice as long for a mail of 6 kB. The
 * result is CRLF only, without lines over 998 characters, and 7-bit unless a local part in a visible
 * header is not ASCII. There is no Bcc, and nothing is ever read from a file or a URL.
 */
import { createHash } from 'node:crypto'
import { encodeWord, foldLines } from 'nodemailer/lib/mime-funcs'
import { detectMimeType } from 'nodemailer/lib/mime-funcs/mime-types'
import MimeNode from 'nodemailer/lib/mime-node'
import {
  type EncodedBody,
  encodeLongText,
  encodeText,
  isLongText,
  joinInTurns,
  normalizeLineEnds,
  wrapLongBase64,
} from './encode-body.ts'

export interface Mailbox {
  /** In wire form. */
  readonly address: string
  readonly name?: string | undefined
}

export interface Attachment {
  readonly filename: string
  /** Base64 without white space. */
  readonly content: string
  readonly type?: string | undefined
  /** Left out: `inline` where the HTML shows it, else `attachment`. */
  readonly disposition?: 'attachment' | 'inline' | undefined
  /** Without angle brackets; the HTML refers to it as `cid:…`. */
  readonly contentId?: string | undefined
}

export interface MessageInput {
  /** Of the email, and known to nobody before it was accepted: the boundaries derive from it. */
  readonly id: string
  readonly date: Date
  readonly from: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc?: readonly Mailbox[] | undefined
  readonly replyTo?: Mailbox | undefined
  readonly subject: string
  readonly text?: string | undefined
  readonly html?: string | undefined
  readonly headers?: readonly (readonly [name: string, value: string])[] | undefined
  readonly attachments?: readonly Attachment[] | undefined
}

/** What all copies share, to be composed with a Message-ID. */
export interface PreparedMessage {
  readonly beforeMessageId: Buffer
  readonly afterMessageId: readonly Buffer[]
}

const CRLF = '\r\n'
const LINE_CHARS = 76
const UNFOLDABLE = /\S{900}/
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:;[\x20-\x7e]{0,500})?$/
const ID_PLACE = '<message-id@postrider.invalid>'

/** Bodies that were encoded before their tree was built; the others are the content of their node. */
type EncodedBodies = Map<MimeNode, EncodedBody>
type Body = string | EncodedBody
type EncodedAttachment = Attachment & {
  readonly body: EncodedBody
  readonly disposition: 'attachment' | 'inline'
}
interface Bodies {
  readonly text: Body | undefined
  readonly html: Body | undefined
  readonly attachments: readonly EncodedAttachment[]
}

export async function prepareMessage(input: MessageInput): Promise<PreparedMessage> {
  const encoded: EncodedBodies = new Map()
  const root = buildTree(input.id, await encodeBodies(input), encoded)
  setHeaders(root, input)
  const parts: Buffer[] = []
  writeNode(root, encoded, parts)
  if (parts.at(-1)?.subarray(-CRLF.length).toString('latin1') !== CRLF)
    parts.push(Buffer.from(CRLF))
  return splitAtMessageId(parts)
}

/** The Message-ID comes with its angle brackets. */
export async function composeMessage(
  { beforeMessageId, afterMessageId }: PreparedMessage,
  messageId: string,
): Promise<Buffer> {
  const line = Buffer.from(foldLines(`Message-ID: ${messageId}`, LINE_CHARS))
  return joinInTurns([beforeMessageId, line, ...afterMessageId])
}

/** What is wrong with a body, if anything. */
export function checkBodyText(text: string): string | undefined {
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return text.includes('\u0000') ? 'contains NUL' : undefined
}

async function encodeBodies({ text, html, attachments = [] }: MessageInput): Promise<Bodies> {
  const encoded: EncodedAttachment[] = []
  for (const one of attachments) {
    const parts = await wrapLongBase64(one.content)
    const disposition = one.disposition ?? (isShown(one, html) ? 'inline' : 'attachment')
    encoded.push({ ...one, disposition, body: { encoding: 'base64', parts } })
  }
  return { text: await toBody(text), html: await toBody(html), attachments: encoded }
}

function isShown({ contentId }: Attachment, html = ''): boolean {
  return contentId !== undefined && html.includes(`cid:${contentId}`)
}

async function toBody(text: string | undefined): Promise<Body | undefined> {
  if (text === undefined) return undefined
  const problem = checkBodyText(text)
  if (problem !== undefined) throw new TypeError(`the body ${problem}`)
  return isLongText(text) ? await encodeLongText(text) : normalizeLineEnds(text)
}

/** mixed( alternative( text, related( html, inline… ) ), attached… ), each only where needed. */
function buildTree(
  id: string,
  { text, html, attachments }: Bodies,
  encoded: EncodedBodies,
): MimeNode {
  const isRelated = (one: Attachment) =>
    html !== undefined && one.disposition === 'inline' && one.contentId !== undefined
  const related = attachments.filter(isRelated)
  const attached = attachments.filter((one) => !isRelated(one))

  const options = {
    baseBoundary: createHash('sha256').update(id).digest('hex').slice(0, 24),
    // "=_" occurs neither in quoted-printable nor in base64 (RFC 2045 §6.7).
    boundaryPrefix: '=_pr',
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  let root: MimeNode | undefined
  const add = (parent: MimeNode | undefined, type: string): MimeNode => {
    if (parent !== undefined) return parent.createChild(type, options)
    root = new MimeNode(type, options)
    return root
  }

  const outer = attached.length > 0 ? add(undefined, 'multipart/mixed') : undefined
  const isAlternative = text !== undefined && html !== undefined
  const body = isAlternative ? add(outer, 'multipart/alternative') : outer
  if (text !== undefined || html === undefined)
    addText(add(body, 'text/plain; charset=utf-8'), text ?? '', encoded)
  if (html !== undefined) {
    const htmlParent = related.length > 0 ? add(body, 'multipart/related; type="text/html"') : body
    addText(add(htmlParent, 'text/html; charset=utf-8'), html, encoded)
    for (const one of related) if (htmlParent !== undefined) addAttachment(htmlParent, one, encoded)
  }
  for (const one of attached) if (outer !== undefined) addAttachment(outer, one, encoded)
  if (root === undefined) throw new Error('a message has a body')
  return root
}

function setHeaders(root: MimeNode, input: MessageInput): void {
  root.setHeader('From', toAddress(input.from))
  root.setHeader('To', input.to.map(toAddress))
  if (input.cc !== undefined && input.cc.length > 0) root.setHeader('Cc', input.cc.map(toAddress))
  if (input.replyTo !== undefined) root.setHeader('Reply-To', toAddress(input.replyTo))
  root.setHeader('Subject', toUnstructured(input.subject))
  root.setHeader('Message-ID', ID_PLACE)
  root.setHeader('Date', input.date)
  for (const [name, value] of input.headers ?? []) root.addHeader(name, toUnstructured(value))
}

function toAddress({ address, name }: Mailbox): { address: string; name: string } {
  return { address, name: name ?? '' }
}

/** What cannot be folded at a space is cut into encoded words instead. */
function toUnstructured(text: string): string | { prepared: true; foldLines: true; value: string } {
  if (!UNFOLDABLE.test(text)) return text
  return { prepared: true, foldLines: true, value: encodeWord(text, 'Q', 52) }
}

function addText(node: MimeNode, body: Body, encoded: EncodedBodies): void {
  if (typeof body === 'string') node.setContent(body)
  else encoded.set(node, body)
}

function addAttachment(
  parent: MimeNode,
  attachment: EncodedAttachment,
  encoded: EncodedBodies,
): void {
  const { filename, body, disposition, contentId } = attachment
  const type = attachment.type ?? detectMimeType(filename)
  const mediaType = isLeafType(type) ? type : 'application/octet-stream'
  const node = parent.createChild(mediaType, { filename, baseBoundary: parent.baseBoundary })
  node.setHeader('Content-Disposition', disposition)
  node.setHeader('Content-Transfer-Encoding', body.encoding)
  if (contentId !== undefined) node.setHeader('Content-ID', `<${contentId.replace(/^<|>$/g, '')}>`)
  encoded.set(node, body)
}

/** A multipart would be read as parts, and a message/rfc822 may not be base64 (RFC 2046 §5.2.1). */
function isLeafType(type: string): boolean {
  return MEDIA_TYPE.test(type) && !/^(multipart|message)\//i.test(type)
}

function writeNode(node: MimeNode, encoded: EncodedBodies, parts: Buffer[]): void {
  const body = encoded.get(node)
  if (body !== undefined) node.setHeader('Content-Transfer-Encoding', body.encoding)
  parts.push(Buffer.from(`${node.buildHeaders()}${CRLF}${CRLF}`))
  const { childNodes, boundary, content } = node
  if (body !== undefined) parts.push(...body.parts)
  else if (typeof content === 'string')
    parts.push(encodeText(content, node.getHeader('Content-Transfer-Encoding')))
  if (childNodes.length === 0) return
  childNodes.forEach((child, i) => {
    parts.push(Buffer.from(`${i > 0 ? CRLF : ''}--${boundary}${CRLF}`))
    writeNode(child, encoded, parts)
  })
  parts.push(Buffer.from(`${CRLF}--${boundary}--${CRLF}`))
}

/** The first line that is one is ours: it stands before all headers of the caller's making. */
function splitAtMessageId([head, ...others]: readonly Buffer[]): PreparedMessage {
  const line = `${CRLF}Message-ID: ${ID_PLACE}${CRLF}`
  const at = head?.indexOf(line) ?? -1
  if (head === undefined || at < 0) throw new Error('a message has a Message-ID')
  return {
    beforeMessageId: head.subarray(0, at + CRLF.length),
    afterMessageId: [head.subarray(at + line.length - CRLF.length), ...others],
  }
}

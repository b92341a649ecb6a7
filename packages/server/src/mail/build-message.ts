/**
 * Builds the bytes of one message (RFC 5322, RFC 2045 to 2047, RFC 2231): the same input gives the
 * same bytes, so that every attempt sends what the first one sent.
 *
 * nodemailer's MimeNode chooses structure, headers and encodings; the tree is then written here in
 * one go instead of through its streams, which take more than twice as long for a mail of 6 kB. The
 * result is CRLF only, without lines over 998 characters, and 7-bit unless a local part in a visible
 * header is not ASCII. There is no Bcc, and nothing is ever read from a file or a URL.
 */
import { createHash } from 'node:crypto'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import MimeNode from 'nodemailer/lib/mime-node'
import { encode as encodeQuotedPrintable, wrap as wrapQuotedPrintable } from 'nodemailer/lib/qp'

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
  readonly disposition?: 'attachment' | 'inline' | undefined
  /** Without angle brackets; with disposition `inline` the HTML can refer to it as `cid:…`. */
  readonly contentId?: string | undefined
}

export interface MessageInput {
  /** With its angle brackets. */
  readonly messageId: string
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

const CRLF = '\r\n'
const BASE64_LINE_CHARS = 76
const UNFOLDABLE = /\S{900}/
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}(?:;[\x20-\x7e]{0,500})?$/

export async function buildMessage(input: MessageInput): Promise<Buffer> {
  const base64Bodies = new Map<MimeNode, string>()
  const root = buildTree(input, base64Bodies)
  setHeaders(root, input)
  const parts: Buffer[] = []
  writeNode(root, base64Bodies, parts)
  if (parts.at(-1)?.subarray(-CRLF.length).toString('latin1') !== CRLF)
    parts.push(Buffer.from(CRLF))
  return Buffer.concat(parts)
}

/** What is wrong with a body, if anything. */
export function checkBodyText(text: string): string | undefined {
  if (!text.isWellFormed()) return 'is not well-formed Unicode'
  return text.includes('\u0000') ? 'contains NUL' : undefined
}

/** mixed( alternative( text, related( html, inline… ) ), attached… ), each only where needed. */
function buildTree(input: MessageInput, base64Bodies: Map<MimeNode, string>): MimeNode {
  const attachments = input.attachments ?? []
  const isRelated = (one: Attachment) =>
    input.html !== undefined && one.disposition === 'inline' && one.contentId !== undefined
  const related = attachments.filter(isRelated)
  const attached = attachments.filter((one) => !isRelated(one))

  const options = {
    baseBoundary: createHash('sha256').update(input.messageId).digest('hex').slice(0, 24),
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
  const isAlternative = input.text !== undefined && input.html !== undefined
  const body = isAlternative ? add(outer, 'multipart/alternative') : outer
  if (input.text !== undefined || input.html === undefined)
    addText(add(body, 'text/plain; charset=utf-8'), input.text ?? '')
  if (input.html !== undefined) {
    const htmlParent = related.length > 0 ? add(body, 'multipart/related; type="text/html"') : body
    addText(add(htmlParent, 'text/html; charset=utf-8'), input.html)
    for (const one of related)
      if (htmlParent !== undefined) addAttachment(htmlParent, one, base64Bodies)
  }
  for (const one of attached) if (outer !== undefined) addAttachment(outer, one, base64Bodies)
  if (root === undefined) throw new Error('a message has a body')
  return root
}

function setHeaders(root: MimeNode, input: MessageInput): void {
  root.setHeader('From', toAddress(input.from))
  root.setHeader('To', input.to.map(toAddress))
  if (input.cc !== undefined && input.cc.length > 0) root.setHeader('Cc', input.cc.map(toAddress))
  if (input.replyTo !== undefined) root.setHeader('Reply-To', toAddress(input.replyTo))
  root.setHeader('Subject', toUnstructured(input.subject))
  root.setHeader('Message-ID', input.messageId)
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

function addText(node: MimeNode, text: string): void {
  const problem = checkBodyText(text)
  if (problem !== undefined) throw new TypeError(`the body ${problem}`)
  node.setContent(text.replace(/\r\n?|\n/g, CRLF))
}

function addAttachment(
  parent: MimeNode,
  attachment: Attachment,
  base64Bodies: Map<MimeNode, string>,
): void {
  const { filename, content, type = '', disposition = 'attachment', contentId } = attachment
  const mediaType = isLeafType(type) ? type : type === '' ? undefined : 'application/octet-stream'
  const node = parent.createChild(mediaType, { filename, baseBoundary: parent.baseBoundary })
  node.setHeader('Content-Disposition', disposition)
  node.setHeader('Content-Transfer-Encoding', 'base64')
  if (contentId !== undefined) node.setHeader('Content-ID', `<${contentId.replace(/^<|>$/g, '')}>`)
  base64Bodies.set(node, content)
}

/** A multipart would be read as parts, and a message/rfc822 may not be base64 (RFC 2046 §5.2.1). */
function isLeafType(type: string): boolean {
  return MEDIA_TYPE.test(type) && !/^(multipart|message)\//i.test(type)
}

function writeNode(
  node: MimeNode,
  base64Bodies: ReadonlyMap<MimeNode, string>,
  parts: Buffer[],
): void {
  parts.push(Buffer.from(`${node.buildHeaders()}${CRLF}${CRLF}`))
  const { childNodes, boundary, content } = node
  const base64 = base64Bodies.get(node)
  if (base64 !== undefined) parts.push(wrapBase64(base64))
  else if (typeof content === 'string')
    parts.push(encodeText(content, node.getHeader('Content-Transfer-Encoding')))
  if (childNodes.length === 0) return
  childNodes.forEach((child, i) => {
    parts.push(Buffer.from(`${i > 0 ? CRLF : ''}--${boundary}${CRLF}`))
    writeNode(child, base64Bodies, parts)
  })
  parts.push(Buffer.from(`${CRLF}--${boundary}--${CRLF}`))
}

function encodeText(text: string, encoding: unknown): Buffer {
  switch (encoding) {
    case 'base64':
      return wrapBase64(Buffer.from(text).toString('base64'))
    case 'quoted-printable':
      return Buffer.from(wrapQuotedPrintable(encodeQuotedPrintable(text)), 'latin1')
    default:
      return Buffer.from(text)
  }
}

function wrapBase64(encoded: string): Buffer {
  const padded = encoded.padEnd(Math.ceil(encoded.length / 4) * 4, '=')
  const lines: string[] = []
  for (let at = 0; at < padded.length; at += BASE64_LINE_CHARS)
    lines.push(padded.slice(at, at + BASE64_LINE_CHARS))
  return Buffer.from(lines.join(CRLF), 'latin1')
}

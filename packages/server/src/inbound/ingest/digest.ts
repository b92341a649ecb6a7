/**
 * What a message is recognised by when a server sends it again because our `250` got lost
 * (docs/reference/inbound.md#storing): its recipient, its Message-ID and its content, which is its body and
 * what its author has written above it. The rest of the header may be another each time: every server on the
 * way adds to it.
 *
 * A Message-ID and a body alone do not make two messages one: of some machines all have the same, and
 * anyone who has got a message could send it under another subject, or in another name, before it comes.
 *
 * A message without a Message-ID has a digest of the whole. Only mailboxes recognise by it: such a message
 * that comes by SMTP is stored each time.
 */
import { createHash, subtle } from 'node:crypto'

/** A header that is longer has no end as far as this is concerned. */
const HEADER_BYTES_MAX = 256 * 1024
const MESSAGE_ID_LENGTH_MAX = 998

const WRITTEN =
  /^(?:from|sender|reply-to|to|cc|date|subject|in-reply-to|references|content-[a-z-]{1,40})[ \t]*:/i

export interface MessageDigest {
  readonly messageId: string | undefined
  /** With one of its recipients, written any way. */
  of(recipient: string): Buffer
}

/** From here on it is a thread that does it. */
const LARGE_BYTES = 256 * 1024

export function digestMessage(raw: Buffer): MessageDigest {
  const header = readHeader(raw)
  return digestOf(header, sha256(contentOf(raw, header)))
}

/** The same, while the event loop goes on. */
export async function digestLarge(raw: Buffer): Promise<MessageDigest> {
  if (raw.length < LARGE_BYTES) return digestMessage(raw)
  const header = readHeader(raw)
  return digestOf(header, Buffer.from(await subtle.digest('SHA-256', contentOf(raw, header))))
}

function contentOf(raw: Buffer, { messageId, bodyAt }: Header): Buffer {
  return messageId === undefined ? raw : raw.subarray(bodyAt)
}

function digestOf({ messageId, written }: Header, content: Buffer): MessageDigest {
  return {
    messageId,
    of: (recipient) =>
      createHash('sha256')
        .update(`${recipient.normalize('NFC').toLowerCase()}\n${messageId ?? ''}\n`)
        .update(sha256(written))
        .update(content)
        .digest(),
  }
}

function sha256(bytes: Buffer | string): Buffer {
  return createHash('sha256').update(bytes).digest()
}

interface Header {
  readonly messageId?: string | undefined
  /** Without what folding has done to it. */
  readonly written: string
  readonly bodyAt: number
}

/** Every byte of it is looked at a bounded number of times, whatever it is. */
function readHeader(raw: Buffer): Header {
  const end = endOfHeader(raw)
  if (end === undefined) return { written: '', bodyAt: 0 }
  // Octets as they are: it is compared, not shown.
  const fields = fieldsOf(raw.toString('latin1', 0, end))
  const named = fields.find((field) => /^message-id[ \t]*:/i.test(field.slice(0, 64)))
  const messageId = named && valueIn(named).slice(0, MESSAGE_ID_LENGTH_MAX)
  if (messageId === undefined || messageId === '') return { written: '', bodyAt: end }
  const written = fields
    .filter((field) => WRITTEN.test(field))
    .map(
      (field) => `${field.slice(0, field.indexOf(':')).trim().toLowerCase()}:${valueIn(field)}\n`,
    )
  return { messageId, written: written.join(''), bodyAt: end }
}

/** Each with its continuation lines. */
function fieldsOf(header: string): string[] {
  return header.split(/\n(?![ \t])/)
}

function valueIn(field: string): string {
  return field
    .slice(field.indexOf(':') + 1)
    .replaceAll(/[ \t\r\n]+/g, ' ')
    .trim()
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Where the body begins: after the first empty line, ended by CRLF or LF. */
function endOfHeader(raw: Buffer): number | undefined {
  const max = Math.min(raw.length, HEADER_BYTES_MAX)
  let lineAt = 0
  for (let at = raw.indexOf(LINE_FEED); at >= 0 && at < max; at = raw.indexOf(LINE_FEED, at + 1)) {
    const isEmpty = at === lineAt || (at === lineAt + 1 && raw[lineAt] === CARRIAGE_RETURN)
    if (isEmpty) return at + 1
    lineAt = at + 1
  }
  return undefined
}

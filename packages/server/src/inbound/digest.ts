/**
 * What a message is recognised by when a server sends it again because our `250` got lost (contract §5):
 * its recipient, its Message-ID and its content, which is what follows the header. The header itself is
 * another each time: every server on the way adds to it.
 *
 * Without a Message-ID the whole of it counts.
 */
import { createHash } from 'node:crypto'

/** A header that is longer has no end as far as this is concerned. */
const HEADER_BYTES_MAX = 256 * 1024
const MESSAGE_ID_LENGTH_MAX = 998

export interface MessageDigest {
  /** With one of its recipients, written any way. */
  of(recipient: string): Buffer
}

export function digestMessage(raw: Buffer): MessageDigest {
  const { messageId, bodyAt } = readHeader(raw)
  const content = createHash('sha256')
    .update(messageId === undefined ? raw : raw.subarray(bodyAt))
    .digest()
  return {
    of: (recipient) =>
      createHash('sha256')
        .update(`${recipient.normalize('NFC').toLowerCase()}\n${messageId ?? ''}\n`)
        .update(content)
        .digest(),
  }
}

/** Every byte of it is looked at a bounded number of times, whatever it is. */
function readHeader(raw: Buffer): { readonly messageId?: string; readonly bodyAt: number } {
  const end = endOfHeader(raw)
  if (end === undefined) return { bodyAt: 0 }
  // Octets as they are: it is compared, not shown.
  const lines = raw.toString('latin1', 0, end).split('\n')
  const at = lines.findIndex((line) => /^message-id[ \t]*:/i.test(line.slice(0, 64)))
  const first = lines[at]
  if (first === undefined) return { bodyAt: end }
  const parts = [first.slice(first.indexOf(':') + 1)]
  for (let i = at + 1; i < lines.length; i++) {
    const line = lines[i] ?? ''
    if (!line.startsWith(' ') && !line.startsWith('\t')) break
    parts.push(line)
  }
  const value = parts.join(' ').slice(0, MESSAGE_ID_LENGTH_MAX).trim()
  return value === '' ? { bodyAt: end } : { messageId: value, bodyAt: end }
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

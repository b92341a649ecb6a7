/**
 * What FETCH answers about one message (RFC 3501 §6.4.5, RFC 7162, Gmail's extensions). Envelopes
 * and body structures are not known here: a client that asks for them is told so.
 */
import type { ImapMessage } from './imap-account.ts'
import { literal, writeDate } from './imap-syntax.ts'

/** Undefined for an item that is not known. */
export function fetchItem(message: ImapMessage, item: string): Buffer | undefined {
  const name = item.toUpperCase()
  switch (name) {
    case 'UID':
      return Buffer.from(`UID ${message.uid}`)
    case 'FLAGS':
      return Buffer.from(`FLAGS (${[...message.flags].join(' ')})`)
    case 'INTERNALDATE':
      return Buffer.from(`INTERNALDATE ${writeDate(message.internalDate)}`)
    case 'RFC822.SIZE':
      return Buffer.from(`RFC822.SIZE ${message.raw.length}`)
    case 'MODSEQ':
      return Buffer.from(`MODSEQ (${message.modseq})`)
    case 'X-GM-MSGID':
      return Buffer.from(`X-GM-MSGID ${message.gmailMessageId}`)
    case 'X-GM-THRID':
      return Buffer.from(`X-GM-THRID ${message.gmailThreadId}`)
    case 'X-GM-LABELS':
      return Buffer.from('X-GM-LABELS ()')
    default:
      return fetchSection(message, name)
  }
}

function fetchSection(message: ImapMessage, name: string): Buffer | undefined {
  const asked = /^BODY(?:\.PEEK)?\[([^\]]*)\](?:<(\d+)(?:\.(\d+))?>)?$/.exec(name)
  if (asked === null) return undefined
  const [, section = '', from, count] = asked
  const bytes = readSection(message.raw, section)
  if (bytes === undefined) return undefined
  if (from === undefined) return Buffer.concat([Buffer.from(`BODY[${section}] `), literal(bytes)])
  const first = Number(from)
  const piece = bytes.subarray(first, count === undefined ? undefined : first + Number(count))
  return Buffer.concat([Buffer.from(`BODY[${section}]<${first}> `), literal(piece)])
}

function readSection(raw: Buffer, section: string): Buffer | undefined {
  const end = raw.indexOf('\r\n\r\n')
  const header = end < 0 ? raw : raw.subarray(0, end + 4)
  if (section === '') return raw
  if (section === 'HEADER') return header
  if (section === 'TEXT') return end < 0 ? Buffer.alloc(0) : raw.subarray(end + 4)
  const [, names] = /^HEADER\.FIELDS \(([^)]*)\)$/.exec(section) ?? []
  if (names === undefined) return undefined
  const wanted = new Set(names.split(' '))
  const fields = header
    .toString('latin1')
    .split(/\r\n(?![ \t])/)
    .filter((field) => wanted.has(field.slice(0, field.indexOf(':')).toUpperCase()))
  return Buffer.from(`${[...fields, ''].join('\r\n')}\r\n`, 'latin1')
}

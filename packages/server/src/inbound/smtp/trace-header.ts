/**
 * The lines that a server puts before a message it delivers (RFC 5321 §4.4), and what the lines of others
 * say of its way: mail that goes in circles is refused (§6.3).
 */
import type { Envelope } from '../ingest/received-mail.ts'

export interface TraceFacts {
  readonly envelope: Envelope
  /** This service, as it greets. */
  readonly name: string
  /** Of the transaction, as the log has it. */
  readonly id: string
  readonly protocol: string
  readonly atMicros: bigint
}

const HOPS_MAX = 50
/** No header of a message that means well is longer. */
const HEADER_BYTES_MAX = 1024 * 1024
const PRODUCT = '(Postrider)'

export function traceHeader(o: TraceFacts): Buffer {
  const { envelope } = o
  const [only, ...others] = envelope.to
  // Several recipients do not see each other.
  const recipient = only !== undefined && others.length === 0 ? `\r\n\tfor <${plain(only)}>` : ''
  const from = `from ${plain(envelope.helo) || 'unknown'} (${literal(envelope.remoteIp)})`
  const by = `by ${o.name} ${PRODUCT} with ${o.protocol} id ${o.id}`
  return Buffer.from(
    `Return-Path: <${plain(envelope.from)}>\r\nReceived: ${from}\r\n\t${by}${recipient};\r\n\t${dateOf(o.atMicros)}\r\n`,
  )
}

/** Whether it has been here for the same recipient before, or has come further than any mail does. */
export function isLooping(
  message: Uint8Array,
  { envelope, name }: Pick<TraceFacts, 'envelope' | 'name'>,
): boolean {
  const received = receivedLines(message)
  if (received.length > HOPS_MAX) return true
  const [only, ...others] = envelope.to
  if (only === undefined || others.length > 0) return false
  const mark = ` by ${name} ${PRODUCT} `
  const recipient = ` for <${plain(only)}>;`.toLowerCase()
  return received.some((line) => line.includes(mark) && line.toLowerCase().includes(recipient))
}

/** Unfolded, with single spaces. */
function receivedLines(message: Uint8Array): string[] {
  const { buffer, byteOffset, length } = message
  const text = Buffer.from(buffer, byteOffset, Math.min(length, HEADER_BYTES_MAX)).toString()
  const end = text.startsWith('\r\n') ? 0 : text.indexOf('\r\n\r\n')
  const fields = (end < 0 ? text : text.slice(0, end)).split(/\r\n(?![ \t])/)
  return fields
    .filter((field) => /^received[ \t]*:/i.test(field))
    .map((field) => field.replaceAll(/\s+/g, ' '))
}

/** RFC 5321 §4.1.3. */
function literal(ip: string): string {
  return ip.includes(':') ? `[IPv6:${ip}]` : `[${ip}]`
}

/** Nothing that a peer says ends a comment or a line. */
function plain(text: string): string {
  return text.replaceAll(/[\p{C}\p{Z}()<>;"\\]/gu, '?').slice(0, 320)
}

function dateOf(micros: bigint): string {
  return new Date(Number(micros / 1000n)).toUTCString().replace('GMT', '+0000')
}

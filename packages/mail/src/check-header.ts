/**
 * Which custom headers a message may carry.
 *
 * Names that structure, route or authenticate the message are written by this service or by the
 * servers on the way; a customer who sets one could add recipients or forge results. Values are one
 * line of text: there is no way to write a line break into a header.
 */
import { checkHeaderText } from './address.ts'

const NAME_CHARS_MAX = 76
/**
 * Lines may be folded only at spaces and must stay below 998 characters (RFC 5322 §2.1.1). Looked for from
 * the beginning of a word: from within it, time would grow with its square.
 */
const UNFOLDABLE = /(?<!\S)\S{901}/
/** Structured fields that cannot hold encoded words. */
const ASCII_ONLY: ReadonlySet<string> = new Set(['in-reply-to', 'references'])
const FIELD_NAME = /^[!-9;-~]+$/

const STRUCTURAL: ReadonlySet<string> = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'return-path',
  'received',
  'received-spf',
  'authentication-results',
  'delivered-to',
  'apparently-to',
  'envelope-to',
  'x-ref-id',
])
const STRUCTURAL_FAMILIES = ['content-', 'dkim-', 'domainkey-', 'arc-', 'resent-']

/** What is wrong with one header, if anything. */
export function checkHeader(name: string, value: string): string | undefined {
  if (!FIELD_NAME.test(name)) return 'is not a header name'
  if (name.length > NAME_CHARS_MAX) return `has a name longer than ${NAME_CHARS_MAX} characters`
  const lower = name.toLowerCase()
  if (lower === 'reply-to') return 'is set by the service: use replyTo'
  if (STRUCTURAL.has(lower) || STRUCTURAL_FAMILIES.some((family) => lower.startsWith(family)))
    return 'is set by the service'
  if (UNFOLDABLE.test(value)) return 'has a word longer than 900 characters'
  if (ASCII_ONLY.has(lower) && !/^\p{ASCII}*$/u.test(value)) return 'may hold ASCII only'
  return checkHeaderText(value)
}

/** What one header takes on the wire. */
export function headerBytes(name: string, value: string): number {
  return name.length + Buffer.byteLength(value) + ': \r\n'.length
}

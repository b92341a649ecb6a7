/**
 * The commands of one transaction, with the parameters that the message needs and the server offers;
 * or why it is not even begun, where what would follow is known.
 */
import { isAscii } from 'node:buffer'
import type { Capabilities } from './capabilities.ts'
import { LOCAL_REFUSALS, type SmtpFailure } from './failure.ts'
import type { DsnRequest, SendOptions } from './session.ts'

export interface Envelope {
  readonly mail: string
  readonly rcpt: string
}

/** RFC 5321 §4.1.2 leaves no room for these in a path; the parser of addresses lets none through. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
const NOT_IN_A_PATH = /[\u0000-\u0020\u007f<>]/
/** Of RFC 5321 §4.5.3.1.3, with room for UTF-8: no line of ours grows beyond what servers read. */
const PATH_BYTES_MAX = 512
const ENVELOPE_ID_CHARS_MAX = 100

export function envelopeOf(o: SendOptions, offered: Capabilities): Envelope | SmtpFailure {
  const { from, to, message, dsn } = o
  if (!isPath(from) || !isPath(to) || to === '')
    return refuse('invalidAddress', 'An envelope address holds characters that no address may hold')
  const { messageBytesMax, hasSize, has8BitMime, hasSmtpUtf8, hasDsn } = offered
  if (messageBytesMax !== undefined && message.length > messageBytesMax)
    return refuse(
      'tooLarge',
      `Message of ${message.length} bytes; the server takes ${messageBytesMax}`,
    )
  const needsSmtpUtf8 = o.smtpUtf8 || !isAscii(Buffer.from(from + to))
  if (needsSmtpUtf8 && !hasSmtpUtf8)
    return refuse('needsSmtpUtf8', 'The server does not offer SMTPUTF8')
  const isSevenBit = isAscii(message)
  // Who offers SMTPUTF8 takes eight bits without saying so (RFC 6531 §3.1).
  if (!isSevenBit && !has8BitMime && !hasSmtpUtf8)
    return refuse('needs8BitMime', 'The server does not offer 8BITMIME')
  const mail = [`MAIL FROM:<${from}>`]
  if (hasSize) mail.push(`SIZE=${message.length}`)
  if (!isSevenBit && has8BitMime) mail.push('BODY=8BITMIME')
  if (needsSmtpUtf8) mail.push('SMTPUTF8')
  const rcpt = [`RCPT TO:<${to}>`]
  if (hasDsn && dsn !== undefined) {
    mail.push(...dsnOfMail(dsn))
    rcpt.push(...dsnOfRcpt(dsn))
  }
  return { mail: mail.join(' '), rcpt: rcpt.join(' ') }
}

function refuse(why: keyof typeof LOCAL_REFUSALS, message: string): SmtpFailure {
  return { stage: 'mail', systemCode: LOCAL_REFUSALS[why], message }
}

function isPath(address: string): boolean {
  return !NOT_IN_A_PATH.test(address) && Buffer.byteLength(address) <= PATH_BYTES_MAX
}

function dsnOfMail({ return: content, envelopeId }: DsnRequest): string[] {
  const parameters: string[] = []
  if (content !== undefined) parameters.push(`RET=${content === 'full' ? 'FULL' : 'HDRS'}`)
  if (envelopeId !== undefined && envelopeId !== '') parameters.push(`ENVID=${xtext(envelopeId)}`)
  return parameters
}

function dsnOfRcpt({ notify }: DsnRequest): string[] {
  if (notify === undefined || notify.length === 0) return []
  return [`NOTIFY=${notify === 'never' ? 'NEVER' : notify.join(',').toUpperCase()}`]
}

/** RFC 3461 §4: what is not plain ASCII, and the signs that mean something, in hexadecimal. */
function xtext(text: string): string {
  return text
    .slice(0, ENVELOPE_ID_CHARS_MAX)
    .replace(/[^!-~]/g, '?')
    .replace(/[+=]/g, (sign) => `+${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}

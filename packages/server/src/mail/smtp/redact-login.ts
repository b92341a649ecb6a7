/**
 * Keeps a mailer's login out of what its server says: some servers quote the AUTH command that they
 * refuse, and replies go into answers, events, tables and logs.
 *
 * The password is struck out as it was given, in base64 (AUTH LOGIN) and inside the answer of AUTH
 * PLAIN, of which a piece that reaches the password is enough. What is short is only struck out
 * where it stands alone, for otherwise it would be found inside common words.
 */
import type { SmtpFailure, SmtpReply } from './failure.ts'

const REDACTED = '[redacted]'
const SHORT_CHARS = 6

export interface LoginRedactor {
  reply(reply: SmtpReply): SmtpReply
  failure(failure: SmtpFailure): SmtpFailure
}

export function createLoginRedactor(
  login: { readonly username: string; readonly password: string } | undefined,
): LoginRedactor {
  const pattern = login === undefined ? undefined : patternOf(login)
  const redact = (text: string) => (pattern === undefined ? text : text.replace(pattern, REDACTED))
  /** The code stays, whatever the password is. */
  const reply = ({ code, text }: SmtpReply) => ({
    code,
    text: `${text.slice(0, 3)}${redact(text.slice(3))}`,
  })
  return {
    reply,
    failure: (failure) => ({
      ...failure,
      ...(failure.reply === undefined ? {} : { reply: reply(failure.reply) }),
      ...(failure.message === undefined ? {} : { message: redact(failure.message) }),
    }),
  }
}

/** The longest first. Without case, since some servers quote a command in capitals. */
function patternOf({ username, password }: { username: string; password: string }): RegExp {
  // A reply with bytes that are no UTF-8 is read as Latin-1, byte by byte.
  const secrets = [password, Buffer.from(password).toString('latin1')]
  const encoded = [password, username].map((text) => base64(text).replace(/=+$/, ''))
  const patterns = [
    `${escaped(startOfPlain(username))}[a-z0-9+/]*={0,2}`,
    ...encoded.filter((text) => text !== '').map((text) => `${bounded(text)}={0,2}`),
    ...secrets.filter((text) => text !== '').map(bounded),
  ]
  return new RegExp(patterns.join('|'), 'giu')
}

function bounded(text: string): string {
  const pattern = escaped(text)
  return text.length < SHORT_CHARS ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern
}

/** Of base64, as much as no character of the password has a part in. */
function startOfPlain(username: string): string {
  const text = `\0${username}\0`
  return base64(text).slice(0, Math.floor((Buffer.byteLength(text) * 4) / 3))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

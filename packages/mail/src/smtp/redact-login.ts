/**
 * Keeps a mailer's login out of what its server says: some servers quote the AUTH command that they
 * refuse, and replies go into answers, events, tables and logs.
 *
 * Password or access token are struck out as they were given, in base64 (AUTH LOGIN) and inside the
 * answers of the other mechanisms, of which a piece that reaches the secret is enough. What is short
 * is only struck out where it stands alone, for otherwise it would be found inside common words.
 */
import type { SmtpFailure, SmtpReply } from './failure.ts'
import { bearerPrefix, plainPrefix, xoauth2Prefix } from './sasl.ts'
import type { SmtpAuth } from './session.ts'

const REDACTED = '[redacted]'
const SHORT_CHARS = 6

export interface LoginRedactor {
  text(text: string): string
  reply(reply: SmtpReply): SmtpReply
  failure(failure: SmtpFailure): SmtpFailure
}

export function createLoginRedactor(
  auth: SmtpAuth | undefined,
  server: { readonly host: string; readonly port: number },
): LoginRedactor {
  const pattern = auth === undefined ? undefined : patternOf(auth, server)
  const redact = (text: string) => (pattern === undefined ? text : text.replace(pattern, REDACTED))
  /** The code stays, whatever the password is. */
  const reply = ({ code, text }: SmtpReply) => ({
    code,
    text: `${text.slice(0, 3)}${redact(text.slice(3))}`,
  })
  return {
    text: redact,
    reply,
    failure: (failure) => ({
      ...failure,
      ...(failure.reply === undefined ? {} : { reply: reply(failure.reply) }),
      ...(failure.message === undefined ? {} : { message: redact(failure.message) }),
      ...(failure.authChallenge === undefined
        ? {}
        : { authChallenge: redact(failure.authChallenge) }),
    }),
  }
}

/** The longest first. Without case, since some servers quote a command in capitals. */
function patternOf(auth: SmtpAuth, { host, port }: { host: string; port: number }): RegExp {
  const { username } = auth
  const isToken = 'accessToken' in auth
  const secret = isToken ? auth.accessToken : auth.password
  // A reply with bytes that are no UTF-8 is read as Latin-1, byte by byte.
  const secrets = [secret, Buffer.from(secret).toString('latin1')]
  const encoded = [secret, username].map((text) => base64(text).replace(/=+$/, ''))
  const prefixes = isToken
    ? [xoauth2Prefix(username), bearerPrefix(username, host, port)]
    : [plainPrefix(username)]
  const patterns = [
    ...prefixes.map((prefix) => `${escaped(startOfBase64(prefix))}[a-z0-9+/]*={0,2}`),
    ...encoded.filter((text) => text !== '').map((text) => `${bounded(text)}={0,2}`),
    ...secrets.filter((text) => text !== '').map(bounded),
  ]
  return new RegExp(patterns.join('|'), 'giu')
}

function bounded(text: string): string {
  const pattern = escaped(text)
  return text.length < SHORT_CHARS ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern
}

/** Of base64, as much as no character of the secret has a part in. */
function startOfBase64(prefix: string): string {
  return base64(prefix).slice(0, Math.floor((Buffer.byteLength(prefix) * 4) / 3))
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
}

/**
 * What a tenant is told when a login that was tried did not come about
 * (docs/reference/mailers.md#login-check).
 *
 * Host and port are the tenant's choice, so the answer must not serve as a port scanner: the words
 * of the peer are repeated only where they are an SMTP refusal, and a connection that did not come
 * about has one sentence, whatever the reason. A reply is bounded and its control characters are made
 * visible.
 */
import {
  classifyFailure,
  type FailureCategory,
  failedReasonOf,
  type SmtpFailure,
} from '@postrider/mail'
import { ApiError } from '../../platform/errors.ts'

const REPLY_LENGTH_MAX = 500
const UNREACHABLE = 'Could not connect to the mail server'

export function loginFailure(failure: SmtpFailure): ApiError {
  const { stage, reply } = failure
  if (reply === undefined || reply.code < 400)
    return mailerUnreachable(sentenceOf(failure), categoryOf(failure))
  const said = printable(reply.text)
  return stage === 'auth'
    ? new ApiError('mailer_auth_failed', { message: `The mail server rejected the login: ${said}` })
    : new ApiError('mailer_unreachable', { message: `${UNREACHABLE} (${stage}): ${said}` })
}

/** A name that leads nowhere is the fault of its field. */
export function mailerUnreachable(message: string, category?: string): ApiError {
  const errors = category === 'host_not_found' ? [{ path: '/config/host', message }] : undefined
  return new ApiError('mailer_unreachable', { message, ...(errors && { errors }) })
}

/** What the tenant can fix, or look up anywhere. */
const TOLD: ReadonlySet<FailureCategory> = new Set([
  'host_not_found',
  'auth_required',
  'tls_certificate',
  'tls_certificate_expired',
  'tls_unavailable',
  'tls_wrong_port',
])

function categoryOf({ stage, systemCode }: SmtpFailure): FailureCategory | undefined {
  return systemCode === undefined ? undefined : classifyFailure({ stage, systemCode }).category
}

export function sentenceOf(failure: SmtpFailure): string {
  const category = categoryOf(failure)
  if (category === undefined) return UNREACHABLE
  if (category === 'protocol_error') return `${UNREACHABLE}: it does not speak SMTP on this port`
  if (!TOLD.has(category)) return UNREACHABLE
  const isCertificate = category.startsWith('tls_certificate')
  return failedReasonOf(category) + (isCertificate ? ` (${failure.systemCode})` : '')
}

/** A server's words in one line: C0, C1 and directional controls escaped, the rest as it is. */
export function printable(text: string): string {
  const escaped = text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it escapes
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const bounded =
    escaped.length > REPLY_LENGTH_MAX ? `${escaped.slice(0, REPLY_LENGTH_MAX)}…` : escaped
  return bounded.toWellFormed()
}

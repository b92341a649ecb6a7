/**
 * What a tenant is told when a mailbox could not be logged in to (docs/reference/mailers.md#login-check). As
 * of a mail server (login-failure.ts): the words of the peer are repeated only where they are a refusal of
 * IMAP, and a connection that did not come about has one sentence, but for what the tenant can fix.
 */
import { classifyImapFailure, type ImapFailure } from '@postrider/mail'
import { notReachable } from '../../../platform/egress/index.ts'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { mailerUnreachable, printable } from '../../smtp/login-failure.ts'

const UNREACHABLE = 'Could not connect to the mail server'

const TOLD: ReadonlySet<string> = new Set([
  'host_not_found',
  'no_greeting',
  'tls_certificate',
  'tls_certificate_expired',
  'tls_unavailable',
  'tls_wrong_port',
])
/** Of a login, they say nothing of the password. */
const NOT_NOW: ReadonlySet<string> = new Set([
  'auth_temporary',
  'auth_throttled',
  'sender_concurrency_limited',
])

export function refusalOfImap(failure: ImapFailure): ApiError {
  const { reply, stage, systemCode = '' } = failure
  if (systemCode === 'address_refused')
    return validationError({ path: '/config/host', message: notReachable })
  const { category, failedReason } = classifyImapFailure(failure)
  if (reply !== undefined) {
    const said = printable(reply.text)
    return stage === 'auth' && !NOT_NOW.has(category)
      ? new ApiError('mailer_auth_failed', {
          message: `The mail server rejected the login: ${said}`,
        })
      : new ApiError('mailer_unreachable', { message: `${UNREACHABLE}: ${said}` })
  }
  if (systemCode === 'ENOAUTH') {
    const message =
      'The mail server offers no login on this connection: check port, secure and connection_type'
    return new ApiError('mailer_auth_failed', { message })
  }
  const isCertificate = category.startsWith('tls_certificate')
  if (category === 'too_much')
    return new ApiError('mailer_unreachable', { message: failure.message ?? failedReason })
  const sentence = TOLD.has(category) ? failedReason : UNREACHABLE
  const message = isCertificate ? `${sentence} (${systemCode})` : sentence
  return mailerUnreachable(message, category)
}

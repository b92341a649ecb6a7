/**
 * What a failure without a reply means, by the name of the system's error.
 *
 * After the final dot there is only one answer, whatever the error: the message may have arrived.
 * A certificate that is expired, not valid yet or sent without its chain is usually fixed by its
 * owner soon; any other one is wrong until somebody changes the mailer or the server.
 */
import type { FailureCategory } from './failure-category.ts'
import { LOCAL_REFUSALS, type SmtpFailure } from './smtp/failure.ts'

const BY_CODE: Readonly<Record<string, FailureCategory>> = {
  address_refused: 'address_refused',
  ENOTFOUND: 'host_not_found',
  EDNS: 'host_not_found',
  ENODATA: 'host_not_found',
  [LOCAL_REFUSALS.tooLarge]: 'message_too_large',
  [LOCAL_REFUSALS.needsSmtpUtf8]: 'smtputf8_unsupported',
  [LOCAL_REFUSALS.needs8BitMime]: 'smtputf8_unsupported',
  [LOCAL_REFUSALS.invalidAddress]: 'invalid_recipient',
  [LOCAL_REFUSALS.invalidMessage]: 'internal',
  [LOCAL_REFUSALS.noCredentials]: 'auth_required',
  // A server in trouble, or somebody on the way who strips the offer: never a reason to go without.
  [LOCAL_REFUSALS.noLoginOffered]: 'auth_not_offered',
  [LOCAL_REFUSALS.callerAborted]: 'internal',
  [LOCAL_REFUSALS.oauthRevoked]: 'oauth_revoked',
  [LOCAL_REFUSALS.oauthApp]: 'oauth_app',
  [LOCAL_REFUSALS.oauthUnavailable]: 'oauth_unavailable',
  EPROTOCOL: 'protocol_error',
  CERT_HAS_EXPIRED: 'tls_certificate_expired',
  CERT_NOT_YET_VALID: 'tls_certificate_expired',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'tls_certificate_expired',
  UNABLE_TO_GET_ISSUER_CERT: 'tls_certificate_expired',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'tls_certificate_expired',
  CRL_HAS_EXPIRED: 'tls_certificate_expired',
}

/** Refusals of our own, made without asking the server: asking again would change nothing. */
const OWN_REFUSALS: ReadonlySet<string> = new Set([
  LOCAL_REFUSALS.tooLarge,
  LOCAL_REFUSALS.needsSmtpUtf8,
  LOCAL_REFUSALS.needs8BitMime,
  LOCAL_REFUSALS.invalidAddress,
  LOCAL_REFUSALS.invalidMessage,
])

export function isOwnRefusal(failure: Omit<SmtpFailure, 'stage'>): boolean {
  return failure.systemCode !== undefined && OWN_REFUSALS.has(failure.systemCode)
}

export function categoryOfSystemError(
  failure: Omit<SmtpFailure, 'stage'> & { readonly stage?: SmtpFailure['stage'] },
): FailureCategory {
  const { stage, systemCode = '', message = '' } = failure
  if (stage === 'dot') return 'uncertain'
  // This port did speak SMTP: what is no TLS there is a broken STARTTLS.
  if (stage === 'starttls' && isNoTls(systemCode, message)) return 'tls_unavailable'
  const known = BY_CODE[systemCode]
  if (known !== undefined) return known
  if (isNoTls(systemCode, message)) return 'tls_wrong_port'
  if (isCertificateError(systemCode, message)) return 'tls_certificate'
  return stage === 'starttls' || systemCode.startsWith('ERR_SSL') ? 'tls_unavailable' : 'network'
}

function isNoTls(systemCode: string, message: string): boolean {
  return systemCode === 'ERR_SSL_WRONG_VERSION_NUMBER' || /wrong version number/i.test(message)
}

function isCertificateError(systemCode: string, message: string): boolean {
  return (
    /CERT|SELF_SIGNED|ALTNAME|INVALID_CA|PATH_LENGTH|INVALID_PURPOSE|HOSTNAME_MISMATCH/.test(
      systemCode,
    ) || /certificate|altnames/i.test(message)
  )
}

/**
 * Why an attempt failed, as a closed set, with the sentence that customers read in `failed_reason`
 * (docs/reference/sending.md#retries). The sentences are part of the interface: programs compare them, so
 * they do not change.
 *
 * `retry` says what another attempt can do: `by-class` follows the reply (4yz yes, 5yz no), which is
 * the rule; the others are the cases in which the class is known to lie.
 */
interface FailureMeaning {
  readonly sentence: string
  readonly retry: 'by-class' | 'always' | 'never'
}

const byClass = (sentence: string): FailureMeaning => ({ sentence, retry: 'by-class' })
const always = (sentence: string): FailureMeaning => ({ sentence, retry: 'always' })
const never = (sentence: string): FailureMeaning => ({ sentence, retry: 'never' })

export const FAILURES = {
  // the recipient
  invalid_recipient: byClass('The recipient address does not exist'),
  invalid_recipient_domain: byClass("The recipient's domain does not exist or takes no mail"),
  recipient_domain_dns: byClass("The recipient's domain could not be looked up"),
  mailbox_full: byClass("The recipient's mailbox is full"),
  mailbox_disabled: byClass("The recipient's mailbox is disabled"),
  recipient_rate_limited: byClass('The recipient is receiving too much mail at the moment'),
  recipient_rejects_external: byClass('The recipient does not accept mail from outside'),

  // the mailer's login
  auth_rejected: never("The mail server rejected the mailer's login"),
  auth_required: never('The mail server requires a login that the mailer did not complete'),
  auth_temporary: always('The mail server could not check the login at the moment'),
  auth_not_offered: always('The mail server offers no login here: check port and secure'),
  auth_throttled: always('The mail server is limiting login attempts'),

  oauth_revoked: never("The mailer's OAuth access was revoked or has expired"),
  oauth_app: always("The OAuth provider refused the mailer's OAuth app"),
  oauth_unavailable: always('The OAuth provider gave no access token at the moment'),

  // the sender
  sender_not_authorized: never("The mail server does not accept the mailer's relay credentials"),
  sender_not_allowed: byClass('The mailer may not send from this address'),
  sender_blocked: byClass('The sending account is blocked'),
  sender_mailbox_full: byClass("The sender's own mailbox is full"),
  sender_domain_dns: byClass("The sender's domain could not be looked up"),
  sender_rate_limited: byClass('The sending account is sending too fast'),
  sender_concurrency_limited: byClass('The mail server allows fewer connections at a time'),
  sender_quota_exhausted: never("The sending account's quota is exhausted"),

  // policy
  blocked_reputation: byClass('Blocked because of the reputation of the sending server'),
  blocked_rate: byClass('Deferred because of the rate or volume of mail from the sending server'),
  blocked_spam: byClass('The message was rejected as spam'),
  blocked_policy: byClass("The message was rejected by the receiving server's policy"),
  blocked_unauthenticated_domain: byClass("The sender's domain failed SPF, DKIM or DMARC checks"),
  greylisted: byClass('The receiving server asks to try again later (greylisting)'),
  relay_denied: byClass('The mail server refused to relay to this recipient'),

  // the message
  message_too_large: byClass('The message is too large'),
  content_rejected: byClass('The content of the message was rejected'),
  too_many_recipients: byClass('The message has too many recipients'),
  mail_loop: byClass('The message was caught in a mail loop'),
  smtputf8_unsupported: never('The mail server does not support internationalized addresses'),

  // the server and the way to it
  temporary: byClass('The mail server has a temporary problem'),
  protocol_error: byClass('The mail server did not understand the conversation'),
  network: byClass('The connection to the mail server failed'),
  host_not_found: always("The mail server's host name could not be found"),
  address_refused: never("The mail server's address is not allowed"),
  tls_required: byClass('The mail server requires an encrypted connection'),
  tls_unavailable: byClass('The mail server could not start an encrypted connection'),
  tls_certificate: never("The mail server's certificate could not be verified"),
  tls_certificate_expired: always("The mail server's certificate is expired or incomplete"),
  tls_wrong_port: never('The mail server does not speak TLS on this port'),

  // ourselves
  uncertain: always('Connection lost after end of data; the message may have been delivered'),
  expired: never('Message expired before it could be sent'),
  template: never('The template could not be rendered'),
  mailer_config: never('Mailer configuration could not be loaded'),
  internal: always('Internal error'),
  unknown: byClass('Unknown error'),
} as const satisfies Record<string, FailureMeaning>

export type FailureCategory = keyof typeof FAILURES

/** What the mailer's owner or its provider can fix: login, account, server and the way to it. */
const OF_MAILER: ReadonlySet<FailureCategory> = new Set([
  'auth_rejected',
  'auth_required',
  'auth_temporary',
  'auth_not_offered',
  'auth_throttled',
  'oauth_revoked',
  'oauth_app',
  'oauth_unavailable',
  'sender_not_authorized',
  'sender_not_allowed',
  'sender_blocked',
  'sender_mailbox_full',
  'sender_domain_dns',
  'sender_rate_limited',
  'sender_concurrency_limited',
  'sender_quota_exhausted',
  'blocked_reputation',
  'blocked_rate',
  'blocked_unauthenticated_domain',
  'relay_denied',
  'temporary',
  'protocol_error',
  'network',
  'host_not_found',
  'address_refused',
  'tls_required',
  'tls_unavailable',
  'tls_certificate',
  'tls_certificate_expired',
  'tls_wrong_port',
  'mailer_config',
])

/** RFC 3463 §3.2, §3.3: X.1 is about an address (X.1.7 and X.1.8 about the sender's), X.2 about a mailbox. */
const OF_RECIPIENT = /^4\d\d[ -]4\.(?:1\.[^78]|2\.)/

/**
 * Not the recipient, nor the message. A temporary problem that the reply's enhanced status code lays on the
 * recipient's address or mailbox (`450 4.2.1 Mailbox busy`) is not the mailer's.
 */
export function concernsMailer(category: string, reply: string): boolean {
  return (
    (OF_MAILER as ReadonlySet<string>).has(category) &&
    !(category === 'temporary' && OF_RECIPIENT.test(reply))
  )
}

export function failedReasonOf(category: FailureCategory): string {
  return FAILURES[category].sentence
}

const SENTENCES: ReadonlySet<string> = new Set(Object.values(FAILURES).map((one) => one.sentence))

/** Whether it is one of the sentences, and not in the words of a server. */
export function isStableReason(text: string): boolean {
  return SENTENCES.has(text)
}

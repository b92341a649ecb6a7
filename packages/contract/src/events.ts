/**
 * Subscription keys, the events that they switch, and the wire form of every event
 * (docs/reference/events.md#email-events).
 *
 * `EMAIL_EVENT` requests carry an array of `EmailEvent`; `DOMAIN_VERIFICATION`, `INCOMING_EMAIL`,
 * `IMAP_ERROR` and a mailbox's `MAILER_DEACTIVATED` are single objects. Receivers tell events
 * apart by `event`, never by shape.
 */
import { type Static, Type } from 'typebox'
import { closedObject, eventTime, jsonObjectOrNull } from './common.ts'

/** Event types that a tenant can register a webhook for. */
export const webhookEvents = ['EMAIL_EVENT', 'DOMAIN_VERIFICATION'] as const
export type WebhookEvent = (typeof webhookEvents)[number]

/** At least one of these must be on in an `EMAIL_EVENT` webhook. */
export const coreSubscriptionKeys = [
  'delivery',
  'open',
  'click',
  'bounce',
  'spam',
  'unsubscribe',
  'policy_rejection',
  'generation_failure',
  'generation_rejection',
  'smtp_error',
] as const
export type CoreSubscriptionKey = (typeof coreSubscriptionKeys)[number]

export const subscriptionKeys = [...coreSubscriptionKeys, 'phishing', 'imap_error'] as const
export type SubscriptionKey = (typeof subscriptionKeys)[number]

/** `imap_error` is missing on purpose: it is stored and shown, never consulted. */
export const eventOfSubscriptionKey = {
  delivery: 'MAIL_DELIVERED',
  open: 'MAIL_OPENED',
  click: 'MAIL_CLICKED',
  bounce: 'MAIL_BOUNCE',
  spam: 'MAIL_SPAM',
  unsubscribe: 'MAIL_UNSUBSCRIBED',
  policy_rejection: 'MAIL_POLICY_REJECTION',
  generation_failure: 'MAIL_GENERATION_FAILURE',
  generation_rejection: 'MAIL_GENERATION_REJECTION',
  smtp_error: 'SMTP_ERROR',
  phishing: 'PHISHING',
} as const satisfies Record<Exclude<SubscriptionKey, 'imap_error'>, string>

/** Events of one recipient of one email, each with a subscription key. */
export type MessageEventName = (typeof eventOfSubscriptionKey)[keyof typeof eventOfSubscriptionKey]

export const subscriptionKeyOfEvent = {
  MAIL_DELIVERED: 'delivery',
  MAIL_OPENED: 'open',
  MAIL_CLICKED: 'click',
  MAIL_BOUNCE: 'bounce',
  MAIL_SPAM: 'spam',
  MAIL_UNSUBSCRIBED: 'unsubscribe',
  MAIL_POLICY_REJECTION: 'policy_rejection',
  MAIL_GENERATION_FAILURE: 'generation_failure',
  MAIL_GENERATION_REJECTION: 'generation_rejection',
  SMTP_ERROR: 'smtp_error',
  PHISHING: 'phishing',
} as const satisfies Record<MessageEventName, SubscriptionKey>

/** Events with `success: true`; every other one has `false` (docs/reference/events.md#fields). */
export const successEvents = [
  'MAIL_DELIVERED',
  'MAIL_OPENED',
  'MAIL_CLICKED',
  'MAIL_UNSUBSCRIBED',
] as const satisfies readonly MessageEventName[]

export function isSuccessEvent(event: string): boolean {
  return (successEvents as readonly string[]).includes(event)
}

const trackingText = (description: string) => Type.Optional(Type.String({ description }))

export const tracking = closedObject(
  {
    time: Type.Optional(Type.String({ description: 'When it was opened, clicked or asked for' })),
    ip: trackingText('Address that the request came from'),
    user_agent: trackingText('As the request named itself'),
    browser_name: trackingText('Browser or mail program, by `user_agent`'),
    browser_version: trackingText('Its version'),
    os: trackingText('Operating system, by `user_agent`'),
    device_type: trackingText('Kind of device, by `user_agent`'),
    platform: trackingText('What the device runs on, by `user_agent`'),
    url: Type.Optional(Type.String({ description: 'The link; only on clicks' })),
    country: trackingText('Where the address is, as far as known'),
    city: trackingText('Where the address is, as far as known'),
    region: trackingText('Where the address is, as far as known'),
    time_zone: trackingText('Of the place of the address, as far as known'),
    bot: Type.Optional(
      Type.Boolean({
        description: 'Whether a program did it, as far as known',
      }),
    ),
  },
  {
    description: 'Filled on opens, clicks and unsubscriptions; else every value is empty',
  },
)
export type Tracking = Static<typeof tracking>

/** `tracking` of an event that is no engagement: all keys but `url`, which only clicks have. */
export const zeroTracking = Object.freeze({
  time: '',
  ip: '',
  user_agent: '',
  browser_name: '',
  browser_version: '',
  os: '',
  device_type: '',
  platform: '',
  country: '',
  city: '',
  region: '',
  time_zone: '',
  bot: false,
}) satisfies Tracking

const test = Type.Optional(
  Type.Literal(true, {
    description:
      'Nothing of this has happened: of mail that a key of test mode sent, and of sendTestEvent. Absent of other mail',
  }),
)

const messageDetailFields = {
  ref_id: Type.String({
    description: 'Reference id of the email; many events share it',
  }),
  mailer_id: Type.String({ description: 'The mailer or sending domain' }),
  email: Type.Array(Type.String(), { description: 'Recipient of this event' }),
  custom_args: jsonObjectOrNull({
    description: '`custom_args` of the send, else null',
  }),
  message_id: Type.String({
    description: 'Message id at the provider; empty if none',
  }),
  thread_id: Type.String({
    description: 'Thread id at the provider; empty if none',
  }),
  webhook_id: Type.String({
    description: 'The subscription that delivers this event',
  }),
  event_at: eventTime('When it happened; the ordering key over all events'),
  tracking,
  failed_reason: Type.String({
    description: 'Empty on success; else a stable sentence or the raw error',
  }),
  test,
}

const attemptDetailFields = {
  attempt: Type.Integer({
    minimum: 1,
    description: 'Number of the failed attempt, from 1',
  }),
  max_attempts: Type.Integer({
    minimum: 1,
    description: 'Budget of attempts of this send',
  }),
  retry_scheduled: Type.Boolean({
    description: 'Whether another attempt follows',
  }),
  provider_error: Type.Optional(
    Type.String({
      description: 'The reply as received; absent when there is none',
    }),
  ),
}

const bounceDetailFields = {
  error_code: Type.Optional(Type.String({ description: 'As relayed by the provider' })),
  num_retries: Type.Optional(Type.String({ description: 'As relayed by the provider' })),
}

export const messageDetails = closedObject(messageDetailFields, {
  description: 'What an event of one recipient of one email says',
})
export const mailBounceDetails = closedObject(
  { ...messageDetailFields, ...bounceDetailFields },
  { description: 'What a bounce says' },
)
export const smtpErrorDetails = closedObject(
  { ...messageDetailFields, ...attemptDetailFields },
  { description: 'What a failed attempt says' },
)

function nameOf<E extends string>(event: E) {
  return Type.Literal(event, { description: 'By this it is told from other events' })
}

function successOf<S extends boolean>(success: S) {
  return Type.Literal(success, {
    description: '`true` of deliveries, opens, clicks, unsubscriptions and received mail alone',
  })
}

function messageEvent<E extends MessageEventName, S extends boolean>(
  event: E,
  success: S,
  description: string,
) {
  return closedObject(
    { event: nameOf(event), success: successOf(success), details: messageDetails },
    { description },
  )
}

export const mailDelivered = messageEvent(
  'MAIL_DELIVERED',
  true,
  "The recipient's server has taken the email",
)
export const mailOpened = messageEvent(
  'MAIL_OPENED',
  true,
  'The email was opened: its pixel was loaded',
)
export const mailClicked = messageEvent(
  'MAIL_CLICKED',
  true,
  'A link in the email was clicked; `tracking.url` is where it leads',
)
export const mailUnsubscribed = messageEvent(
  'MAIL_UNSUBSCRIBED',
  true,
  'The recipient has unsubscribed',
)
export const mailSpam = messageEvent(
  'MAIL_SPAM',
  false,
  'The recipient, or a filter, reported the email as spam',
)
export const mailPolicyRejection = messageEvent(
  'MAIL_POLICY_REJECTION',
  false,
  "The email is against the relay provider's policy",
)
export const mailGenerationFailure = messageEvent(
  'MAIL_GENERATION_FAILURE',
  false,
  'The relay provider could not make the message',
)
export const mailGenerationRejection = messageEvent(
  'MAIL_GENERATION_REJECTION',
  false,
  'The relay provider refused what the message holds',
)
export const phishing = messageEvent(
  'PHISHING',
  false,
  'Phishing protection stopped the email: it is not sent, and not tried again',
)

export const mailBounce = closedObject(
  { event: nameOf('MAIL_BOUNCE'), success: successOf(false), details: mailBounceDetails },
  { description: 'The email was refused, or given back, after it had been handed over' },
)

export const smtpError = closedObject(
  { event: nameOf('SMTP_ERROR'), success: successOf(false), details: smtpErrorDetails },
  {
    description:
      'An attempt to send the email failed: one for each attempt. `retry_scheduled: false` is the last',
  },
)

export const mailerConfigTypes = [
  'smtp',
  'basic_smtp',
  'oauth_smtp',
  'imap',
  'basic_imap',
  'oauth_imap',
  'smtp_imap',
  'domain',
] as const
export type MailerConfigType = (typeof mailerConfigTypes)[number]

export const deactivationReasons = ['oauth_revoked', 'provider_auth_error'] as const
export type DeactivationReason = (typeof deactivationReasons)[number]

/**
 * Has no subscription key: goes to the `EMAIL_EVENT` webhook past its filters
 * (docs/reference/events.md#mailer-deactivated).
 */
export const mailerDeactivated = closedObject(
  {
    event: nameOf('MAILER_DEACTIVATED'),
    success: successOf(false),
    details: closedObject(
      {
        mailer_id: Type.String({ description: 'The mailer' }),
        config_type: Type.Enum([...mailerConfigTypes]),
        failed_reason: Type.Enum([...deactivationReasons], {
          description:
            '`oauth_revoked`: its OAuth grant is revoked or has expired. `provider_auth_error`: its login was rejected',
        }),
        provider_error: Type.Optional(Type.String({ description: 'Absent when there is none' })),
        test,
      },
      { description: 'Which mailer, and why' },
    ),
  },
  {
    description:
      'A mailer was deactivated by the service: it can neither send nor fetch until it logs in again',
  },
)

export const messageEventSchemas = [
  mailDelivered,
  mailOpened,
  mailClicked,
  mailUnsubscribed,
  mailBounce,
  mailSpam,
  mailPolicyRejection,
  mailGenerationFailure,
  mailGenerationRejection,
  smtpError,
  phishing,
] as const

/** An element of an `EMAIL_EVENT` request body. */
export const emailEvent = Type.Union([...messageEventSchemas, mailerDeactivated])
export const emailEventRequest = Type.Array(emailEvent, { minItems: 1 })

export const domainVerification = closedObject(
  {
    event: nameOf('DOMAIN_VERIFICATION'),
    details: closedObject(
      {
        domain: Type.String({ description: 'The domain' }),
        verified: Type.Boolean({ description: 'Whether it is verified now' }),
        mailer_id: Type.String({ description: 'The domain as a mailer' }),
        custom_args: jsonObjectOrNull({
          description: '`custom_args` of the domain, else null',
        }),
        webhook_id: Type.String({
          description: 'The subscription that delivers this event',
        }),
        test,
      },
      { description: 'Which domain, and the result' },
    ),
  },
  { description: 'A sending domain was checked, or its result has changed' },
)

export const imapError = closedObject(
  {
    event: nameOf('IMAP_ERROR'),
    success: successOf(false),
    details: closedObject(
      {
        mailer_id: Type.String({ description: 'The mailer of the mailbox' }),
        failed_reason: Type.String({ description: 'A stable sentence, or the raw error' }),
        provider_error: Type.Optional(
          Type.String({ description: 'As received; absent when nothing was said' }),
        ),
        event_at: eventTime('When the failure was seen'),
        test,
      },
      { description: 'Which mailbox, and why' },
    ),
  },
  { description: 'A mailbox cannot be read at the moment' },
)

export type MailDelivered = Static<typeof mailDelivered>
export type MailOpened = Static<typeof mailOpened>
export type MailClicked = Static<typeof mailClicked>
export type MailUnsubscribed = Static<typeof mailUnsubscribed>
export type MailBounce = Static<typeof mailBounce>
export type MailSpam = Static<typeof mailSpam>
export type MailPolicyRejection = Static<typeof mailPolicyRejection>
export type MailGenerationFailure = Static<typeof mailGenerationFailure>
export type MailGenerationRejection = Static<typeof mailGenerationRejection>
export type SmtpError = Static<typeof smtpError>
export type Phishing = Static<typeof phishing>
export type MailerDeactivated = Static<typeof mailerDeactivated>
export type DomainVerification = Static<typeof domainVerification>
export type ImapError = Static<typeof imapError>

export type MessageEvent = Static<(typeof messageEventSchemas)[number]>
export type EmailEvent = MessageEvent | MailerDeactivated
/** Names that stand in an `EMAIL_EVENT` request body. */
export type EmailEventName = EmailEvent['event']
export type PostriderEvent = EmailEvent | DomainVerification | ImapError | IncomingEmail

/** `details` every per-message event has. */
export type MessageDetails = MailDelivered['details']

type Addressed = { readonly details: { readonly webhook_id: string } }

/**
 * An event as it is recorded: `details.webhook_id` is the id of the subscription that delivers,
 * so it is known only when a request is built.
 */
export type Recorded<E extends { readonly details: object }> = E extends Addressed
  ? Omit<E, 'details'> & { details: Omit<E['details'], 'webhook_id'> }
  : E

export interface IncomingAddress {
  email: string
  name: string
}

export interface IncomingAttachment {
  filename: string
  type: string
  size: number
  content_id: string | null
  /** Base64; empty for one that is too large to stand here, which has `url`. */
  content: string
  /** Where its content is to be had, with an API key that may read. */
  url?: string
}

export interface AuthenticationResult {
  result: string
  [key: string]: unknown
}

export interface DkimResult extends AuthenticationResult {
  domain: string
  selector: string
  /** Its signature does not cover the whole body: what follows may be anybody's. */
  partial?: true
}

/**
 * A mail received by a route or a mailbox (docs/reference/events.md#incoming-email): exactly one of the two
 * is named.
 */
export interface IncomingEmail {
  event: 'INCOMING_EMAIL'
  success: true
  details: ({ mailer_id: string } | { domain: string; username: string }) & {
    /** Of this message at this route or mailbox: the key by which a repetition is known. */
    inbound_id: string
    /** Where the message is to be had as it was received, with an API key that may read. */
    raw_url: string
    message_id: string
    in_reply_to: string
    references: string[]
    thread_id: string
    from: IncomingAddress
    to: IncomingAddress[]
    cc: IncomingAddress[]
    reply_to: IncomingAddress[]
    subject: string
    text: string
    html: string
    headers: { name: string; value: string }[]
    attachments: IncomingAttachment[]
    spf: AuthenticationResult
    dkim: DkimResult[]
    dmarc: AuthenticationResult
    arc?: AuthenticationResult
    received_at: string
    /** Whether a program has written it: an answer to it would go to nobody. */
    auto_reply?: boolean
    /** Where it lies, of mail fetched by IMAP. */
    folder?: string
    /** Why the message could not be read as a whole: what is missing is in the raw one alone. */
    problem?: string
    /** Absent for mail fetched by IMAP. */
    envelope?: { from: string; to: string[]; remote_ip: string; helo: string; tls?: boolean }
    /** Of sendTestEvent alone. */
    test?: true
  }
}

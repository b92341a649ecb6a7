/**
 * Events and requests as the service makes them, for the tests of a receiver
 * (docs/reference/events.md#fields).
 *
 * Each call makes new objects: a test that changes one changes no other.
 */
import type { EventName, EventOf, KnownEvent, ReceivedEvent } from './event-types.ts'

type PartOf<T> = T extends unknown ? { [K in keyof T]?: T[K] | undefined } : never

/** Fields of `details` that are other than in the example; undefined leaves one out. */
export type ExampleDetails<Name extends EventName> = PartOf<EventOf<Name>['details']>

/** A sound event of that name: `exampleEvent('SMTP_ERROR', { attempt: 5, retry_scheduled: false })`. */
export function exampleEvent<Name extends EventName>(
  name: Name,
  details?: ExampleDetails<Name>,
): EventOf<Name> {
  const example: KnownEvent = examples[name]()
  const changes: object = { ...details }
  const changed = Object.entries({ ...baseOf(example, changes), ...changes })
  const present = changed.filter(([, value]) => value !== undefined)
  return { ...example, details: Object.fromEntries(present) } as EventOf<Name>
}

/** An INCOMING_EMAIL of a mailbox names its mailer in place of domain and user, and no envelope. */
function baseOf({ event, details }: KnownEvent, changes: object): object {
  if (event !== 'INCOMING_EMAIL' || !('mailer_id' in changes)) return details
  const unnamed = { domain: undefined, username: undefined, envelope: undefined }
  return { ...details, ...unnamed, folder: 'INBOX' }
}

export interface ExampleRequestOptions {
  readonly url?: string | undefined
  /** As registered with the webhook: the secret is among them. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly traceparent?: string | undefined
}

/** An array makes the request of an EMAIL_EVENT webhook, one event that of all others. */
export function exampleRequest(
  events: ReceivedEvent | readonly ReceivedEvent[],
  options: ExampleRequestOptions = {},
): Request {
  const { url = 'https://hooks.example.com/postrider', traceparent = exampleTrace } = options
  return new Request(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Postrider',
      traceparent,
      ...options.headers,
    },
    body: JSON.stringify(events),
  })
}

const exampleTrace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

const eventAt = '2026-11-20T13:01:02.123456Z'
const smtpMailer = 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const imapMailer = 'imap_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const domainMailer = 'domain_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const inboundId = 'in_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const webhookId = 'wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'

const noTracking = () => ({
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
})

const tracked = () => ({
  time: eventAt,
  ip: '203.0.113.7',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  browser_name: 'Firefox',
  browser_version: '140.0',
  os: 'Linux',
  device_type: 'desktop',
  platform: 'Linux',
  country: 'NL',
  city: 'Utrecht',
  region: 'Utrecht',
  time_zone: 'Europe/Amsterdam',
  bot: false,
})

const message = (failedReason = '') => ({
  ref_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  mailer_id: smtpMailer,
  email: ['ada@example.com'],
  custom_args: { order_id: 1234 },
  message_id: '<01JD4M8W6ZQ3V5T7X9Y2A4C6E8@example.com>',
  thread_id: '',
  webhook_id: webhookId,
  event_at: eventAt,
  tracking: noTracking(),
  failed_reason: failedReason,
})

/** Of a provider, which has ids of its own. */
const relayed = (failedReason = '') => ({
  ...message(failedReason),
  mailer_id: domainMailer,
  message_id: '7529a1b4c8d2e6f0',
})

const examples: { readonly [Name in EventName]: () => EventOf<Name> } = {
  MAIL_DELIVERED: () => ({ event: 'MAIL_DELIVERED', success: true, details: message() }),
  MAIL_OPENED: () => ({
    event: 'MAIL_OPENED',
    success: true,
    details: { ...message(), tracking: tracked() },
  }),
  MAIL_CLICKED: () => ({
    event: 'MAIL_CLICKED',
    success: true,
    details: { ...message(), tracking: { ...tracked(), url: 'https://shop.example.com/sale' } },
  }),
  MAIL_UNSUBSCRIBED: () => ({
    event: 'MAIL_UNSUBSCRIBED',
    success: true,
    details: { ...message(), tracking: tracked() },
  }),
  MAIL_BOUNCE: () => ({
    event: 'MAIL_BOUNCE',
    success: false,
    details: { ...relayed('550 5.1.1 No such user'), error_code: '550', num_retries: '0' },
  }),
  MAIL_SPAM: () => ({
    event: 'MAIL_SPAM',
    success: false,
    details: relayed('The recipient reported the message as spam'),
  }),
  MAIL_POLICY_REJECTION: () => ({
    event: 'MAIL_POLICY_REJECTION',
    success: false,
    details: relayed('550 5.7.1 Recipient address suppressed due to customer policy'),
  }),
  MAIL_GENERATION_FAILURE: () => ({
    event: 'MAIL_GENERATION_FAILURE',
    success: false,
    details: relayed('Error while rendering part html: line 2: substitution value is missing'),
  }),
  MAIL_GENERATION_REJECTION: () => ({
    event: 'MAIL_GENERATION_REJECTION',
    success: false,
    details: relayed('The message holds a header that is not allowed'),
  }),
  SMTP_ERROR: () => ({
    event: 'SMTP_ERROR',
    success: false,
    details: {
      ...message('The mailbox is busy'),
      attempt: 1,
      max_attempts: 5,
      retry_scheduled: true,
      provider_error: '450 4.2.1 Mailbox busy, try later',
    },
  }),
  PHISHING: () => ({
    event: 'PHISHING',
    success: false,
    details: { ...message('The message was taken for phishing'), message_id: '' },
  }),
  MAILER_DEACTIVATED: () => ({
    event: 'MAILER_DEACTIVATED',
    success: false,
    details: {
      mailer_id: smtpMailer,
      config_type: 'smtp',
      failed_reason: 'provider_auth_error',
      provider_error: '535 5.7.8 Authentication credentials invalid',
    },
  }),
  DOMAIN_VERIFICATION: () => ({
    event: 'DOMAIN_VERIFICATION',
    details: {
      domain: 'example.com',
      verified: true,
      mailer_id: domainMailer,
      custom_args: null,
      webhook_id: webhookId,
    },
  }),
  IMAP_ERROR: () => ({
    event: 'IMAP_ERROR',
    success: false,
    details: {
      mailer_id: imapMailer,
      failed_reason: 'The mailbox could not be reached',
      provider_error: 'connect ECONNREFUSED',
      event_at: eventAt,
    },
  }),
  INCOMING_EMAIL: () => ({
    event: 'INCOMING_EMAIL',
    success: true,
    details: {
      domain: 'inbound.example.com',
      username: 'support',
      inbound_id: inboundId,
      raw_url: `https://mail.example.com/v1/inbound/messages/${inboundId}/raw`,
      message_id: '<a1@example.org>',
      in_reply_to: '',
      references: [],
      thread_id: 'a1@example.org',
      from: { email: 'ada@example.org', name: 'Ada' },
      to: [{ email: 'support@inbound.example.com', name: '' }],
      cc: [],
      reply_to: [],
      subject: 'A question',
      text: 'Where is my order?\n',
      html: '',
      headers: [
        { name: 'From', value: 'Ada <ada@example.org>' },
        { name: 'To', value: 'support@inbound.example.com' },
        { name: 'Subject', value: 'A question' },
        { name: 'Message-ID', value: '<a1@example.org>' },
      ],
      attachments: [
        {
          filename: 'order.txt',
          type: 'text/plain',
          size: 5,
          content_id: null,
          content: 'MTIzNAo=',
        },
      ],
      spf: { result: 'pass' },
      dkim: [{ result: 'pass', domain: 'example.org', selector: 's1' }],
      dmarc: { result: 'pass' },
      arc: { result: 'none' },
      received_at: '2026-11-20T13:01:02.123Z',
      auto_reply: false,
      envelope: {
        from: 'ada@example.org',
        to: ['support@inbound.example.com'],
        remote_ip: '203.0.113.7',
        helo: 'mail.example.org',
        tls: true,
      },
    },
  }),
}

/**
 * The requests that receivers of webhooks get, as the OpenAPI document describes them
 * (docs/reference/webhooks.md#envelope). What is variable by configuration is told with its default.
 */
import {
  imapError,
  mailBounce,
  mailClicked,
  mailDelivered,
  mailerDeactivated,
  mailGenerationFailure,
  mailGenerationRejection,
  mailOpened,
  mailPolicyRejection,
  mailSpam,
  mailUnsubscribed,
  phishing,
  smtpError,
  type WebhookEvent,
} from './events.ts'
import { incomingEmail } from './incoming.ts'

/** By the name of their component. */
export const emailEventComponents = {
  MailDelivered: mailDelivered,
  MailOpened: mailOpened,
  MailClicked: mailClicked,
  MailBounce: mailBounce,
  MailSpam: mailSpam,
  MailUnsubscribed: mailUnsubscribed,
  MailPolicyRejection: mailPolicyRejection,
  MailGenerationFailure: mailGenerationFailure,
  MailGenerationRejection: mailGenerationRejection,
  SmtpError: smtpError,
  Phishing: phishing,
  MailerDeactivated: mailerDeactivated,
} as const

export const incomingEventComponents = {
  IncomingEmail: incomingEmail,
  ImapError: imapError,
} as const

const delivery = `**Acknowledgement.** Any 2xx, within 15 seconds (\`WEBHOOK_TIMEOUT\`). Its body is recorded, not read. Redirects are not followed: a 3xx is a failure like any other.

**Retries.** After any other answer the same bytes are sent again: after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, then every 6 h (\`WEBHOOK_RETRY_SCHEDULE\`). Each wait is up to 20 % shorter or longer by chance. Retries go on for 3 days (\`WEBHOOK_RETRY_FOR\`). After that the delivery is \`exhausted\`: it is kept and can be replayed. \`Retry-After\` is honoured between the current wait and the longest. A webhook that has failed for more than five days is tried every six hours. Later events wait meanwhile: a webhook has one request under way at a time.

**Repetitions.** An acknowledged request may come again: the acknowledgement got lost, or somebody asked for the repetition. Receivers must be idempotent.

**Headers.** The headers of the registration, unchanged; \`Content-Type: application/json\`; \`traceparent\`.`

const events = `The body is a JSON array of events, even for one event, sorted by \`event_at\`, oldest first. A batch has waiting events of several emails and event types: at most 500 events and 1 MiB (\`WEBHOOK_BATCH_EVENTS\`, \`WEBHOOK_BATCH_BYTES\`), or one larger event. Order holds within a request; over all requests, order by \`event_at\`. Tell events apart by \`event\`, never by shape, and skip names that you do not know.

**Deduplication key.** \`ref_id\` + \`event\` + \`event_at\`, and \`attempt\` on \`SMTP_ERROR\`. \`ref_id\` alone is no key.

**MAILER_DEACTIVATED** is alone in its array, whatever the event switches say. It has no \`ref_id\`, no \`event_at\` and no \`webhook_id\`.`

const refusals = `**Refused content.** After 400, 413, 415 or 422 a batch is not repeated. It is \`discarded\`, and its events are divided into two halves (\`divided_into\`), and so on, until the refused event is alone. That event is \`parked\`: it is retried by the same schedule, and the others go on. After 413 later batches are smaller. A receiver that refuses ten events in a row refuses everything, so its webhook also waits by the schedule.`

const single = `The body is one JSON object, not an array, without \`success\` and \`event_at\`. One is sent for each verification of a domain.`

const incoming = `The body is one JSON object, not an array. The webhook of an inbound domain, a username or a mailbox gets received mail. A mailbox's webhook also gets \`MAILER_DEACTIVATED\` and \`IMAP_ERROR\`, when the mailbox cannot be read and every hour (\`IMAP_ERROR_REPEAT\`) while that lasts. Tell events apart by \`event\`.

**Deduplication key.** \`inbound_id\` of \`INCOMING_EMAIL\`; \`mailer_id\` + \`event_at\` of \`IMAP_ERROR\`.`

const parking = `**Refused content.** After 400, 413, 415 or 422 the event is \`parked\`: it is retried by the same schedule beside the others, which go on.`

export const webhookRequests: Readonly<
  Record<WebhookEvent | 'INCOMING', { readonly summary: string; readonly description: string }>
> = {
  EMAIL_EVENT: {
    summary: 'What happened to emails, and mailers that were deactivated',
    description: [events, delivery, refusals].join('\n\n'),
  },
  DOMAIN_VERIFICATION: {
    summary: 'The result of the verification of a domain',
    description: [single, delivery, parking].join('\n\n'),
  },
  INCOMING: {
    summary: 'Mail that was received, and mailboxes that cannot be read',
    description: [incoming, delivery, parking].join('\n\n'),
  },
}

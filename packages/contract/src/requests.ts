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

**Retries.** Whatever is not 2xx is tried again, byte for byte, after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, then every 6 h (\`WEBHOOK_RETRY_SCHEDULE\`), each wait 20 % shorter or longer by chance, for 3 days (\`WEBHOOK_RETRY_FOR\`). After that the delivery is \`exhausted\`: kept, and had by replay. \`Retry-After\` is honoured between the current wait and the longest. A webhook that has failed for more than five days is asked every six hours. Meanwhile later events wait: one request is under way to one webhook.

**Repetitions.** A request may come again although it was acknowledged, when the acknowledgement got lost or somebody asked for it. Receivers must be idempotent.

**Headers.** Those of the registration as they were given, \`Content-Type: application/json\` and \`traceparent\`.`

const events = `The body is a JSON array of events, even for one event, sorted by \`event_at\`, oldest first. A batch holds what has piled up, of several emails and event types: at most 500 events and 1 MiB (\`WEBHOOK_BATCH_EVENTS\`, \`WEBHOOK_BATCH_BYTES\`), or one event that is larger. Order holds within a request; over all requests \`event_at\` is the ordering key. Tell events apart by \`event\`, never by shape, and skip names that you do not know.

**Deduplication key.** \`ref_id\` + \`event\` + \`event_at\`, and \`attempt\` on \`SMTP_ERROR\`. \`ref_id\` alone is none.

**MAILER_DEACTIVATED** travels alone in its array, whatever the event switches say. It has no \`ref_id\`, no \`event_at\` and no \`webhook_id\`.`

const refusals = `**Refused content.** After 400, 413, 415 or 422 a batch is not repeated: it is \`discarded\` and its events are divided in two halves (\`divided_into\`), these again, until the offending event stands alone. That one is \`parked\`: it is retried by the same schedule beside the others, which go on. After 413 later batches are smaller. A receiver that refuses ten events in a row refuses everything, so its webhook also waits by the schedule.`

const single = `The body is one JSON object, not an array, without \`success\` and \`event_at\`. One is sent for each verification of a domain.`

const incoming = `The body is one JSON object, not an array. It goes to the webhook of the inbound domain or username, or of the mailbox: mail that was received, and of a mailbox also \`IMAP_ERROR\`, when a failure to read it begins and every hour (\`IMAP_ERROR_REPEAT\`) while it lasts, and \`MAILER_DEACTIVATED\`. Tell them apart by \`event\`.

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

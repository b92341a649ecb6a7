/**
 * Body and answer of sendEmail, and the limits that more than one field shares
 * (docs/reference/sending.md#accepting).
 *
 * The schema checks shape, presence and the size of single fields. Addresses, repeated
 * recipients, header names, base64, the sums over several fields, durations and times are the
 * server's, each refused by its path.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, jsonObject, jsonObjectOrNull, stringMap } from './common.ts'
import { errorCodes, fieldError } from './errors.ts'
import { emailLengthMax } from './mailers.ts'

/** Over `to`, `cc` and `bcc` together. */
export const recipientsMax = 1000
export const displayNameLengthMax = 200
export const subjectLengthMax = 998
/** One part, in characters. */
export const contentLengthMax = 5 * 1024 * 1024
/** Both parts together, in UTF-8 octets. */
export const contentBytesMax = 10 * 1024 * 1024
/** `custom_args` as JSON, in UTF-8 octets. */
export const customArgsBytesMax = 10 * 1024
export const customArgsDepthMax = 16
export const campaignIdLengthMax = 255
export const attachmentsMax = 50
/** All attachments together, decoded. */
export const attachmentBytesMax = 25 * 1024 * 1024
export const filenameLengthMax = 255
export const mediaTypeLengthMax = 255
export const emailHeadersMax = 100
export const emailHeaderNameLengthMax = 76
export const emailHeaderValueLengthMax = 998
/** Names and values of all custom headers together, in UTF-8 octets. */
export const emailHeadersBytesMax = 64 * 1024
export const maxAttemptsMax = 20
/** One template, in characters. */
export const templateLengthMax = 1024 * 1024
/** `template_data` as JSON, in UTF-8 octets. */
export const templateDataBytesMax = 1024 * 1024
/** All that the templates of one request render to with data of recipients' own, in UTF-8 octets. */
export const ownContentBytesMax = 40 * 1024 * 1024
/** How long that may take. */
export const ownContentMsMax = 20_000
/** Tracked links of one email, in all that its templates render to. */
export const ownLinksMax = 20_000
export const sendAtAheadMsMax = 30 * 24 * 60 * 60 * 1000
export const sendAtPastMsMax = 5 * 60 * 1000
export const idempotencyKeyLengthMax = 255
/** Of one batch. */
export const batchMessagesMax = 500
/** Of an atomic batch, which is committed as one. */
export const atomicRecipientsMax = 10_000

/** Names, in lower case, that the service writes itself. */
export const reservedEmailHeaders = [
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
  'return-path',
  'received',
  'authentication-results',
  'delivered-to',
] as const
/** Prefixes, in lower case, refused likewise. */
export const reservedEmailHeaderPrefixes = ['content-', 'resent-', 'dkim-', 'arc-'] as const

export const recipientTypes = ['to', 'cc', 'bcc'] as const
export type RecipientType = (typeof recipientTypes)[number]

/** Where a recipient stands; opens, clicks and the like are facts beside it. */
export const recipientStatuses = [
  'queued',
  'scheduled',
  'sending',
  'deferred',
  'held',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'blocked',
  'suppressed',
  'expired',
  'rejected',
] as const
export type RecipientStatus = (typeof recipientStatuses)[number]

export const emailAddress = closedObject({
  email: Type.String({
    minLength: 1,
    maxLength: emailLengthMax,
    description: 'One address, without a display name',
    examples: ['ada@example.com'],
  }),
  name: Type.Optional(
    Type.String({
      maxLength: displayNameLengthMax,
      description: 'Display name',
    }),
  ),
})
export type EmailAddressInput = Static<typeof emailAddress>

/** An entry of `to`. */
export const emailRecipient = closedObject(
  {
    ...emailAddress.properties,
    template_data: Type.Optional(
      jsonObject({
        description: `Laid over the email's \`template_data\` by top-level key: this recipient gets subject and content as they render with both. Together at most 1 MiB. Subject and content are then templates for all recipients. Recipients with the same data share a rendering. All renderings of one request may have ${ownContentBytesMax / (1024 * 1024)} MiB and take ${ownContentMsMax / 1000} s of processor time; beyond that, send it in parts`,
        examples: [{ name: 'Ada' }],
      }),
    ),
    custom_args: Type.Optional(
      jsonObjectOrNull({
        description:
          "Laid over the email's `custom_args` by top-level key, in every event about this recipient. Together at most 10 KiB",
        examples: [{ order_id: 1234 }],
      }),
    ),
  },
  { description: 'A recipient, with what it has of its own' },
)
export type EmailRecipientInput = Static<typeof emailRecipient>

export const emailContent = closedObject({
  type: Type.Enum(['text/html', 'text/plain'], { description: 'Media type of the part' }),
  value: Type.String({
    maxLength: contentLengthMax,
    description: 'Both parts together at most 10 MiB in UTF-8',
    examples: ['<p>Hello</p>'],
  }),
})
export type EmailContent = Static<typeof emailContent>

export const emailAttachment = closedObject({
  filename: Type.String({
    minLength: 1,
    maxLength: filenameLengthMax,
    description: 'As the recipient sees it',
  }),
  content: Type.String({ description: 'Base64' }),
  type: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: mediaTypeLengthMax,
      description:
        'Media type; else derived from the name. `message/…` and `multipart/…` are sent as `application/octet-stream`: such parts may not be in base64',
      examples: ['application/pdf'],
    }),
  ),
  disposition: Type.Optional(
    Type.Enum(['attachment', 'inline'], {
      description: 'When left out: `inline` where the HTML shows it as `cid:…`, else `attachment`',
    }),
  ),
  content_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'For `cid:` links in the HTML, without angle brackets',
    }),
  ),
})
export type EmailAttachment = Static<typeof emailAttachment>

export const sendSettings = closedObject({
  max_attempts: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxAttemptsMax,
      description: 'Budget of attempts',
    }),
  ),
  expires_in: Type.Optional(
    Type.String({
      minLength: 2,
      maxLength: 20,
      description: 'How long it is tried at most, such as `6h`; default `3d`',
      examples: ['6h'],
    }),
  ),
  open_tracking: Type.Optional(
    Type.Boolean({
      description:
        'Puts a pixel into the HTML, which tells of opens (`MAIL_OPENED`). Off when left out',
    }),
  ),
  click_tracking: Type.Optional(
    Type.Boolean({
      description:
        'Leads the `http` and `https` links of the HTML through this service, which reports clicks (`MAIL_CLICKED`). The rest of the HTML stays the same. So do links to unsubscribe, and links whose tag has `data-postrider-track="off"`. HTML with more than 1,000 links is sent without. Off when left out',
    }),
  ),
  unsubscribe: Type.Optional(
    Type.Boolean({
      description:
        'Adds the headers for unsubscribing in one click (RFC 8058). Replaces `%unsubscribe_url%` in HTML and text by the URL of a page to unsubscribe. `headers` must then not have `List-Unsubscribe` or `List-Unsubscribe-Post`. Off when left out',
    }),
  ),
})
export type SendSettings = Static<typeof sendSettings>

const recipients = { maxItems: recipientsMax }

const sendEmailFields = {
  from: emailAddress,
  to: Type.Array(emailRecipient, {
    ...recipients,
    minItems: 1,
    description:
      'Recipients; each gets a copy of its own, and may have `template_data` and `custom_args` of its own',
  }),
  cc: Type.Optional(
    Type.Array(emailAddress, { ...recipients, description: 'Recipients, visible to all' }),
  ),
  bcc: Type.Optional(
    Type.Array(emailAddress, {
      ...recipients,
      description: 'Never visible to other recipients',
    }),
  ),
  subject: Type.Optional(
    Type.String({
      maxLength: subjectLengthMax,
      description: 'Subject of the message. Required without `template_id`',
    }),
  ),
  content: Type.Optional(
    Type.Array(emailContent, {
      minItems: 1,
      maxItems: 2,
      description:
        'At most one of each type. HTML alone gets a text part with what it says, up to 256 KiB of HTML; an empty `text/plain` keeps it from that. Required without `template_id`',
    }),
  ),
  template_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'A stored template, in place of `subject` and `content`. It is rendered with `template_data`, or with no data; its sample data is not used. The version is chosen when the email is accepted: later changes, also a deletion, do not concern it',
      examples: ['tpl_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
    }),
  ),
  template_version: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'The newest when left out. Only with `template_id`',
    }),
  ),
  replyTo: Type.Optional(emailAddress),
  headers: Type.Optional(
    stringMap({
      description: 'Further header fields of the message',
      maxProperties: emailHeadersMax,
      examples: [{ 'X-Order': '1234' }],
    }),
  ),
  attachments: Type.Optional(
    Type.Array(emailAttachment, {
      maxItems: attachmentsMax,
      description: 'All together at most 25 MiB, decoded',
    }),
  ),
  custom_args: Type.Optional(
    jsonObjectOrNull({
      description:
        'Echoed in every event of the email, with those of the recipient over them; at most 10 KiB',
      examples: [{ order_id: 1234 }],
    }),
  ),
  campaign_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: campaignIdLengthMax,
      description: 'A name of your own, by which logs are found',
    }),
  ),
  mailer_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Else the mailer is found by `from.email`',
    }),
  ),
  settings: Type.Optional(sendSettings),
  template_data: Type.Optional(
    jsonObject({
      description:
        'When given, also when empty, subject and content are Liquid templates, rendered once for the email, and once for each `template_data` in `to`. Output is escaped in HTML, save by `raw`; what is missing renders as nothing. Templates of at most 1 MiB, at most 1 MiB of data. One that cannot be rendered is a failed attempt of every recipient, which is final',
      examples: [{ name: 'Ada', items: [{ title: 'Tea', price: 4.5 }] }],
    }),
  ),
  send_at: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'When it is sent first: RFC 3339, at most 30 days ahead. Up to 5 minutes ago means now. `expires_in` counts from it',
      examples: ['2026-11-20T18:00:00Z'],
    }),
  ),
}

/** Where nothing is stored, the email says it itself: told with all other fields that are missing. */
const contentUnlessStored = {
  additionalProperties: false,
  if: { required: ['template_id'], properties: { template_id: {} } },
  else: { required: ['subject', 'content'], properties: { subject: {}, content: {} } },
}

export const sendEmailBody = Type.Object(sendEmailFields, contentUnlessStored)
export type SendEmailBody = Static<typeof sendEmailBody>

export const acceptedRecipient = closedObject({
  email: Type.String({ description: 'The address, as it was given' }),
  type: Type.Enum([...recipientTypes]),
  status: Type.Enum([...recipientStatuses], {
    description: '`queued`, `scheduled` or `suppressed` on acceptance',
  }),
})
export type AcceptedRecipient = Static<typeof acceptedRecipient>

export const sendEmailAnswer = answer({
  ref_id: Type.String({
    description: 'Reference id; every event of the email carries it',
  }),
  recipients: Type.Array(acceptedRecipient, { description: 'All, in the order of the request' }),
})
export type SendEmailAnswer = Static<typeof sendEmailAnswer>

export const batchMessageBody = Type.Object(
  {
    ...sendEmailFields,
    idempotency_key: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: idempotencyKeyLengthMax,
        description:
          'What the header `Idempotency-Key` is to sendEmail: visible ASCII, kept for 24 hours, with the same meaning for both operations',
        examples: ['order-1234'],
      }),
    ),
  },
  contentUnlessStored,
)
export type BatchMessageBody = Static<typeof batchMessageBody>

export const sendBatchBody = closedObject({
  messages: Type.Array(batchMessageBody, {
    minItems: 1,
    maxItems: batchMessagesMax,
    description: 'Each is the body of a sendEmail, and is judged for itself',
  }),
  atomic: Type.Optional(
    Type.Boolean({
      description: `Accepts all messages or none: then they may have at most ${atomicRecipientsMax} recipients together, and 40 MiB of content and attachments once templates are rendered. Each for itself when left out`,
    }),
  ),
})
export type SendBatchBody = Static<typeof sendBatchBody>

const batchIndex = Type.Integer({ description: 'Place of the message in `messages`, from 0' })

export const acceptedMessage = closedObject({
  index: batchIndex,
  ref_id: Type.String({ description: 'Reference id; every event of the email carries it' }),
  recipients: Type.Array(acceptedRecipient, { description: 'As in the answer to sendEmail' }),
})
export type AcceptedMessage = Static<typeof acceptedMessage>

export const refusedMessage = closedObject({
  index: batchIndex,
  code: Type.Enum([...errorCodes], { description: 'The code that sendEmail would have answered' }),
  message: Type.String({ description: 'What went wrong, for a person' }),
  errors: Type.Optional(
    Type.Array(fieldError, {
      description: 'The offending fields; paths begin at the message, such as `/to/0/email`',
    }),
  ),
})
export type RefusedMessage = Static<typeof refusedMessage>

export const sendBatchAnswer = answer({
  results: Type.Array(Type.Union([acceptedMessage, refusedMessage]), {
    description: 'One for each message, in the order of the request',
  }),
})
export type SendBatchAnswer = Static<typeof sendBatchAnswer>

export const emailParams = closedObject({
  ref_id: Type.String({
    maxLength: 64,
    description: 'Reference id of the email',
    examples: ['01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
  }),
})
export type EmailParams = Static<typeof emailParams>

export const cancelScheduledEmailAnswer = answer({
  ref_id: Type.String({ description: 'Reference id of the email' }),
  cancelled: Type.Integer({
    description: 'How many recipients this request took back; 0 when it is repeated',
  }),
  recipients: Type.Array(acceptedRecipient, {
    description:
      'With the status `rejected` where it was taken back; with another, its first attempt had begun',
  }),
})
export type CancelScheduledEmailAnswer = Static<typeof cancelScheduledEmailAnswer>

/** What a recipient of test mail can be made to do. */
export const simulatedEvents = ['open', 'click', 'bounce', 'complaint'] as const
/** Of one tenant, in a minute. */
export const simulationsMax = 120

export const simulateEventBody = closedObject({
  event: Type.Enum([...simulatedEvents], {
    description: '`bounce`: the address turns out not to exist. `complaint`: a report as spam',
  }),
  recipient: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 320,
      description: 'Who does it. May be left out where the email has one recipient',
      examples: ['ada@example.com'],
    }),
  ),
  url: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 65_536,
      description: 'Of a click: the link, as it was written in the HTML. Left out: the first',
    }),
  ),
})
export type SimulateEventBody = Static<typeof simulateEventBody>

export const simulatedEvent = closedObject(
  {
    event: Type.Enum([...simulatedEvents], { description: 'What was done' }),
    recipient: Type.String({ description: 'Who did it' }),
    url: Type.Optional(Type.String({ description: 'Of a click: where the link leads' })),
  },
  { description: 'What was done with test mail' },
)
export type SimulatedEvent = Static<typeof simulatedEvent>

export const simulateEventAnswer = answer({
  ref_id: Type.String({ description: 'Reference id of the email' }),
  simulated: simulatedEvent,
})
export type SimulateEventAnswer = Static<typeof simulateEventAnswer>

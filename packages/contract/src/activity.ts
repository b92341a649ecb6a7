/**
 * Query and answer of getEmailLogs, and the trace of an email (docs/reference/statuses.md#log-filters).
 *
 * A log is one recipient of one email. What times, dates, addresses and ids mean is checked by the
 * server.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  eventTime,
  jsonObject,
  jsonObjectOrNull,
  nextPageToken,
  orNull,
  pageQuery,
  peopleOnly,
  stringOrNull,
  timeOrDate,
  timestamp,
  timestampOrNull,
} from './common.ts'
import { webhookAttempt, webhookDeliveryStatuses } from './deliveries.ts'
import { emailFilters } from './email-filters.ts'
import { eventOfSubscriptionKey } from './events.ts'
import { emailLengthMax } from './mailers.ts'
import { type RelayKind, relayKinds } from './relays.ts'
import { recipientStatuses, recipientTypes } from './sending.ts'

/** What became of a recipient beside its status: each may be asked for like one. */
export const recipientFacts = ['spam', 'opened', 'clicked', 'unsubscribed'] as const
export type RecipientFact = (typeof recipientFacts)[number]

export const logFilters = {
  ...emailFilters,
  status: Type.Optional(
    Type.Enum([...recipientStatuses, ...recipientFacts], {
      description:
        'Where the recipient stands now; `spam`, `opened`, `clicked` (both by people) and `unsubscribed` are facts beside it',
    }),
  ),
  startDeliveredDate: Type.Optional(timeOrDate('Delivered at this time or later')),
  endDeliveredDate: Type.Optional(timeOrDate('Delivered at this time or earlier')),
}

export const getEmailLogsQuery = closedObject({ ...logFilters, ...pageQuery.properties })
export type GetEmailLogsQuery = Static<typeof getEmailLogsQuery>

const whole = (description: string) => Type.Integer({ minimum: 0, description })

const isTestMail = Type.Boolean({
  description:
    'Sent by a key of test mode: to nobody, and in no statistics. `mailer_id` is then `test_` and the ULID of the mailer that it would go by',
})

export const emailLog = closedObject({
  ref_id: Type.String({ description: 'Of the email; its recipients share it' }),
  email: Type.String({ description: "The recipient's address, as it was given" }),
  recipient_type: Type.Enum([...recipientTypes]),
  from: Type.String({ description: "The sender's address" }),
  subject: Type.String({ description: 'Subject of the email' }),
  mailer_id: Type.String({ description: 'The mailer that it goes out by' }),
  campaign_id: stringOrNull('null if none was given'),
  status: Type.Enum([...recipientStatuses]),
  failed_reason: Type.String({
    description: 'Why its last attempt failed, or why it is not sent; else empty',
  }),
  message_id: Type.String({
    description:
      "The `Message-ID` of its copy; of a sending domain's the provider's own id, once the provider has taken it. Empty where nothing was made for the recipient",
  }),
  attempts: whole('Attempts that have ended'),
  opens: whole(`Opens by people. ${peopleOnly}`),
  clicks: whole(`Clicks by people. ${peopleOnly}`),
  created_at: timestamp('When the email was accepted'),
  delivered_at: timestampOrNull('null while it is not delivered'),
  test: isTestMail,
})
export type EmailLog = Static<typeof emailLog>

export const getEmailLogsAnswer = answer({
  logs: Type.Array(emailLog, { description: 'Newest first' }),
  nextPageToken,
})
export type GetEmailLogsAnswer = Static<typeof getEmailLogsAnswer>

export const exportFormats = ['csv', 'ndjson'] as const
export type ExportFormat = (typeof exportFormats)[number]

/** Exports of a tenant that one process serves at once. */
export const exportsAtOnceMax = 2

export const exportEmailLogsQuery = closedObject({
  format: Type.Enum([...exportFormats], {
    description: '`csv` (RFC 4180, with a header line) or `ndjson` (a log as JSON in each line)',
  }),
  ...logFilters,
})
export type ExportEmailLogsQuery = Static<typeof exportEmailLogsQuery>

/** Of one recipient's attempts, reports and hits the newest, and of an email's events and deliveries the newest. */
export const tracedAttemptsMax = 50
export const tracedReportsMax = 50
export const tracedHitsMax = 50
export const tracedEventsMax = 2_000
export const tracedDeliveriesMax = 100

export const getEmailQuery = closedObject({
  recipient: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description: 'Only this recipient of the email, with what concerns it',
      examples: ['ada@example.com'],
    }),
  ),
})
export type GetEmailQuery = Static<typeof getEmailQuery>

export const classified = closedObject(
  {
    category: Type.String({
      description:
        'Why it failed: a category of docs/failed-reasons.md, such as `invalid_recipient`',
    }),
    by: Type.Enum(['enhanced_code', 'reply_code', 'words'], {
      description: 'What the category rests on',
    }),
    evidence: Type.String({
      description:
        'The code, such as `5.1.1` or `550`, or the words, in lower case and without addresses',
    }),
  },
  {
    description:
      'Of a failed attempt, or of a reported bounce: why it failed, and what says so. null for any other',
  },
)
export type Classified = Static<typeof classified>

export const tracedAttempt = closedObject({
  mailer_id: Type.String({ description: 'The mailer that made it' }),
  attempt: Type.Integer({ minimum: 1, description: 'Its number, from 1' }),
  max_attempts: Type.Integer({ minimum: 1, description: 'Budget of attempts of this send' }),
  started_at: timestamp('When it began'),
  finished_at: timestamp('When it ended'),
  outcome: Type.Enum(['accepted', 'deferred', 'failed', 'uncertain'], {
    description:
      '`deferred`: another attempt was to follow. `uncertain`: cut off after the message was sent, so that it may have been delivered',
  }),
  failed_reason: Type.String({ description: 'Empty on success' }),
  provider_error: Type.String({ description: "The server's reply as received; empty if none" }),
  classified: orNull(classified),
  retry_scheduled: Type.Boolean({
    description: 'Whether another attempt was to follow. false after a recipient was cancelled',
  }),
  next_attempt_at: timestampOrNull('When the next one was to be made'),
})
export type TracedAttempt = Static<typeof tracedAttempt>

/** What a provider's report comes down to. */
export const reportMeanings = [
  'processed',
  'delivered',
  'deferred',
  'bounced',
  'complained',
  'unsubscribed',
  'policy_rejected',
  'generation_failed',
  'generation_rejected',
] as const

export const tracedReport = closedObject({
  type: Type.String({ description: "The provider's own word for it, such as `out_of_band`" }),
  meaning: Type.Enum([...reportMeanings], { description: 'What the report comes down to' }),
  relay: Type.Unsafe<RelayKind | null>({
    enum: [...relayKinds, null],
    description: 'Who reported it; null for a mail server that did by mail',
  }),
  at: timestamp('When it happened, as the provider says'),
  received_at: timestamp('When the report came'),
  reason: Type.String({ description: "The receiving server's words; empty if none" }),
  hard: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Of a bounce, whether it is for good; else null',
  }),
  error_code: stringOrNull('As relayed by the provider'),
  num_retries: stringOrNull('As relayed by the provider'),
  classified: orNull(classified),
})
export type TracedReport = Static<typeof tracedReport>

export const tracedHit = closedObject({
  kind: Type.Enum(['open', 'click', 'unsubscribe'], { description: 'What was done' }),
  at: timestamp('When the request came'),
  ip: Type.String({ description: 'Address that the request came from' }),
  user_agent: Type.String({ description: 'The first 512 characters' }),
  bot: Type.Boolean({
    description: 'As far as is known by now: the event, told at once, may have said less',
  }),
  rule: stringOrNull('The rule that told a robot from a person; null where none applied'),
  url: Type.Optional(Type.String({ description: 'Of a click alone: where the link leads to' })),
})
export type TracedHit = Static<typeof tracedHit>

export const tracedWait = closedObject(
  {
    attempt: Type.Integer({ minimum: 1, description: 'Number of the attempt that comes next' }),
    max_attempts: Type.Integer({ minimum: 1, description: 'Budget of attempts of this send' }),
    due_at: timestamp(
      'Not before this time; of an attempt that is under way: when it is given up at the latest',
    ),
    expires_at: timestamp('No attempt begins after this time'),
    mailer_id: Type.String({ description: 'The mailer that makes it' }),
  },
  { description: 'What comes next; null where nothing waits' },
)
export type TracedWait = Static<typeof tracedWait>

export const tracedRecipient = closedObject({
  email: Type.String({ description: 'The address, as it was given' }),
  type: Type.Enum([...recipientTypes]),
  status: Type.Enum([...recipientStatuses]),
  subject: Type.Optional(
    Type.String({
      description: 'Present where the recipient has `template_data` of its own: as it was rendered',
    }),
  ),
  custom_args: Type.Optional(
    jsonObject({
      description:
        "Present where the recipient has `custom_args` of its own: as its events have them, over the email's",
    }),
  ),
  failed_reason: Type.String({ description: 'As in getEmailLogs' }),
  message_id: Type.String({ description: 'As in getEmailLogs' }),
  delivered_at: timestampOrNull('null while it is not delivered'),
  cancelled: Type.Optional(
    Type.Boolean({
      description:
        'Present, and true, when it is `rejected` because cancelEmails or cancelScheduledEmail took it back',
    }),
  ),
  waiting: orNull(tracedWait),
  attempts: Type.Array(tracedAttempt, {
    description: `Oldest first; the newest ${tracedAttemptsMax} at most, in an email to many the newest 5 at least`,
  }),
  attempts_truncated: Type.Boolean({ description: 'Whether there were earlier attempts' }),
  feedback: Type.Array(tracedReport, {
    description: `What was reported of it after it was handed over, oldest first; the newest ${tracedReportsMax} at most, in an email to many the newest 5 at least`,
  }),
  feedback_truncated: Type.Boolean({ description: 'Whether there were earlier reports' }),
  hits: Type.Array(tracedHit, {
    description: `What the recipient did, oldest first; the newest ${tracedHitsMax} at most, in an email to many the newest 5 at least`,
  }),
  hits_truncated: Type.Boolean({ description: 'Whether there were earlier hits' }),
})
export type TracedRecipient = Static<typeof tracedRecipient>

export const tracedEvent = closedObject({
  event_id: Type.String({ description: 'As in listEvents' }),
  event: Type.Enum(Object.values(eventOfSubscriptionKey), { description: 'Which event it is' }),
  event_at: eventTime('RFC 3339 in UTC, with microseconds'),
  success: Type.Boolean({ description: 'As a webhook gets it' }),
  details: jsonObject({
    description: 'As a webhook gets them, but for `webhook_id`',
  }),
})
export type TracedEvent = Static<typeof tracedEvent>

export const tracedDelivery = closedObject({
  delivery_id: Type.String({ description: 'Identifier of the delivery' }),
  webhook_id: Type.String({ description: 'The webhook that it was made for' }),
  status: Type.Enum([...webhookDeliveryStatuses]),
  created_at: timestamp('When its content was fixed'),
  next_attempt_at: timestampOrNull('When it is tried again, while that is known'),
  event_ids: Type.Array(Type.String(), {
    description: 'Which of `events` it carries. It may carry those of other emails, too',
  }),
  attempts: Type.Array(webhookAttempt, { description: 'As listWebhookDeliveries shows them' }),
})
export type TracedDelivery = Static<typeof tracedDelivery>

export const tracedEmail = closedObject({
  ref_id: Type.String({ description: 'Reference id of the email' }),
  from: Type.String({ description: "The sender's address" }),
  subject: Type.String({ description: 'Subject of the email' }),
  mailer_id: Type.String({ description: 'The mailer that it goes out by' }),
  campaign_id: stringOrNull('null if none was given'),
  custom_args: jsonObjectOrNull({ description: 'As they were given, else null' }),
  template_id: stringOrNull('The stored template that it was made of, else null'),
  template_version: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'The version of this template; null without one',
  }),
  traceparent: Type.String({ description: 'Of the request that sent it' }),
  created_at: timestamp('When it was accepted'),
  test: isTestMail,
  recipients: Type.Array(tracedRecipient, { description: 'All, in the order of the request' }),
  events: Type.Array(tracedEvent, {
    description: `Oldest first; the newest ${tracedEventsMax} at most`,
  }),
  events_truncated: Type.Boolean({ description: 'Whether there are earlier events' }),
  deliveries: Type.Array(tracedDelivery, {
    description: `Webhook deliveries that carried any of its events, newest first; the newest ${tracedDeliveriesMax} at most`,
  }),
  deliveries_truncated: Type.Boolean({
    description: 'Whether there may be earlier ones: listWebhookDeliveries with `ref_id` has all',
  }),
})
export type TracedEmail = Static<typeof tracedEmail>

export const getEmailAnswer = answer({ email: tracedEmail })
export type GetEmailAnswer = Static<typeof getEmailAnswer>

/**
 * Queries, bodies and answers of the record of webhook deliveries, and of replay
 * (docs/reference/webhooks.md#deliveries).
 *
 * A delivery is one request with its attempts; its content never changes. What times, dates and ids
 * mean is checked by the server.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  inboundId,
  inboundIdFilter,
  nextPageToken,
  pageQuery,
  refId,
  refIdFilter,
  stringOrNull,
  timeOrDate,
  timestamp,
  timestampOrNull,
} from './common.ts'
import type { PostriderEvent } from './events.ts'

/** Every event that the service can emit. */
export const eventNames = [
  'MAIL_DELIVERED',
  'MAIL_OPENED',
  'MAIL_CLICKED',
  'MAIL_BOUNCE',
  'MAIL_SPAM',
  'MAIL_UNSUBSCRIBED',
  'MAIL_POLICY_REJECTION',
  'MAIL_GENERATION_FAILURE',
  'MAIL_GENERATION_REJECTION',
  'SMTP_ERROR',
  'PHISHING',
  'MAILER_DEACTIVATED',
  'DOMAIN_VERIFICATION',
  'INCOMING_EMAIL',
  'IMAP_ERROR',
] as const satisfies readonly PostriderEvent['event'][]
export type EventName = (typeof eventNames)[number]

/**
 * `pending`: not tried yet. `retrying`: failed, tried again at `next_attempt_at`. `parked`: one
 * event that was refused as such, tried again beside the others. `exhausted`: given up.
 * `discarded`: not sent any more, because the webhook was switched off or deleted, or its events
 * went into other deliveries (`divided_into`).
 */
export const webhookDeliveryStatuses = [
  'pending',
  'retrying',
  'delivered',
  'parked',
  'exhausted',
  'discarded',
] as const
export type WebhookDeliveryStatus = (typeof webhookDeliveryStatuses)[number]

/** The newest that are shown of one delivery; in a list, and alone. */
export const listedAttemptsMax = 10
export const shownAttemptsMax = 200
/** Of a request's body, that are shown. A batch of ordinary events stays below. */
export const shownBodyBytesMax = 1024 * 1024
/** Replayed events that may wait for one webhook. */
export const replayedEventsMax = 100_000
/** Of a tenant: calls that send events again, in a minute; and events that they queue in a day. */
export const replaysMax = 60
export const replayedEventsADayMax = 1_000_000

const eventName = Type.Enum([...eventNames], { description: 'Name of the event' })
const deliveryStatus = Type.Enum([...webhookDeliveryStatuses], {
  description: 'Where the delivery stands',
})
/** What `status` filters by: one of them, or all of them that are not settled. */
export const webhookDeliveryFilters = [...webhookDeliveryStatuses, 'open'] as const
export type WebhookDeliveryFilter = (typeof webhookDeliveryFilters)[number]
const whole = (description: string) => Type.Integer({ minimum: 0, description })

export const listWebhookDeliveriesQuery = closedObject({
  event: Type.Optional(eventName),
  ref_id: Type.Optional(refIdFilter),
  inbound_id: Type.Optional(inboundIdFilter),
  status: Type.Optional(
    Type.Enum([...webhookDeliveryFilters], {
      description:
        'Where the delivery stands. `open`: not settled, so `pending`, `retrying` or `parked`',
    }),
  ),
  webhook_id: Type.Optional(
    Type.String({
      description: 'Made for this webhook. An id that is unknown or malformed finds nothing',
      examples: ['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
    }),
  ),
  start: Type.Optional(timeOrDate('Made at this time or later')),
  end: Type.Optional(timeOrDate('Made at this time or earlier')),
  ...pageQuery.properties,
})
export type ListWebhookDeliveriesQuery = Static<typeof listWebhookDeliveriesQuery>

export const webhookDeliveryParams = closedObject({
  delivery_id: Type.String({ maxLength: 64, examples: ['dlv_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'] }),
})
export type WebhookDeliveryParams = Static<typeof webhookDeliveryParams>

export const deliveredEvent = closedObject({
  event_id: Type.String({ description: 'Identifier of the event in the log' }),
  event: Type.Unsafe<EventName | null>({
    enum: [...eventNames, null],
    description: 'null, like what follows, when the event has left the log',
  }),
  ref_id: stringOrNull('null for events of no email'),
  inbound_id: Type.Optional(
    Type.String({ description: 'On `INCOMING_EMAIL`: the received message that it tells of' }),
  ),
  event_at: timestampOrNull('When it happened: RFC 3339 in UTC, with microseconds'),
  attempt: Type.Optional(
    Type.Integer({ minimum: 1, description: 'On send failures: the attempt that failed' }),
  ),
})
export type DeliveredEvent = Static<typeof deliveredEvent>

export const webhookTimings = closedObject(
  {
    dns_ms: Type.Optional(whole('Looking the name up')),
    connect_ms: Type.Optional(whole('Connecting')),
    tls_ms: Type.Optional(whole('TLS handshake')),
    first_byte_ms: Type.Optional(whole('From the start to the first byte of the answer')),
    total_ms: whole('The whole request'),
  },
  { description: 'What did not happen, as on a connection used again, is absent' },
)
export type WebhookTimings = Static<typeof webhookTimings>

export const webhookAttempt = closedObject({
  at: timestamp('When the request was made'),
  status: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'HTTP status of the answer; null when none came',
  }),
  duration_ms: whole('How long it took'),
  timings: Type.Unsafe<WebhookTimings | null>({
    anyOf: [webhookTimings, { type: 'null' }],
    description: 'Where the time went, as far as it is known',
  }),
  error: stringOrNull('Why there was no answer'),
  response: stringOrNull("The beginning of the answer's body, at most 4 KiB"),
})
export type WebhookAttempt = Static<typeof webhookAttempt>

const deliveryFields = {
  delivery_id: Type.String({ description: 'Identifier of the delivery' }),
  webhook_id: Type.String({ description: 'The webhook that it was made for' }),
  webhook_url: stringOrNull('Where this webhook sends to now; null when it was deleted'),
  status: deliveryStatus,
  events: Type.Array(deliveredEvent, { description: 'In the order of the request' }),
  next_attempt_at: timestampOrNull('When it is tried again, while that is known'),
  created_at: timestamp('When its content was fixed'),
  finished_at: timestampOrNull('When it was settled; null while it is open'),
  divided_into: Type.Optional(
    Type.Array(Type.String(), {
      description: 'After a refusal of the whole: the deliveries that took its events over',
    }),
  ),
}

export const webhookDelivery = closedObject({
  ...deliveryFields,
  attempts: Type.Array(webhookAttempt, {
    description: `Oldest first; of more than ${listedAttemptsMax} the newest`,
  }),
})
export type WebhookDelivery = Static<typeof webhookDelivery>

export const webhookDeliveryDetail = closedObject({
  ...deliveryFields,
  attempts: Type.Array(webhookAttempt, {
    description: `Oldest first; of more than ${shownAttemptsMax} the newest`,
  }),
  request: closedObject(
    {
      headers: Type.Array(Type.String(), {
        description: 'Names of the headers of the last request; empty before the first',
      }),
      body: stringOrNull(
        'Exactly as it is sent; null when its events have left the log, and when `body_hidden`',
      ),
      body_hidden: Type.Boolean({
        description:
          'true: `body` holds received mail, and the API key does not have the scope `content`',
      }),
      body_truncated: Type.Boolean({
        description: `true: \`body\` is the beginning of what is sent, as it is larger than ${shownBodyBytesMax} octets`,
      }),
    },
    { description: 'What was sent last, or is to be sent' },
  ),
})
export type WebhookDeliveryDetail = Static<typeof webhookDeliveryDetail>

export const listWebhookDeliveriesAnswer = answer({
  deliveries: Type.Array(webhookDelivery, {
    description:
      'Newest first. A page may have fewer than `pageSize` entries, even none, while there is a `nextPageToken`. It looks at a bounded number of deliveries and events',
  }),
  nextPageToken,
})
export type ListWebhookDeliveriesAnswer = Static<typeof listWebhookDeliveriesAnswer>

export const getWebhookDeliveryAnswer = answer({ delivery: webhookDeliveryDetail })
export type GetWebhookDeliveryAnswer = Static<typeof getWebhookDeliveryAnswer>

const replayed = Type.Integer({
  minimum: 0,
  description: 'Events that are sent again because of this call',
})

export const redeliverAnswer = answer({ replayed })
export type RedeliverAnswer = Static<typeof redeliverAnswer>

export const replayWebhookEventsBody = closedObject(
  {
    start: Type.Optional(timeOrDate('Events that happened at this time or later')),
    end: Type.Optional(timeOrDate('Events that happened at this time or earlier; now if left out')),
    event: Type.Optional(eventName),
    ref_id: Type.Optional(refId),
    inbound_id: Type.Optional(inboundId),
    undelivered: Type.Optional(
      Type.Boolean({
        description: 'true: only events that no delivery with the status `delivered` has carried',
      }),
    ),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'true: only count what would be sent again' }),
    ),
  },
  {
    description:
      '`start`, `ref_id` or `inbound_id` is required. `ref_id` and `inbound_id` exclude each other',
  },
)
export type ReplayWebhookEventsBody = Static<typeof replayWebhookEventsBody>

export const replayWebhookEventsAnswer = answer({
  replayed,
  webhook_ids: Type.Array(Type.String(), {
    description:
      'The webhooks that they are sent to. `replaying` of their status (getWebhookStatus) says how many still wait for a request',
    examples: [['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8']],
  }),
  matched: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Of a `dry_run`: events that would be sent again' }),
  ),
})
export type ReplayWebhookEventsAnswer = Static<typeof replayWebhookEventsAnswer>

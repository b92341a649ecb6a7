/**
 * Bodies and answers of webhook registration and management (spec §2.1, §4.1, §4.2; contract §4).
 *
 * Not in the schemas, because they have codes of their own or need more than shape: at least one
 * core event, no events for `DOMAIN_VERIFICATION`, the URL's rules, names and sizes of headers.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  orNull,
  plainAnswer,
  stringMap,
  timestamp,
} from './common.ts'
import { type SubscriptionKey, webhookEvents } from './events.ts'

export const webhookUrlLengthMax = 2048
/** Of a tenant: checks of a URL that fail, in a minute. */
export const webhookChecksMax = 60
export const webhookHeadersMax = 20
/** The value of one header, in octets; and its name. */
export const webhookHeaderBytesMax = 4096
export const webhookHeaderNameLengthMax = 256

/** Names, in lower case, that the service sets itself; `proxy-` is refused as a prefix. */
export const reservedWebhookHeaders = [
  'host',
  'content-length',
  'content-type',
  'transfer-encoding',
  'connection',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'keep-alive',
  'traceparent',
  'tracestate',
] as const
export const reservedWebhookHeaderPrefix = 'proxy-'

const toggle = Type.Optional(Type.Boolean())

export const subscriptionEvents = closedObject(
  {
    delivery: toggle,
    open: toggle,
    click: toggle,
    bounce: toggle,
    spam: toggle,
    unsubscribe: toggle,
    policy_rejection: toggle,
    generation_failure: toggle,
    generation_rejection: toggle,
    smtp_error: toggle,
    phishing: toggle,
    imap_error: toggle,
  },
  {
    description: 'Which events are delivered; at least one of the ten core events',
  },
)
export type SubscriptionEvents = Static<typeof subscriptionEvents>

export const webhookOptions = closedObject(
  { events: Type.Optional(subscriptionEvents) },
  { description: 'Only for `EMAIL_EVENT`' },
)
export type WebhookOptions = Static<typeof webhookOptions>

export const webhookUrl = Type.String({
  minLength: 1,
  maxLength: webhookUrlLengthMax,
  description:
    'https URL, publicly reachable; any port but those of other protocols, as browsers refuse them, and of databases',
  examples: ['https://hooks.example.com/postrider'],
})
const webhookEvent = Type.Enum([...webhookEvents], {
  description: 'Event type of the webhook',
})
export const webhookMethod = Type.Literal('POST', {
  description: '`POST` is the only accepted value',
})
export const webhookHeaders = stringMap({
  description: `Sent verbatim with every request, at most ${webhookHeadersMax}: names of at most ${webhookHeaderNameLengthMax} characters, values of at most ${webhookHeaderBytesMax} octets. Values are never returned`,
  maxProperties: webhookHeadersMax,
  examples: [{ 'X-Webhook-Secret': 'a long random value' }],
})

export const registerWebhookBody = closedObject({
  webhook_url: webhookUrl,
  event: webhookEvent,
  method: webhookMethod,
  headers: Type.Optional(webhookHeaders),
  webhook_options: Type.Optional(webhookOptions),
})
export type RegisterWebhookBody = Static<typeof registerWebhookBody>

export const updateWebhookBody = changes({
  event: webhookEvent,
  webhook_url: Type.Optional(webhookUrl),
  method: Type.Optional(orNull(webhookMethod)),
  headers: Type.Optional(orNull(webhookHeaders)),
  webhook_options: Type.Optional(
    orNull(
      closedObject(
        { events: Type.Optional(subscriptionEvents) },
        {
          description:
            'Only for `EMAIL_EVENT`. Replaces the filters. A request that is made for the first time afterwards holds only what they let through, of what has waited, too; a repeated one keeps its body. What was asked for by replay is sent',
        },
      ),
    ),
  ),
  active: Type.Optional(
    Type.Boolean({
      description:
        'false: events are recorded, but not delivered, nor is what waits; both are had by replay. true: delivers what happens from then on',
    }),
  ),
})
export type UpdateWebhookBody = Static<typeof updateWebhookBody>

export const deleteWebhookBody = closedObject({ event: webhookEvent })
export type DeleteWebhookBody = Static<typeof deleteWebhookBody>

export const registerWebhookAnswer = answer({ webhook_id: Type.String() })
export type RegisterWebhookAnswer = Static<typeof registerWebhookAnswer>

export const updateWebhookAnswer = plainAnswer
export type UpdateWebhookAnswer = Static<typeof updateWebhookAnswer>

export const deleteWebhookAnswer = plainAnswer
export type DeleteWebhookAnswer = Static<typeof deleteWebhookAnswer>

const shownToggle = Type.Boolean()

/** All twelve keys, also those that were never named. */
export type AllSubscriptionEvents = Record<SubscriptionKey, boolean>

export const webhook = closedObject({
  webhook_id: Type.String(),
  event: webhookEvent,
  url: Type.String(),
  method: Type.Literal('POST'),
  active: Type.Boolean(),
  options: Type.Optional(
    closedObject(
      {
        events: closedObject({
          delivery: shownToggle,
          open: shownToggle,
          click: shownToggle,
          bounce: shownToggle,
          spam: shownToggle,
          unsubscribe: shownToggle,
          policy_rejection: shownToggle,
          generation_failure: shownToggle,
          generation_rejection: shownToggle,
          smtp_error: shownToggle,
          phishing: shownToggle,
          imap_error: shownToggle,
        }),
      },
      { description: 'Only for `EMAIL_EVENT`' },
    ),
  ),
  headers_present: Type.Array(Type.String(), {
    description: 'Names of the custom headers',
  }),
  created_at: timestamp('When it was registered'),
  updated_at: timestamp('When it was last changed'),
})
export type Webhook = Static<typeof webhook>

export const listWebhooksAnswer = answer({ webhooks: Type.Array(webhook) })
export type ListWebhooksAnswer = Static<typeof listWebhooksAnswer>

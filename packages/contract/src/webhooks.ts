/**
 * Bodies and answers of webhook registration and management (docs/reference/webhooks.md#registration).
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
  timestampOrNull,
} from './common.ts'
import { eventNames, webhookAttempt } from './deliveries.ts'
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

/** What every signing secret begins with; the base64 of its key follows. */
export const signingSecretPrefix = 'whsec_'
/** That sign at once: the current one, and those that were replaced within a day. */
export const signingSecretsMax = 6

const switched: Readonly<Record<SubscriptionKey, string>> = {
  delivery: "`MAIL_DELIVERED`: the recipient's server has taken the email",
  open: '`MAIL_OPENED`: it was opened (`settings.open_tracking`)',
  click: '`MAIL_CLICKED`: a link in it was clicked (`settings.click_tracking`)',
  bounce: '`MAIL_BOUNCE`: it was refused or given back after it was handed over',
  spam: '`MAIL_SPAM`: the recipient reported it as spam',
  unsubscribe: '`MAIL_UNSUBSCRIBED`: the recipient has unsubscribed',
  policy_rejection: "`MAIL_POLICY_REJECTION`: it is against the relay provider's policy",
  generation_failure: '`MAIL_GENERATION_FAILURE`: the relay provider could not make the message',
  generation_rejection: '`MAIL_GENERATION_REJECTION`: the relay provider refused its content',
  smtp_error: '`SMTP_ERROR`: an attempt failed; one for each attempt',
  phishing: '`PHISHING`: phishing protection stopped it; no core event',
  imap_error: 'Accepted and shown, and never looked at',
}

const toggle = (key: SubscriptionKey) => Type.Optional(Type.Boolean({ description: switched[key] }))

export const subscriptionEvents = closedObject(
  {
    delivery: toggle('delivery'),
    open: toggle('open'),
    click: toggle('click'),
    bounce: toggle('bounce'),
    spam: toggle('spam'),
    unsubscribe: toggle('unsubscribe'),
    policy_rejection: toggle('policy_rejection'),
    generation_failure: toggle('generation_failure'),
    generation_rejection: toggle('generation_rejection'),
    smtp_error: toggle('smtp_error'),
    phishing: toggle('phishing'),
    imap_error: toggle('imap_error'),
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

const SIGNED =
  'the requests have `webhook-id`, `webhook-timestamp` and `webhook-signature` by Standard Webhooks, beside the custom headers, which then must not have these names'
/** Of a new webhook. */
export const signingWanted = Type.Optional(
  Type.Boolean({
    description: `true: ${SIGNED}. The answer shows \`signing_secret\` once. Left out: requests are not signed`,
  }),
)
/** Of a change. */
export const signingChange = Type.Optional(
  Type.Boolean({
    description: `true: ${SIGNED}. If it was not signed before, the answer shows \`signing_secret\` once; else the secret stays, and rotateSigningSecret replaces it. false: its secrets are deleted`,
  }),
)
/** In an answer. */
export const isSigned = Type.Optional(
  Type.Boolean({ description: 'Present, and true, when its requests are signed' }),
)
const secretText = Type.String({
  description:
    'Shown only in this answer: `whsec_` and the base64 of 32 bytes, as libraries for Standard Webhooks take it',
  examples: ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
})
export const signingSecret = Type.Optional(secretText)

export const registerWebhookBody = closedObject({
  webhook_url: webhookUrl,
  event: webhookEvent,
  method: webhookMethod,
  headers: Type.Optional(webhookHeaders),
  webhook_options: Type.Optional(webhookOptions),
  signing: signingWanted,
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
  signing: signingChange,
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

const webhookId = Type.String({
  description: 'Identifier of the webhook; every event that it delivers has it',
  examples: ['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})

export const registerWebhookAnswer = answer({
  webhook_id: webhookId,
  signing_secret: signingSecret,
})
export type RegisterWebhookAnswer = Static<typeof registerWebhookAnswer>

export const updateWebhookAnswer = answer({ signing_secret: signingSecret })
export type UpdateWebhookAnswer = Static<typeof updateWebhookAnswer>

export const deleteWebhookAnswer = plainAnswer
export type DeleteWebhookAnswer = Static<typeof deleteWebhookAnswer>

const shownToggle = (key: SubscriptionKey) => Type.Boolean({ description: switched[key] })

/** All twelve keys, also those that were never named. */
export type AllSubscriptionEvents = Record<SubscriptionKey, boolean>

export const webhook = closedObject({
  webhook_id: webhookId,
  event: webhookEvent,
  url: Type.String({ description: 'Where its requests go' }),
  method: webhookMethod,
  active: Type.Boolean({ description: 'false: events are recorded, and not delivered' }),
  paused: Type.Optional(
    Type.Boolean({
      description:
        'Present, and true, when the webhook is paused: events wait until resumeWebhook is called',
    }),
  ),
  options: Type.Optional(
    closedObject(
      {
        events: closedObject(
          {
            delivery: shownToggle('delivery'),
            open: shownToggle('open'),
            click: shownToggle('click'),
            bounce: shownToggle('bounce'),
            spam: shownToggle('spam'),
            unsubscribe: shownToggle('unsubscribe'),
            policy_rejection: shownToggle('policy_rejection'),
            generation_failure: shownToggle('generation_failure'),
            generation_rejection: shownToggle('generation_rejection'),
            smtp_error: shownToggle('smtp_error'),
            phishing: shownToggle('phishing'),
            imap_error: shownToggle('imap_error'),
          },
          { description: 'Which events it delivers: all twelve, also those that were never named' },
        ),
      },
      { description: 'Only for `EMAIL_EVENT`' },
    ),
  ),
  headers_present: Type.Array(Type.String(), {
    description: 'Names of the custom headers',
  }),
  signing: isSigned,
  created_at: timestamp('When it was registered'),
  updated_at: timestamp('When it was last changed'),
})
export type Webhook = Static<typeof webhook>

export const listWebhooksAnswer = answer({
  webhooks: Type.Array(webhook, {
    description:
      'Those of `EMAIL_EVENT` and `DOMAIN_VERIFICATION`; others are shown by their mailbox or route',
  }),
})
export type ListWebhooksAnswer = Static<typeof listWebhooksAnswer>

export const webhookParams = closedObject({
  webhook_id: Type.String({ maxLength: 64, examples: ['wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'] }),
})
export type WebhookParams = Static<typeof webhookParams>

export const rotateSigningSecretAnswer = answer({
  signing_secret: secretText,
  former_until: timestamp('Until when the secret before it signs, too'),
})
export type RotateSigningSecretAnswer = Static<typeof rotateSigningSecretAnswer>

/** From the one that explains most: a paused webhook may fail, too. */
export const webhookStates = [
  'paused',
  'inactive',
  'dormant',
  'failing',
  'parked',
  'active',
  'idle',
] as const
export type WebhookState = (typeof webhookStates)[number]

/** How far waiting events are counted. */
export const webhookBacklogMax = 10_000

const milliseconds = (description: string) =>
  Type.Unsafe<number | null>({ type: ['integer', 'null'], description })

export const webhookStatus = closedObject({
  state: Type.Enum([...webhookStates], {
    description:
      '`paused`: events wait until it is resumed. `inactive`: events are recorded alone. `dormant`: it has failed for five days. `failing`: its last request failed. `parked`: only events that were refused one by one wait. `active`: something is delivered. `idle`: nothing waits',
  }),
  backlog: Type.Integer({
    minimum: 0,
    description: `Events that wait, those of open deliveries included; counted up to ${webhookBacklogMax}`,
  }),
  replaying: Type.Integer({
    minimum: 0,
    description:
      'Events that a replay or a redelivery has queued, and that are in no request yet. They go after all others',
  }),
  oldest_pending_at: timestampOrNull('Since when the oldest of them waits'),
  p50_ms: milliseconds('How long requests of the last hour took; null when there were none'),
  p95_ms: milliseconds('The same of the slowest of twenty'),
  paused_at: timestampOrNull('Since when it is paused'),
  failing_since: timestampOrNull('Since when every request failed'),
  next_attempt_at: timestampOrNull('When it is tried again after a failure'),
  last_ok_at: timestampOrNull('When a request was accepted last'),
})
export type WebhookStatus = Static<typeof webhookStatus>

export const getWebhookStatusAnswer = answer({ status: webhookStatus })
export type GetWebhookStatusAnswer = Static<typeof getWebhookStatusAnswer>

export const pauseWebhookAnswer = answer({ status: webhookStatus })
export type PauseWebhookAnswer = Static<typeof pauseWebhookAnswer>

export const resumeWebhookAnswer = answer({ status: webhookStatus })
export type ResumeWebhookAnswer = Static<typeof resumeWebhookAnswer>

/** Of a tenant, in a minute. */
export const webhookTestsMax = 30

export const sendTestEventBody = closedObject({
  event: Type.Enum([...eventNames], {
    description: 'Name of the event: one that this webhook takes',
    examples: ['MAIL_DELIVERED'],
  }),
})
export type SendTestEventBody = Static<typeof sendTestEventBody>

export const testDelivery = closedObject({
  accepted: Type.Boolean({ description: 'Whether the receiver answered with 2xx' }),
  ...webhookAttempt.properties,
  request: closedObject(
    {
      headers: Type.Array(Type.String(), { description: 'Names of the headers that were sent' }),
      body: Type.String({ description: 'Exactly as it was sent' }),
    },
    { description: 'What was sent' },
  ),
})
export type TestDelivery = Static<typeof testDelivery>

export const sendTestEventAnswer = answer({ test: testDelivery })
export type SendTestEventAnswer = Static<typeof sendTestEventAnswer>

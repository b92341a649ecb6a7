/** The `webhooks` of the OpenAPI document: the requests that the service makes (interface §6.2). */
import {
  domainEventComponents,
  emailEventComponents,
  incomingEventComponents,
  type WebhookEvent,
  webhookRequests,
} from '@postrider/contract'
import type { TSchema } from 'typebox'

export const webhookSchemas: Record<string, TSchema> = {
  ...emailEventComponents,
  ...domainEventComponents,
  ...incomingEventComponents,
}

const emailEvents = Object.entries(emailEventComponents)
const incomingEvents = Object.entries({
  ...incomingEventComponents,
  MailerDeactivated: emailEventComponents.MailerDeactivated,
})

export const webhookDescriptions = {
  EMAIL_EVENT: describe('EMAIL_EVENT', {
    type: 'array',
    minItems: 1,
    items: oneOf(emailEvents),
  }),
  DOMAIN_VERIFICATION: describe('DOMAIN_VERIFICATION', { $ref: refTo('DomainVerification') }),
  INCOMING: describe('INCOMING', oneOf(incomingEvents)),
} satisfies Record<WebhookEvent | 'INCOMING', object>

type Named = readonly [
  string,
  { readonly properties: { readonly event: { readonly const: string } } },
]

function oneOf(events: readonly Named[]) {
  return {
    oneOf: events.map(([name]) => ({ $ref: refTo(name) })),
    discriminator: {
      propertyName: 'event',
      mapping: Object.fromEntries(
        events.map(([name, schema]) => [schema.properties.event.const, refTo(name)]),
      ),
    },
  }
}

function refTo(name: string): string {
  return `#/components/schemas/${name}`
}

function describe(event: WebhookEvent | 'INCOMING', schema: object): object {
  return {
    post: {
      ...webhookRequests[event],
      operationId: `receive_${event}`,
      tags: ['Webhooks'],
      security: [],
      parameters: [
        {
          name: 'traceparent',
          in: 'header',
          required: true,
          description: "W3C Trace Context: the trace of the send of the request's oldest event",
          schema: { type: 'string' },
        },
      ],
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: {
        '2XX': { description: 'Acknowledged' },
        default: { description: 'Not acknowledged: tried again' },
      },
    },
  }
}

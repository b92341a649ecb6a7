/**
 * The `webhooks` of the OpenAPI document: the requests that the service makes
 * (docs/reference/webhooks.md#envelope).
 */
import {
  domainVerification,
  emailEventComponents,
  incomingEventComponents,
  mailerDeactivated,
  type WebhookEvent,
  webhookRequests,
} from '@postrider/contract'
import type { TSchema } from 'typebox'
import type { Schema, Shapes } from './shapes.ts'

type Described = WebhookEvent | 'INCOMING'

export function describeWebhooks(
  shapes: Shapes,
  examples: Readonly<Record<Described, unknown>>,
): Record<Described, object> {
  const describe = (event: Described, schema: Schema) => ({
    post: describeRequest(event, { schema, example: examples[event] }),
  })
  const emailEvents = oneOf(Object.values(emailEventComponents), shapes)
  const incoming = [...Object.values(incomingEventComponents), mailerDeactivated]
  return {
    EMAIL_EVENT: describe('EMAIL_EVENT', { type: 'array', minItems: 1, items: emailEvents }),
    DOMAIN_VERIFICATION: describe('DOMAIN_VERIFICATION', shapes.answer(domainVerification)),
    INCOMING: describe('INCOMING', oneOf(incoming, shapes)),
  }
}

type Event = TSchema & {
  readonly properties: { readonly event: { readonly const: string } }
}

function oneOf(events: readonly Event[], shapes: Shapes): Schema {
  const references = events.map((event) => shapes.answer(event))
  const mapping = events.map(({ properties }, n) => [properties.event.const, references[n]?.$ref])
  return {
    oneOf: references,
    discriminator: { propertyName: 'event', mapping: Object.fromEntries(mapping) },
  }
}

function describeRequest(event: Described, content: object): object {
  return {
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
    requestBody: { required: true, content: { 'application/json': content } },
    responses: {
      '2XX': { description: 'Acknowledged' },
      default: { description: 'Not acknowledged: tried again' },
    },
  }
}

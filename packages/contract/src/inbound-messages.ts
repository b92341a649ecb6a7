/**
 * Received messages as they are kept (docs/reference/events.md#incoming-email): what became of each, and what
 * it held, for what was too large to stand in its event.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  inboundId,
  inboundIdFilter,
  nextPageToken,
  orNull,
  pageQuery,
  stringOrNull,
  timestamp,
  timestampOrNull,
} from './common.ts'

export const inboundMessageStates = ['waiting', 'reported'] as const
export type InboundMessageState = (typeof inboundMessageStates)[number]

export const inboundMessageParams = closedObject({ inbound_id: inboundId })
export type InboundMessageParams = Static<typeof inboundMessageParams>

export const inboundAttachmentParams = closedObject({
  inbound_id: inboundId,
  n: Type.Integer({
    minimum: 0,
    maximum: 100_000,
    description: 'Its place among the attachments of the event, from 0',
  }),
})
export type InboundAttachmentParams = Static<typeof inboundAttachmentParams>

const results = (method: string, more = '') =>
  Type.String({
    description: `The result of ${method}, in the words of RFC 8601: \`pass\`, \`fail\`, \`none\`, …${more}`,
  })

export const inboundMessage = closedObject({
  inbound_id: inboundId,
  state: Type.Enum([...inboundMessageStates], {
    description: '`reported`: its `INCOMING_EMAIL` is recorded',
  }),
  mailer_id: stringOrNull('The mailbox that it was fetched from; null for one that came by SMTP'),
  folder: stringOrNull('Where it lay there'),
  domain: stringOrNull('The inbound domain that it came to; null for one that was fetched'),
  username: stringOrNull('The username whose route took it; null: the route of the whole domain'),
  from: orNull(
    closedObject(
      {
        name: Type.String({ description: 'As the message gives it; empty: none' }),
        email: Type.String({ description: 'As the message gives it' }),
      },
      {
        description:
          'Who it says that it is from. null: it was not read yet, names nobody, or the caller may not read the content of mail',
      },
    ),
  ),
  subject: stringOrNull(
    'Its subject, at most 998 characters of it. null: it was not read yet, or the caller may not read the content of mail',
  ),
  authentication: orNull(
    closedObject(
      {
        spf: results('SPF'),
        dkim: results(
          'DKIM',
          '. Of several signatures, the best. `policy`: it passes, and covers a part of the body only',
        ),
        dmarc: results('DMARC'),
      },
      {
        description:
          'Whether the mail is from whom it names; its event says more. null: it was not checked, or not yet',
      },
    ),
  ),
  bytes: Type.Integer({ minimum: 0, description: 'Size of the message as it was received' }),
  received_at: timestamp('When it was received'),
  reported_at: timestampOrNull('When its event was recorded; null: not yet'),
  problem: stringOrNull('Why it could not be read as a whole; null: it could, or was not read yet'),
  raw_url: Type.String({ description: 'Where it is to be had as it was received' }),
})
export type InboundMessage = Static<typeof inboundMessage>

export const getInboundMessageAnswer = answer({ inbound_message: inboundMessage })
export type GetInboundMessageAnswer = Static<typeof getInboundMessageAnswer>

export const listInboundMessagesQuery = closedObject({
  inbound_id: Type.Optional(inboundIdFilter),
  ...pageQuery.properties,
})
export type ListInboundMessagesQuery = Static<typeof listInboundMessagesQuery>

export const listInboundMessagesAnswer = answer({
  inbound_messages: Type.Array(inboundMessage, { description: 'Newest first' }),
  nextPageToken,
})
export type ListInboundMessagesAnswer = Static<typeof listInboundMessagesAnswer>

/** A mail that was received, as its webhook gets it (docs/reference/events.md#incoming-email). */
import { Type } from 'typebox'
import { closedObject, eventTime } from './common.ts'

export const incomingAddress = closedObject({
  email: Type.String({ description: 'Empty where there is none that can be read' }),
  name: Type.String({ description: 'Display name; empty where there is none' }),
})
const verdict = Type.String({ description: 'Such as `pass`, `fail` or `none` (RFC 8601)' })
const result = (description: string) =>
  Type.Object({ result: verdict }, { description, additionalProperties: true })
const messageIds = 'With its angle brackets'

export const incomingAttachment = closedObject({
  filename: Type.String({
    description: 'As the sender wrote it: never a path of yours. Empty where there is none',
  }),
  type: Type.String({ description: 'Media type, as the sender wrote it' }),
  size: Type.Integer({ description: 'Bytes, decoded' }),
  content_id: Type.Union([Type.String(), Type.Null()], {
    description: 'What `cid:` links in the HTML name it by; null where there is none',
  }),
  content: Type.String({ description: 'Base64; empty for one that has `url`' }),
  url: Type.Optional(
    Type.String({
      description:
        'Where an attachment beyond `POSTRIDER_INBOUND_INLINE_BYTES` is had, with an API key that may read',
    }),
  ),
})

export const incomingEmail = closedObject({
  event: Type.Literal('INCOMING_EMAIL', { description: 'By this it is told from other events' }),
  success: Type.Literal(true, { description: 'Always' }),
  details: closedObject(
    {
      mailer_id: Type.Optional(Type.String({ description: 'The mailbox; absent by SMTP' })),
      domain: Type.Optional(
        Type.String({ description: 'The inbound domain; absent of a mailbox' }),
      ),
      username: Type.Optional(
        Type.String({
          description: "The username, else the recipient's local part; absent of a mailbox",
        }),
      ),
      inbound_id: Type.String({
        description:
          'Of this message at this route or mailbox: the key by which a repetition is known',
      }),
      raw_url: Type.String({
        description: 'Where the message is had as it was received, with an API key that may read',
      }),
      message_id: Type.String({ description: messageIds }),
      in_reply_to: Type.String({ description: messageIds }),
      references: Type.Array(Type.String(), { description: 'Each with its angle brackets' }),
      thread_id: Type.String({
        description:
          'The same for a message and its replies: the first Message-ID of the conversation without brackets, or what the server calls it',
      }),
      from: incomingAddress,
      to: Type.Array(incomingAddress, { description: 'As the message says' }),
      cc: Type.Array(incomingAddress, { description: 'As the message says' }),
      reply_to: Type.Array(incomingAddress, {
        description: 'Where an answer is to go; else to `from`',
      }),
      subject: Type.String({ description: 'Subject of the message' }),
      text: Type.String({ description: 'Empty where there is none' }),
      html: Type.String({
        description: 'As it came: show it in a sandbox. Empty where there is none',
      }),
      headers: Type.Array(
        closedObject({
          name: Type.String({ description: 'As it is written' }),
          value: Type.String({ description: 'What stands behind the colon' }),
        }),
        { description: 'In their order' },
      ),
      attachments: Type.Array(incomingAttachment, { description: 'In their order' }),
      spf: result('`none` for mail of a mailbox'),
      dkim: Type.Array(
        Type.Object(
          {
            result: verdict,
            domain: Type.String({ description: 'Who signed' }),
            selector: Type.String({ description: 'Which key of theirs' }),
            partial: Type.Optional(
              Type.Literal(true, {
                description:
                  'The signature does not cover the whole body (`l=`): anybody may have written the rest. It proves nothing for DMARC',
              }),
            ),
          },
          { additionalProperties: true },
        ),
        { description: 'One for each signature' },
      ),
      dmarc: result('What the domain of `from` says of it'),
      arc: Type.Optional(result('Of the chain of those who handed it on')),
      received_at: eventTime('When its last byte was there'),
      auto_reply: Type.Optional(
        Type.Boolean({
          description:
            'Whether a program has written it, such as a notice of absence or a report: do not answer it',
        }),
      ),
      folder: Type.Optional(Type.String({ description: 'Where it lies in the mailbox' })),
      problem: Type.Optional(
        Type.String({
          description: 'Why it could not be read as a whole: what is missing is in the raw message',
        }),
      ),
      envelope: Type.Optional(
        closedObject(
          {
            from: Type.String({ description: 'Empty for a report' }),
            to: Type.Array(Type.String(), { description: 'Its recipients' }),
            remote_ip: Type.String({ description: 'Address of the server that handed it over' }),
            helo: Type.String({ description: 'As that server named itself' }),
            tls: Type.Optional(Type.Boolean({ description: 'Whether it came encrypted' })),
          },
          { description: 'Absent for mail of a mailbox' },
        ),
      ),
      test: Type.Optional(
        Type.Literal(true, { description: 'Of sendTestEvent alone: no such mail was received' }),
      ),
    },
    { description: 'The message' },
  ),
})

/**
 * The content of a sent email (docs/reference/sending.md#content): its parts, and the whole message of one
 * recipient.
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, stringOrNull, timestamp } from './common.ts'
import { emailLengthMax } from './mailers.ts'

export const storedAttachment = closedObject(
  {
    filename: Type.String({ description: 'As it was given' }),
    type: Type.String({ description: 'Media type, as it is sent' }),
    size: Type.Integer({ minimum: 0, description: 'Bytes, decoded' }),
    disposition: Type.Enum(['attachment', 'inline'], { description: 'As it is sent' }),
    content_id: stringOrNull('For `cid:` links in the HTML'),
  },
  { description: 'An attachment of a sent email, without its content' },
)
export type StoredAttachment = Static<typeof storedAttachment>

export const storedAddress = closedObject(
  {
    email: Type.String({ description: 'The address alone' }),
    name: Type.String({ description: 'Display name; empty where there is none' }),
  },
  { description: 'An address of a sent email' },
)
export type StoredAddress = Static<typeof storedAddress>

export const storedPart = closedObject(
  {
    type: Type.Enum(['text/html', 'text/plain'], { description: 'Media type of the part' }),
    value: Type.String({ description: 'Its text' }),
  },
  { description: 'A part of a sent email' },
)
export type StoredPart = Static<typeof storedPart>

export const storedContent = closedObject(
  {
    ref_id: Type.String({ description: 'Reference id of the email' }),
    created_at: timestamp('When the email was accepted'),
    from: storedAddress,
    to: Type.Array(storedAddress, { description: 'As the header shows them' }),
    cc: Type.Array(storedAddress, { description: 'As the header shows them' }),
    reply_to: Type.Optional(storedAddress),
    subject: Type.String({ description: 'Of the message; of a template, as it was rendered' }),
    parts: Type.Array(storedPart, {
      description:
        'Text and HTML as they were given or rendered, without tracking: no pixel, and links as they were written',
    }),
    headers: Type.Array(
      closedObject({
        name: Type.String({ description: 'Of the header' }),
        value: Type.String({ description: 'As it was given' }),
      }),
      { description: 'Headers that the request asked for' },
    ),
    attachments: Type.Array(storedAttachment, { description: 'Without their content' }),
    template_problem: stringOrNull(
      'Why the template could not be rendered; `parts` then are the template, and nothing was sent',
    ),
  },
  { description: 'What an email says, as it was accepted' },
)
export type StoredContent = Static<typeof storedContent>

export const getEmailContentAnswer = answer({ content: storedContent })
export type GetEmailContentAnswer = Static<typeof getEmailContentAnswer>

export const getEmailContentQuery = closedObject({
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description:
        'Whose copy, where recipients have `template_data` of their own. When left out: what the others get',
      examples: ['ada@example.com'],
    }),
  ),
})
export type GetEmailContentQuery = Static<typeof getEmailContentQuery>

export const getRawEmailQuery = closedObject({
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description: 'Whose copy: required where the email has several recipients',
      examples: ['ada@example.com'],
    }),
  ),
})
export type GetRawEmailQuery = Static<typeof getRawEmailQuery>

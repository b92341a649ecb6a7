/**
 * Bodies, queries and answers of suppressions: addresses that a tenant must not send to
 * (docs/reference/suppressions.md#suppressions).
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  nextPageToken,
  orNull,
  pageQuery,
  plainAnswer,
  stringOrNull,
  timestamp,
  timestampOrNull,
} from './common.ts'
import type { MessageEventName } from './events.ts'
import { emailLengthMax } from './mailers.ts'
import { relayKinds } from './relays.ts'

export const suppressionReasons = ['unsubscribed', 'bounced', 'complained', 'manual'] as const
export type SuppressionReason = (typeof suppressionReasons)[number]

const email = Type.String({
  minLength: 1,
  maxLength: emailLengthMax,
  description: 'One address, without a display name; compared without case',
  examples: ['ada@example.com'],
})
const reason = Type.Enum([...suppressionReasons], {
  description:
    '`unsubscribed`: by the recipient, or by unsubscribeEmail. `bounced`: it took no mail. `complained`: the recipient reported spam. `manual`: by an operator',
})

export const subscribeEmailBody = closedObject({ email })
export type SubscribeEmailBody = Static<typeof subscribeEmailBody>

export const unsubscribeEmailBody = closedObject({ email })
export type UnsubscribeEmailBody = Static<typeof unsubscribeEmailBody>

export const subscribeEmailAnswer = plainAnswer
export type SubscribeEmailAnswer = Static<typeof subscribeEmailAnswer>

export const unsubscribeEmailAnswer = plainAnswer
export type UnsubscribeEmailAnswer = Static<typeof unsubscribeEmailAnswer>

const sourceEvents = [
  'MAIL_BOUNCE',
  'MAIL_SPAM',
  'MAIL_UNSUBSCRIBED',
  'MAIL_POLICY_REJECTION',
  'MAIL_GENERATION_REJECTION',
] as const satisfies readonly MessageEventName[]
export type SuppressionEventName = (typeof sourceEvents)[number]

/** Whose export an import reads. */
export const suppressionFormats = ['postrider', 'sendgrid', 'mailgun', 'postmark', 'ses'] as const
export type SuppressionFormat = (typeof suppressionFormats)[number]

export const suppressionSource = closedObject({
  event: Type.Optional(Type.Enum([...sourceEvents], { description: 'What was told of the email' })),
  ref_id: Type.Optional(Type.String({ description: 'Of that email' })),
  relay: Type.Optional(
    Type.Enum([...relayKinds], { description: 'The provider that reported it' }),
  ),
  key_id: Type.Optional(
    Type.String({ description: 'The API key that asked for it; `operator`: the operator' }),
  ),
  user_id: Type.Optional(Type.String({ description: 'The user who asked for it' })),
  import: Type.Optional(
    Type.Enum([...suppressionFormats], { description: 'It came with an import of this format' }),
  ),
})
export type SuppressionSource = Static<typeof suppressionSource>

export const suppressionNoteLengthMax = 500

export const suppression = closedObject({
  email: Type.String({ description: 'As it was given first' }),
  reason,
  source: Type.Union([suppressionSource, Type.Null()], {
    description: 'What gave the reason; null where it is not known',
  }),
  note: stringOrNull('What the tenant wrote about it'),
  created_at: timestamp('When it was suppressed first'),
  expires_at: timestampOrNull('When the suppression ends by itself; null: never'),
})
export type Suppression = Static<typeof suppression>

export const getSuppressionAnswer = answer({ suppression })
export type GetSuppressionAnswer = Static<typeof getSuppressionAnswer>

export const addSuppressionBody = closedObject({
  email,
  reason: Type.Optional(
    orNull(Type.Enum([...suppressionReasons], { description: '`manual` when left out' })),
  ),
  note: Type.Optional(
    orNull(
      Type.String({
        maxLength: suppressionNoteLengthMax,
        description: 'For people',
        examples: ['Asked by telephone'],
      }),
    ),
  ),
  expires_at: Type.Optional(
    orNull(
      Type.String({
        maxLength: 64,
        description:
          'When the suppression ends by itself: an RFC 3339 time in the future; never when left out',
        examples: ['2027-01-02T03:04:05Z'],
      }),
    ),
  ),
})
export type AddSuppressionBody = Static<typeof addSuppressionBody>

export const addSuppressionAnswer = answer({
  suppression,
  changed: Type.Boolean({
    description:
      'false: nothing was changed, as the address is suppressed for a stronger reason and for as long',
  }),
})
export type AddSuppressionAnswer = Static<typeof addSuppressionAnswer>

/** A file, in octets; and refused lines that an answer names. */
export const suppressionFileBytesMax = 40 * 1024 * 1024
export const refusedLinesMax = 1_000

export const importSuppressionsQuery = closedObject({
  format: Type.Optional(
    Type.Enum([...suppressionFormats], {
      description: 'Whose export the file is; `postrider` when left out',
    }),
  ),
})
export type ImportSuppressionsQuery = Static<typeof importSuppressionsQuery>

export const refusedLine = closedObject({
  line: Type.Integer({
    minimum: 1,
    description: 'Where it begins in the file; the header is line 1',
  }),
  message: Type.String({ description: 'What is wrong with it' }),
})
export type RefusedLine = Static<typeof refusedLine>

const count = (description: string) => Type.Integer({ minimum: 0, description })

export const importSuppressionsAnswer = answer({
  added: count('Addresses that were not suppressed before'),
  known: count('Lines whose address was suppressed already'),
  refused: Type.Array(refusedLine, {
    description: `Lines that were passed over, of very many the first ${refusedLinesMax}`,
  }),
  refused_count: count('All lines that were passed over'),
})
export type ImportSuppressionsAnswer = Static<typeof importSuppressionsAnswer>

export const listSuppressionsQuery = closedObject({
  email: Type.Optional(email),
  reason: Type.Optional(reason),
  ...pageQuery.properties,
})
export type ListSuppressionsQuery = Static<typeof listSuppressionsQuery>

export const listSuppressionsAnswer = answer({
  suppressions: Type.Array(suppression, {
    description:
      'Newest first. A page may have fewer than `pageSize` entries while there is a `nextPageToken`: what has just ended is left out',
  }),
  nextPageToken,
})
export type ListSuppressionsAnswer = Static<typeof listSuppressionsAnswer>

export const suppressionParams = closedObject({
  email: Type.String({ maxLength: 1024, examples: ['ada@example.com'] }),
})
export type SuppressionParams = Static<typeof suppressionParams>

export const deleteSuppressionAnswer = plainAnswer
export type DeleteSuppressionAnswer = Static<typeof deleteSuppressionAnswer>

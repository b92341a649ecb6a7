/**
 * Bodies, queries and answers of suppressions: addresses that a tenant must not send to
 * (docs/reference/suppressions.md#suppressions).
 */
import { type Static, Type } from 'typebox'
import { answer, closedObject, nextPageToken, pageQuery, plainAnswer, timestamp } from './common.ts'
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

export const suppression = closedObject({
  email: Type.String({ description: 'As it was given first' }),
  reason,
  created_at: timestamp('When it was suppressed first'),
})
export type Suppression = Static<typeof suppression>

const sourceEvents = [
  'MAIL_BOUNCE',
  'MAIL_SPAM',
  'MAIL_UNSUBSCRIBED',
  'MAIL_POLICY_REJECTION',
  'MAIL_GENERATION_REJECTION',
] as const satisfies readonly MessageEventName[]
export type SuppressionEventName = (typeof sourceEvents)[number]

export const suppressionSource = closedObject({
  event: Type.Optional(Type.Enum([...sourceEvents], { description: 'What was told of the email' })),
  ref_id: Type.Optional(Type.String({ description: 'Of that email' })),
  relay: Type.Optional(
    Type.Enum([...relayKinds], { description: 'The provider that reported it' }),
  ),
  key_id: Type.Optional(
    Type.String({ description: 'The API key that asked for it; `operator`: the operator' }),
  ),
})
export type SuppressionSource = Static<typeof suppressionSource>

export const suppressionWithSource = closedObject({
  ...suppression.properties,
  source: Type.Union([suppressionSource, Type.Null()], {
    description: 'What gave the reason; null where it is not known',
  }),
})
export type SuppressionWithSource = Static<typeof suppressionWithSource>

export const getSuppressionAnswer = answer({ suppression: suppressionWithSource })
export type GetSuppressionAnswer = Static<typeof getSuppressionAnswer>

export const listSuppressionsQuery = closedObject({
  email: Type.Optional(email),
  reason: Type.Optional(reason),
  ...pageQuery.properties,
})
export type ListSuppressionsQuery = Static<typeof listSuppressionsQuery>

export const listSuppressionsAnswer = answer({
  suppressions: Type.Array(suppression, { description: 'Newest first' }),
  nextPageToken,
})
export type ListSuppressionsAnswer = Static<typeof listSuppressionsAnswer>

export const suppressionParams = closedObject({
  email: Type.String({ maxLength: 1024, examples: ['ada@example.com'] }),
})
export type SuppressionParams = Static<typeof suppressionParams>

export const deleteSuppressionAnswer = plainAnswer
export type DeleteSuppressionAnswer = Static<typeof deleteSuppressionAnswer>

/**
 * Bodies and answers of accounts at relay providers (docs/reference/domains.md#relay-accounts).
 *
 * A tenant has one account of a kind at the most, so that the kind names it. No answer holds a key or
 * a secret; the callback URL is shown, for it has to be registered at the provider.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  orNull,
  plainAnswer,
  stringOrNull,
  timestamp,
} from './common.ts'

/** `sparkpost` is the interface's provider A, `sendgrid` its provider B; `simulator` never leaves the process. */
export const relayKinds = ['sparkpost', 'sendgrid', 'simulator'] as const
export type RelayKind = (typeof relayKinds)[number]

export const relayApiKeyLengthMax = 1024
export const relayApiBaseLengthMax = 2048
export const relayCallbackSecretLengthMax = 256
export const relayVerificationKeyLengthMax = 1024

const kind = Type.Enum([...relayKinds], { description: 'The provider' })

export const relayParams = closedObject({ kind })
export type RelayParams = Static<typeof relayParams>

/** Of all kinds in one shape: what a kind requires and refuses is checked by the server. */
export const configureRelayBody = changes({
  api_key: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: relayApiKeyLengthMax,
      description:
        'Required for a new account, and with another `api_base`; not for `simulator`. Stored encrypted, never returned',
    }),
  ),
  api_base: Type.Optional(
    orNull(
      Type.String({
        minLength: 1,
        maxLength: relayApiBaseLengthMax,
        description:
          "As the provider documents it; its public address when left out of a new account, and for null. https, or http to the operator's own networks",
        examples: ['https://api.eu.sparkpost.com/api'],
      }),
    ),
  ),
  callback_secret: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      maxLength: relayCallbackSecretLengthMax,
      description:
        'Only for `sparkpost`: callbacks need the header `X-Callback-Secret` with it; null: they do not any more. Stored encrypted, never returned',
    }),
  ),
  verification_key: Type.Optional(
    Type.Unsafe<string | null>({
      type: ['string', 'null'],
      minLength: 1,
      maxLength: relayVerificationKeyLengthMax,
      description:
        'Only for `sendgrid`: the public key of its signed event webhook; callbacks need a valid signature. null: they do not any more',
    }),
  ),
})
export type ConfigureRelayBody = Static<typeof configureRelayBody>

export const relay = closedObject(
  {
    kind,
    api_base: stringOrNull('Where its API is; null for `simulator`, which has none'),
    callback_url: Type.String({
      description:
        'To be registered at the provider for its events. Whoever knows it can report in its name: keep it to yourself',
    }),
    created_at: timestamp('When it was created'),
    updated_at: timestamp('When it was last changed'),
  },
  { description: 'Without its key and secrets' },
)
export type Relay = Static<typeof relay>

export const configureRelayAnswer = answer({ relay })
export type ConfigureRelayAnswer = Static<typeof configureRelayAnswer>

export const getRelayAnswer = answer({ relay })
export type GetRelayAnswer = Static<typeof getRelayAnswer>

export const deleteRelayAnswer = plainAnswer
export type DeleteRelayAnswer = Static<typeof deleteRelayAnswer>

/**
 * Bodies and answers of OAuth apps and of mailers that log in by them (docs/reference/mailers.md#oauth-apps).
 *
 * An app is a tenant's registration at an OAuth provider. No answer holds its secret or a token.
 */
import { type Static, Type } from 'typebox'
import { answer, changes, closedObject, orNull, plainAnswer, timestamp } from './common.ts'
import { allowDuplicate, hostLengthMax, mailer, secureModes } from './mailers.ts'

export const oauthProviders = ['google', 'microsoft', 'custom'] as const
export type OAuthProvider = (typeof oauthProviders)[number]

/** What a login is for; `basic_smtp` and `basic_imap` are accepted synonyms. */
export const oauthLoginTypes = ['smtp', 'imap', 'smtp_imap'] as const
export type OAuthLoginType = (typeof oauthLoginTypes)[number]
const loginTypesTaken = [...oauthLoginTypes, 'basic_smtp', 'basic_imap'] as const

export const oauthAppsMax = 100
export const oauthScopesMax = 50
export const oauthRedirectUrisMax = 50
export const oauthUrlLengthMax = 2048
export const oauthSecretLengthMax = 4096
/** Some providers' tokens are signed documents of a few KiB. */
export const oauthTokenLengthMax = 16_384

const appId = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  description: 'Identifier of the OAuth app; letters, digits, `_` and `-`',
  examples: ['app_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
})
const url = (description: string) =>
  Type.String({ minLength: 1, maxLength: oauthUrlLengthMax, description })
const scopes = Type.Array(Type.String({ minLength: 1, maxLength: 500 }), {
  maxItems: oauthScopesMax,
  uniqueItems: true,
  description: "Asked for at every login; the provider's scopes for mail when left out",
})
const redirectUris = Type.Array(url('Compared exactly'), {
  maxItems: oauthRedirectUrisMax,
  uniqueItems: true,
  description: 'Where a browser may be sent after a login',
})
const clientSecret = Type.String({
  minLength: 1,
  maxLength: oauthSecretLengthMax,
  description: 'Stored encrypted, never returned',
})
export const mailServer = closedObject(
  {
    host: Type.String({
      minLength: 1,
      maxLength: hostLengthMax,
      description: 'Name or address of the server',
    }),
    port: Type.Integer({ minimum: 1, maximum: 65535, description: 'Port of the server' }),
    secure: Type.Enum([...secureModes]),
  },
  {
    description:
      "A mail server of the provider; of `google` and `microsoft` the provider's own when left out",
  },
)
export type OAuthMailServer = Static<typeof mailServer>

export const createOAuthAppBody = closedObject({
  app_id: Type.Optional(appId),
  provider: Type.Enum([...oauthProviders]),
  client_id: Type.String({
    minLength: 1,
    maxLength: 1024,
    description: 'As the provider gave it at the registration',
  }),
  client_secret: clientSecret,
  scopes: Type.Optional(scopes),
  redirect_uris: Type.Optional(redirectUris),
  authorize_url: Type.Optional(url("Required for `custom`, else the provider's")),
  token_url: Type.Optional(url("Required for `custom`, else the provider's")),
  userinfo_url: Type.Optional(
    url("Where the mailbox's address is read when there is no `id_token`"),
  ),
  smtp: Type.Optional(mailServer),
  imap: Type.Optional(mailServer),
})
export type CreateOAuthAppBody = Static<typeof createOAuthAppBody>

/** Where tokens are sent to cannot be changed. Without a server of its own it has the provider's. */
export const updateOAuthAppBody = changes({
  client_secret: Type.Optional(clientSecret),
  scopes: Type.Optional(orNull(scopes)),
  redirect_uris: Type.Optional(orNull(redirectUris)),
  smtp: Type.Optional(orNull(mailServer)),
  imap: Type.Optional(orNull(mailServer)),
})
export type UpdateOAuthAppBody = Static<typeof updateOAuthAppBody>

export const oauthAppParams = closedObject({ app_id: appId })
export type OAuthAppParams = Static<typeof oauthAppParams>

export const oauthApp = closedObject(
  {
    app_id: Type.String({ description: 'Identifier of the OAuth app' }),
    provider: Type.Enum([...oauthProviders]),
    client_id: Type.String({ description: 'As the provider gave it' }),
    scopes: Type.Optional(
      Type.Array(Type.String(), { description: "Absent: the provider's scopes for mail" }),
    ),
    redirect_uris: Type.Array(Type.String(), {
      description: 'Where a browser may be sent after a login',
    }),
    authorize_url: Type.String({ description: 'Where a login begins' }),
    token_url: Type.String({ description: 'Where tokens are asked for' }),
    userinfo_url: Type.Optional(
      Type.String({ description: "Where the mailbox's address is read" }),
    ),
    smtp: Type.Optional(mailServer),
    imap: Type.Optional(mailServer),
    callback_url: Type.String({
      description: 'To be registered at the provider: where it sends the browser back to',
    }),
    created_at: timestamp('When it was created'),
    updated_at: timestamp('When it was last changed'),
  },
  { description: 'Without its secret' },
)
export type OAuthApp = Static<typeof oauthApp>

export const createOAuthAppAnswer = answer({ app: oauthApp })
export type CreateOAuthAppAnswer = Static<typeof createOAuthAppAnswer>

export const updateOAuthAppAnswer = answer({ app: oauthApp })
export type UpdateOAuthAppAnswer = Static<typeof updateOAuthAppAnswer>

export const listOAuthAppsAnswer = answer({
  callback_url: Type.String({
    description:
      'As in each app, also where there is none yet: what to register at the provider before the first',
  }),
  apps: Type.Array(oauthApp, { description: 'All of them, newest first' }),
})
export type ListOAuthAppsAnswer = Static<typeof listOAuthAppsAnswer>

export const deleteOAuthAppAnswer = plainAnswer
export type DeleteOAuthAppAnswer = Static<typeof deleteOAuthAppAnswer>

const mailerId = Type.String({ maxLength: 64, description: 'Identifier of the mailer' })

export const oauthLoginBody = closedObject({
  app_id: appId,
  redirect_uri: Type.Optional(
    url("Where the browser goes afterwards; one of the app's `redirect_uris`"),
  ),
  token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: oauthTokenLengthMax,
      description: 'A refresh token: no browser is needed',
    }),
  ),
  mailer_id: Type.Optional(
    Type.String({ maxLength: 64, description: 'The mailer to authenticate again' }),
  ),
  type: Type.Optional(
    Type.Enum([...loginTypesTaken], {
      description: "What the mailbox is used for; `smtp` when left out, or the mailer's",
    }),
  ),
  allow_duplicate: allowDuplicate,
})
export type OAuthLoginBody = Static<typeof oauthLoginBody>

export const oauthLoginAnswer = answer({
  authorization_url: Type.Optional(
    Type.String({ description: 'Without `token`: to be opened in a browser within 10 minutes' }),
  ),
  mailer: Type.Optional(mailer),
})
export type OAuthLoginAnswer = Static<typeof oauthLoginAnswer>

export const oauthMailerParams = closedObject({ mailer_id: mailerId })
export type OAuthMailerParams = Static<typeof oauthMailerParams>

export const setOAuthActiveBody = closedObject({
  active: Type.Optional(
    Type.Boolean({ description: 'false: disabled until it is made active again' }),
  ),
})
export type SetOAuthActiveBody = Static<typeof setOAuthActiveBody>

export const setOAuthActiveAnswer = answer({ mailer })
export type SetOAuthActiveAnswer = Static<typeof setOAuthActiveAnswer>

/** What the scripted OAuth provider grants at its token endpoint, by the book. */
import { createHash, randomBytes } from 'node:crypto'
import { google, REFUSALS, type TokenReply } from './oauth-refusals.ts'

/** What somebody consented to at the page. */
export interface Consent {
  readonly email: string
  readonly redirectUri: string
  readonly challenge: string
  readonly nonce: string | undefined
  readonly scope: string
}

type Parameters = Readonly<Record<string, string>>
type Fields = Readonly<Record<string, unknown>>

export interface OAuthProvider {
  readonly clientId: string
  readonly clientSecret: string
  /** Each refresh gives a new refresh token and ends the old one. */
  readonly rotates: boolean
  readonly expiresInS: number
  readonly idTokens: boolean
  /** Known once it listens. */
  origin: string
  readonly codes: Map<string, Consent>
  /** Owners by token. */
  readonly refreshTokens: Map<string, string>
  readonly accessTokens: Map<string, string>
  /** In place of those of the id token. */
  claims: Fields | undefined
  /** In place of those of a grant. */
  grantFields: Fields
}

export function replyTo(provider: OAuthProvider, parameters: Parameters): TokenReply {
  const { client_id, client_secret, grant_type } = parameters
  if (client_id !== provider.clientId || client_secret !== provider.clientSecret)
    return REFUSALS.googleWrongSecret
  if (grant_type === 'authorization_code') return redeem(provider, parameters)
  if (grant_type === 'refresh_token') return renew(provider, parameters)
  return google('unsupported_grant_type', 'Invalid grant_type')
}

export function newToken(map: Map<string, string>, name: string, owner: string): string {
  const token = `${name}-${randomBytes(16).toString('hex')}`
  map.set(token, owner)
  return token
}

function redeem(
  provider: OAuthProvider,
  { code = '', redirect_uri, code_verifier = '' }: Parameters,
): TokenReply {
  const { codes, refreshTokens } = provider
  const consent = codes.get(code)
  codes.delete(code)
  const challenge = createHash('sha256').update(code_verifier).digest('base64url')
  if (consent === undefined || consent.redirectUri !== redirect_uri)
    return google('invalid_grant', 'Malformed auth code.')
  if (consent.challenge !== challenge) return google('invalid_grant', 'Invalid code verifier.')
  const refreshToken = newToken(refreshTokens, 'refresh', consent.email)
  return give(provider, consent.email, consent.nonce, {
    refresh_token: refreshToken,
    ...(consent.scope === '' ? {} : { scope: consent.scope }),
  })
}

function renew(provider: OAuthProvider, { refresh_token = '' }: Parameters): TokenReply {
  const { refreshTokens } = provider
  const owner = refreshTokens.get(refresh_token)
  if (owner === undefined) return REFUSALS.googleRevoked
  if (!provider.rotates) return give(provider, owner, undefined, {})
  refreshTokens.delete(refresh_token)
  const next = newToken(refreshTokens, 'refresh', owner)
  return give(provider, owner, undefined, { refresh_token: next })
}

function give(
  provider: OAuthProvider,
  owner: string,
  nonce: string | undefined,
  more: object,
): TokenReply {
  const body = {
    access_token: newToken(provider.accessTokens, 'access', owner),
    expires_in: provider.expiresInS,
    token_type: 'Bearer',
    ...(provider.idTokens ? { id_token: idToken(provider, owner, nonce) } : {}),
    ...more,
    ...provider.grantFields,
  }
  return { status: 200, body }
}

function idToken(
  { claims, clientId, origin }: OAuthProvider,
  owner: string,
  nonce: string | undefined,
): string {
  const now = Math.floor(Date.now() / 1000)
  const payload = {
    iss: origin,
    aud: clientId,
    sub: owner,
    email: owner,
    iat: now,
    exp: now + 3600,
    ...(nonce === undefined ? {} : { nonce }),
    ...claims,
  }
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  // Clients that get it from the token endpoint do not check the signature.
  return `${part({ alg: 'RS256', typ: 'JWT' })}.${part(payload)}.c2lnbmF0dXJl`
}

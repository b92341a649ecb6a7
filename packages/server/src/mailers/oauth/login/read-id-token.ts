/**
 * The mailbox's address in an id token (OpenID Connect Core §3.1.3.7).
 *
 * The token comes from the token endpoint itself, over a TLS connection that this service opened, so
 * its signature adds nothing (rule 6); issuer, audience, expiry and nonce are checked.
 */

import { memberOf, parseJson } from '../../../platform/values/json.ts'
import type { OAuthApp } from '../apps/oauth-app.ts'
import { PROVIDERS } from '../provider.ts'

/** Clocks differ. */
const SKEW_S = 300

export type IdTokenResult =
  | { readonly ok: true; readonly email?: string }
  | { readonly ok: false; readonly problem: string }

/** @param nonce of the login; undefined where there was none, such as at a refresh */
export function readIdToken(
  app: OAuthApp,
  idToken: string,
  o: { readonly nonce: string | undefined; readonly now: Date },
): IdTokenResult {
  const claims = claimsOf(idToken)
  if (claims === undefined) return refused('is not a JSON Web Token')
  if (!isIssuer(app, claims.iss)) return refused('comes from another issuer')
  const { aud, azp } = claims
  const audience = Array.isArray(aud) ? aud : [aud]
  if (!audience.includes(app.clientId)) return refused('is for another client')
  if (audience.length > 1 && azp !== app.clientId) return refused('is for another client')
  if (typeof claims.exp !== 'number' || claims.exp + SKEW_S < o.now.getTime() / 1000)
    return refused('has expired')
  if (o.nonce !== undefined && claims.nonce !== o.nonce) return refused('is of another login')
  const { email } = claims
  const isUsable = typeof email === 'string' && email !== '' && claims.email_verified !== false
  return isUsable ? { ok: true, email } : { ok: true }
}

type Claims = Readonly<Record<string, unknown>>

function claimsOf(idToken: string): Claims | undefined {
  const parts = idToken.split('.')
  if (parts.length !== 3) return undefined
  const claims = parseJson(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'))
  return memberOf(claims, 'iss') === undefined ? undefined : (claims as Claims)
}

/**
 * Microsoft's issuer names the directory of the account, which is not known before, and stands at
 * the origin of its endpoints, as those of most providers do. Of a custom provider only its
 * endpoints are known, and its issuer may be anywhere.
 */
function isIssuer({ provider, authorizeUrl, tokenUrl }: OAuthApp, issuer: unknown): boolean {
  if (typeof issuer !== 'string' || issuer === '') return false
  if (provider === 'custom' || PROVIDERS[provider].issuers.includes(issuer)) return true
  const origin = URL.parse(issuer)?.origin
  return [authorizeUrl, tokenUrl].some((url) => URL.parse(url)?.origin === origin)
}

function refused(problem: string): IdTokenResult {
  return { ok: false, problem: `The provider's id_token ${problem}` }
}

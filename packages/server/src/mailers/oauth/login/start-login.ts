/**
 * oauthLogin without a token (docs/reference/mailers.md#oauth-apps): the address to open in a browser.
 *
 * The state is 256 random bits, kept as a hash, good once and for ten minutes, and stands for the
 * tenant, the app, the mailer and the way back. PKCE (RFC 7636, S256) always. The browser that comes
 * back is not known beforehand, since a program asked: so the state is not bound to a cookie, and
 * the address of the mailbox is compared in its place where a mailer is named.
 */
import { createHash, randomBytes } from 'node:crypto'
import type { OAuthLoginType } from '@postrider/contract'
import type { Queryable } from '../../../platform/db/index.ts'
import type { KeyRing } from '../../../platform/secrets/index.ts'
import { type OAuthApp, scopesOf } from '../apps/oauth-app.ts'
import { PROVIDERS } from '../provider.ts'
import { deleteExpiredLogins, insertLogin } from './login-store.ts'

export interface StartLoginDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  readonly callbackUrl: string
}

const EXPIRES_IN_MS = 10 * 60_000
const EXPIRED_AT_ONCE_MAX = 100

/** What the provider is to prove knowledge of, and we of it; and what was asked for beside. */
export interface LoginSecret {
  readonly verifier: string
  readonly nonce: string
  readonly isSecondAllowed?: boolean
}

export async function startLogin(
  deps: StartLoginDeps,
  app: OAuthApp,
  o: {
    readonly type: OAuthLoginType
    readonly mailer: { readonly mailerId: string; readonly email: string } | undefined
    readonly redirectUri: string | undefined
    readonly isSecondAllowed: boolean
  },
): Promise<string> {
  const state = randomBytes(32).toString('base64url')
  const secret = {
    verifier: randomBytes(32).toString('base64url'),
    nonce: randomBytes(16).toString('base64url'),
    isSecondAllowed: o.isSecondAllowed,
  }
  const stateHash = hashState(state)
  await insertLogin(
    deps.db,
    stateHash,
    {
      tenantId: app.tenantId,
      appId: app.appId,
      ...(o.mailer === undefined ? {} : { mailerId: o.mailer.mailerId }),
      type: o.type,
      ...(o.redirectUri === undefined ? {} : { redirectUri: o.redirectUri }),
      secret: deps.keyRing.encrypt(JSON.stringify(secret), loginPlaceOf(app.tenantId, stateHash)),
    },
    EXPIRES_IN_MS,
  )
  await deleteExpiredLogins(deps.db, EXPIRED_AT_ONCE_MAX)
  return authorizationUrl(deps, app, { ...o, state, secret })
}

function authorizationUrl(
  { callbackUrl }: StartLoginDeps,
  app: OAuthApp,
  o: Parameters<typeof startLogin>[2] & { readonly state: string; readonly secret: LoginSecret },
): string {
  const url = new URL(app.authorizeUrl)
  const scope = scopesOf(app, o.type).join(' ')
  const parameters: Record<string, string> = {
    ...PROVIDERS[app.provider].authorizeParameters,
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: callbackUrl,
    state: o.state,
    nonce: o.secret.nonce,
    code_challenge: createHash('sha256').update(o.secret.verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...(scope === '' ? {} : { scope }),
    ...(o.mailer === undefined ? {} : { login_hint: o.mailer.email }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

export function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest()
}

/** Throws SealedValueError when the key is gone or the row was tampered with. */
export function openLoginSecret(
  keyRing: KeyRing,
  login: { readonly tenantId: string; readonly secret: string },
  stateHash: Buffer,
): LoginSecret {
  return JSON.parse(keyRing.decrypt(login.secret, loginPlaceOf(login.tenantId, stateHash)))
}

export function loginPlaceOf(tenantId: string, stateHash: Buffer): string {
  return `mailers|${tenantId}|${stateHash.toString('base64url')}|login`
}

/**
 * From a grant to a mailer: is it lasting, does it allow mail, and whose mailbox is it
 * (docs/reference/mailers.md#oauth-apps)? Problems are values: a program reads them in an answer, a person on
 * a page.
 */
import type { OAuthLoginType } from '@postrider/contract'
import type { Clock } from '../../../platform/clock.ts'
import type { Egress } from '../../../platform/egress/index.ts'
import { secondMessage } from '../../address-holders.ts'
import { emailKeyOf, type ServerMailer } from '../../mailer.ts'
import type { OAuthApp } from '../apps/oauth-app.ts'
import { PROVIDERS } from '../provider.ts'
import type { Grant } from '../tokens/request-token.ts'
import { findAddress } from './find-address.ts'
import { type LastingGrant, type SaveGrantDeps, saveLogin } from './save-grant.ts'

export interface AcceptGrantDeps extends SaveGrantDeps {
  readonly egress: Pick<Egress, 'request'>
  readonly clock: Clock
}

/** As `error` of a way back; `message` is for a person. */
export interface LoginProblem {
  readonly error:
    | 'scope_missing'
    | 'no_refresh_token'
    | 'address_unverified'
    | 'address_unknown'
    | 'address_mismatch'
    | 'mailer_changed'
    | 'mailer_exists'
  readonly message: string
}

export type LoginResult =
  | { readonly ok: true; readonly mailer: ServerMailer }
  | { readonly ok: false; readonly problem: LoginProblem }

export async function acceptGrant(
  deps: AcceptGrantDeps,
  o: {
    readonly app: OAuthApp
    readonly type: OAuthLoginType
    readonly grant: Grant
    /** The one to authenticate again. */
    readonly mailer: ServerMailer | undefined
    readonly nonce: string | undefined
    readonly isSecondAllowed: boolean
  },
): Promise<LoginResult> {
  const { app, type, grant, mailer, isSecondAllowed } = o
  const missing = missingScopes(app, type, grant)
  if (missing.length > 0)
    return problem('scope_missing', `The login did not grant ${missing.join(' ')}`)
  if (!isLasting(grant))
    return problem('no_refresh_token', 'The provider gave no refresh token with this login')
  const found = await findAddress(deps, app, grant, { nonce: o.nonce, now: deps.clock.now() })
  if (!found.ok) return problem('address_unverified', found.problem)
  const email = found.email ?? mailer?.email
  if (email === undefined)
    return problem(
      'address_unknown',
      'The provider does not tell the address of the mailbox: ask for the scopes openid and email, give the app a userinfo_url, or name the mailer',
    )
  if (mailer !== undefined && emailKeyOf(email) !== emailKeyOf(mailer.email))
    return problem('address_mismatch', `The login is for ${email}, the mailer for ${mailer.email}`)
  const { mailerId } = mailer ?? {}
  const saved = await saveLogin(deps, { app, type, grant, mailerId, email, isSecondAllowed })
  if (saved === undefined)
    return problem('mailer_changed', 'The mailer or its OAuth app was changed or deleted meanwhile')
  return 'first' in saved
    ? problem('mailer_exists', secondMessage(saved.first))
    : { ok: true, mailer: saved }
}

/** People may leave boxes unticked; what is not listed cannot be told. */
function missingScopes(app: OAuthApp, type: OAuthLoginType, { scope }: Grant): string[] {
  const { mailScopes, namesGrantedScopes } = PROVIDERS[app.provider]
  if (!namesGrantedScopes || scope === undefined) return []
  const asked = app.scopes ?? mailScopes[type]
  const granted = new Set(scope.toLowerCase().split(' '))
  const isForMail = (one: string) => mailScopes[type].includes(one)
  return asked.filter((one) => isForMail(one) && !granted.has(one.toLowerCase()))
}

function isLasting(grant: Grant): grant is LastingGrant {
  return grant.refreshToken !== undefined
}

function problem(error: LoginProblem['error'], message: string): LoginResult {
  return { ok: false, problem: { error, message } }
}

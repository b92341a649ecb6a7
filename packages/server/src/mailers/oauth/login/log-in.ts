/**
 * oauthLogin (docs/reference/mailers.md#oauth-apps): with a refresh token the mailer is made
 * or authenticated again at once; without one, a browser has to go to the provider first.
 */
import type { FieldError, OAuthLoginBody, OAuthLoginType } from '@postrider/contract'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { type CheckBounds, countedCheck } from '../../../platform/limits/counted-check.ts'
import type { RateLimit } from '../../../platform/limits/rate-limit.ts'
import type { ServerMailer } from '../../mailer.ts'
import { getServerMailer } from '../../store.ts'
import { getApp } from '../apps/app-store.ts'
import { loginTypeOf, type OAuthApp, serversOf } from '../apps/oauth-app.ts'
import { refusalOfToken } from '../tokens/refuse-token.ts'
import { requestRefresh, type TokenRequestDeps } from '../tokens/request-token.ts'
import { type AcceptGrantDeps, acceptGrant } from './accept-grant.ts'
import { type StartLoginDeps, startLogin } from './start-login.ts'

export interface LogInDeps extends AcceptGrantDeps, Omit<StartLoginDeps, 'db'>, TokenRequestDeps {
  readonly egress: AcceptGrantDeps['egress'] & TokenRequestDeps['egress']
  readonly checks: CheckBounds
  /** Of logins begun, each of which is a row for ten minutes. */
  readonly loginLimit: RateLimit
}

export type LoggedIn = { readonly authorizationUrl: string } | { readonly mailer: ServerMailer }

export async function logIn(
  deps: LogInDeps,
  tenantId: string,
  body: OAuthLoginBody,
): Promise<LoggedIn> {
  const [app, mailer] = await Promise.all([
    getApp(deps.db, tenantId, body.app_id),
    body.mailer_id === undefined ? undefined : getServerMailer(deps.db, tenantId, body.mailer_id),
  ])
  const { redirect_uri: redirectUri, token } = body
  const given = body.type === undefined ? undefined : withoutSynonym(body.type)
  const type = given ?? (mailer === undefined ? 'smtp' : loginTypeOf(mailer.configType))
  const errors = checkLogin({ app, mailer, type, body })
  if (app === undefined || errors.length > 0) throw validationError(...errors)

  const login = { type, mailer, isSecondAllowed: body.allow_duplicate === true }
  if (token === undefined) {
    await deps.loginLimit.use(tenantId)
    return { authorizationUrl: await startLogin(deps, app, { ...login, redirectUri }) }
  }
  return countedCheck(deps, tenantId, async () => ({
    mailer: await logInWith(deps, app, { ...login, token }),
  }))
}

async function logInWith(
  deps: LogInDeps,
  app: OAuthApp,
  o: {
    readonly type: OAuthLoginType
    readonly mailer: ServerMailer | undefined
    readonly token: string
    readonly isSecondAllowed: boolean
  },
): Promise<ServerMailer> {
  const answer = await requestRefresh(deps, app, o.type, o.token)
  if (!answer.ok) throw refusalOfToken(answer.failure)
  const grant = { refreshToken: o.token, ...answer.grant }
  const result = await acceptGrant(deps, { app, ...o, grant, nonce: undefined })
  if (result.ok) return result.mailer
  const { error, message } = result.problem
  throw new ApiError(error === 'mailer_exists' ? error : 'oauth_failed', { message })
}

function withoutSynonym(type: NonNullable<OAuthLoginBody['type']>): OAuthLoginType {
  if (type === 'basic_smtp') return 'smtp'
  return type === 'basic_imap' ? 'imap' : type
}

function checkLogin(o: {
  readonly app: OAuthApp | undefined
  readonly mailer: ServerMailer | undefined
  readonly type: OAuthLoginType
  readonly body: OAuthLoginBody
}): FieldError[] {
  const { app, mailer, type, body } = o
  const errors: FieldError[] = []
  const refuse = (path: string, message: string) => errors.push({ path, message })
  if (app === undefined) refuse('/app_id', 'is not an OAuth app of this tenant')
  if (body.mailer_id !== undefined && mailer?.connectionType !== 'oauth')
    refuse('/mailer_id', 'is not an OAuth mailer of this tenant')
  else if (mailer !== undefined && loginTypeOf(mailer.configType) !== type)
    refuse('/type', `must be ${loginTypeOf(mailer.configType)}, as the mailer is`)
  else if (mailer === undefined && app !== undefined && serversOf(app, type) === undefined)
    refuse('/type', 'needs a mail server that the OAuth app does not name')
  const { redirect_uri: uri, token } = body
  if (token !== undefined && !/^[\x21-\x7e]+$/.test(token))
    refuse('/token', 'must be visible ASCII characters')
  if (uri !== undefined && app !== undefined && !app.redirectUris.includes(uri))
    refuse('/redirect_uri', "is not one of the app's redirect_uris")
  return errors
}

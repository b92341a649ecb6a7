/**
 * configureSMTP and updateSMTP of mailers that log in by OAuth (contract §3.3). A refresh token that
 * is given is tried, and the access token that it gives logs in once, unless `verify` is false.
 *
 * Unlike at oauthLogin the caller names the address: that of a shared mailbox is not the one of the
 * user whose token opens it, and the server's answer to the login decides.
 */
import type { OAuthLoginType, SecureMode, SmtpConfigFields } from '@postrider/contract'
import { countedCheck } from '../../platform/counted-check.ts'
import type { Db } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { checkHost, type LoginCheckDeps, tryLogin } from '../check-login.ts'
import { isAsSafe, type MailerConfig, type ServerMailer } from '../mailer.ts'
import { type SaveMailerDeps, saveMailer } from '../save-mailer.ts'
import type { NewMailer } from '../store.ts'
import type { AccessTokens } from './access-tokens.ts'
import { getApp } from './app-store.ts'
import { loginTypeOf, type OAuthApp } from './oauth-app.ts'
import { refusalOfToken } from './refuse-token.ts'
import { requestRefresh, type TokenRequestDeps } from './request-token.ts'
import { insertWithGrant, keepGrant } from './save-grant.ts'

export interface OAuthSmtpDeps extends LoginCheckDeps, TokenRequestDeps, SaveMailerDeps {
  readonly db: Db
  readonly egress: LoginCheckDeps['egress']
  readonly accessTokens: Pick<AccessTokens, 'get'>
}

const TOKEN_TIMEOUT_MS = 12_000
const IMPLICIT_TLS_PORT = 465

export async function configureOauthSmtp(
  deps: OAuthSmtpDeps,
  facts: Omit<NewMailer, 'configType' | 'connectionType' | 'config'>,
  given: SmtpConfigFields,
  isVerified: boolean,
): Promise<ServerMailer> {
  const { tenantId, email } = facts
  const {
    app_id: appId = '',
    refresh_token: refreshToken = '',
    tls_verify: tlsVerify = true,
  } = given
  const app = await getApp(deps.db, tenantId, appId)
  if (app === undefined) throw unknownApp()
  const config = { ...serverOf(app, given), tlsVerify, username: email }
  const grant = await check(deps, tenantId, { config, isVerified }, () =>
    tryToken(deps, app, 'smtp', refreshToken),
  )
  const mailer: NewMailer = {
    ...facts,
    configType: 'oauth_smtp',
    connectionType: 'oauth',
    config,
    appId,
  }
  return deps.db.transaction((tx) =>
    insertWithGrant(tx, deps.keyRing, mailer, grant ?? { refreshToken }),
  )
}

/**
 * Undefined when another update came first, or the mailer is gone.
 *
 * @param next with the change, but for what concerns the login
 */
export async function updateOauthSmtp(
  deps: OAuthSmtpDeps,
  stored: ServerMailer,
  next: ServerMailer,
  o: { readonly given: SmtpConfigFields | undefined; readonly isVerified: boolean },
): Promise<ServerMailer | undefined> {
  const { app_id: appId = stored.appId ?? '', refresh_token: refreshToken } = o.given ?? {}
  const config = { ...next.config, username: next.email }
  const mailer = { ...next, appId, config }
  const save = (isAuthenticated: boolean) =>
    deps.db.transaction((tx) => saveMailer(tx, deps, mailer, { isAuthenticated }))
  if (o.given === undefined) return save(false)
  const login = { config, isVerified: o.isVerified }
  if (refreshToken === undefined) {
    if (appId !== stored.appId || !isAsSafe(config, stored.config)) throw tokenMissing()
    await check(deps, stored.tenantId, login, () => tryStored(deps, stored))
    return save(o.isVerified)
  }
  const app = await getApp(deps.db, stored.tenantId, appId)
  if (app === undefined) throw unknownApp()
  const grant = await check(deps, stored.tenantId, login, () =>
    tryToken(deps, app, loginTypeOf(stored.configType), refreshToken),
  )
  return deps.db.transaction(async (tx) => {
    const updated = await saveMailer(tx, deps, mailer, { isAuthenticated: o.isVerified })
    if (updated !== undefined) await keepGrant(tx, deps.keyRing, updated, grant ?? { refreshToken })
    return updated
  })
}

/** Logs in with what `obtain` gives; where that is not asked for, the host alone is looked at. */
async function check<G extends { readonly accessToken: string }>(
  deps: OAuthSmtpDeps,
  tenantId: string,
  { config, isVerified }: { readonly config: MailerConfig; readonly isVerified: boolean },
  obtain: () => Promise<G>,
): Promise<G | undefined> {
  if (!isVerified) {
    await checkHost(deps, tenantId, config.host)
    return undefined
  }
  return countedCheck(deps, tenantId, async () => {
    const grant = await obtain()
    await tryLogin(deps, { ...config, accessToken: grant.accessToken })
    return grant
  })
}

/** The new refresh token, where the provider gives one with the access token. */
async function tryToken(
  deps: OAuthSmtpDeps,
  app: OAuthApp,
  type: OAuthLoginType,
  refreshToken: string,
) {
  const answer = await requestRefresh(deps, app, type, refreshToken)
  if (answer.ok) return { refreshToken, ...answer.grant }
  throw refusalOfToken(answer.failure)
}

async function tryStored(deps: OAuthSmtpDeps, stored: ServerMailer) {
  const deadlineAt = performance.now() + TOKEN_TIMEOUT_MS
  const result = await deps.accessTokens.get(stored, { deadlineAt, isCheck: true })
  if (result.kind === 'token') return result
  if ('failure' in result) throw refusalOfToken(result.failure)
  throw new ApiError('conflict')
}

/** The app's, but for what is given: another port usually goes with the other kind of TLS. */
function serverOf(app: OAuthApp, given: SmtpConfigFields) {
  const { host = app.smtp?.host, port = app.smtp?.port } = given
  if (host === undefined || port === undefined)
    throw validationError({
      path: host === undefined ? '/config/host' : '/config/port',
      message: 'is required: the OAuth app names no SMTP server',
    })
  return { host, port, secure: given.secure ?? secureOf(app, port) }
}

function secureOf({ smtp }: OAuthApp, port: number): SecureMode {
  if (smtp === undefined) return 'Auto'
  if (smtp.port === port || smtp.secure === 'None' || smtp.secure === 'Auto') return smtp.secure
  return port === IMPLICIT_TLS_PORT ? 'SSL' : 'Tls'
}

function unknownApp(): ApiError {
  return validationError({
    path: '/config/app_id',
    message: 'is not an OAuth app of this tenant',
  })
}

function tokenMissing(): ApiError {
  return validationError({
    path: '/config/refresh_token',
    message: 'must be given again when app_id, host or port change or TLS gets weaker',
  })
}

/**
 * configureSMTP and updateSMTP of mailers that log in by OAuth (docs/reference/mailers.md#login-check). A
 * refresh token that is given is tried, and the access token that it gives logs in once, unless `verify` is
 * false.
 *
 * Unlike at oauthLogin the caller names the address: that of a shared mailbox is not the one of the
 * user whose token opens it, and the server's answer to the login decides.
 */
import type { SmtpConfig, SmtpConfigChange } from '@postrider/contract'
import type { Db } from '../../platform/db/index.ts'
import { countedCheck } from '../../platform/limits/counted-check.ts'
import { insertOnly } from '../address-holders.ts'
import { isAsSafe, type MailerConfig, type ServerMailer } from '../mailer.ts'
import { type AddressBefore, type SaveMailerDeps, saveMailer } from '../save-mailer.ts'
import { checkHost, type LoginCheckDeps, tryLogin } from '../smtp/check-login.ts'
import type { NewMailer } from '../store.ts'
import { getApp } from './apps/app-store.ts'
import { loginTypeOf } from './apps/oauth-app.ts'
import { keepGrant } from './login/save-grant.ts'
import { serverGiven, tokenMissing, tryStored, tryToken, unknownApp } from './login/try-grant.ts'
import type { AccessTokens } from './tokens/access-tokens.ts'
import type { TokenRequestDeps } from './tokens/request-token.ts'

export interface OAuthSmtpDeps extends LoginCheckDeps, TokenRequestDeps, SaveMailerDeps {
  readonly db: Db
  readonly egress: LoginCheckDeps['egress']
  readonly accessTokens: Pick<AccessTokens, 'get'>
}

export interface HowToConfigure {
  /** It logs in before it is stored. */
  readonly isVerified: boolean
  readonly isSecondAllowed: boolean
}

const SMTP = { protocol: 'SMTP', implicitTlsPort: 465 } as const

export async function configureOauthSmtp(
  deps: OAuthSmtpDeps,
  facts: Omit<NewMailer, 'configType' | 'connectionType' | 'config'>,
  given: SmtpConfig,
  { isVerified, isSecondAllowed }: HowToConfigure,
): Promise<ServerMailer> {
  const { tenantId, email } = facts
  const {
    app_id: appId = '',
    refresh_token: refreshToken = '',
    tls_verify: tlsVerify = true,
  } = given
  const app = await getApp(deps.db, tenantId, appId)
  if (app === undefined) throw unknownApp()
  const config = { ...serverGiven(app.smtp, given, SMTP), tlsVerify, username: email }
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
  return deps.db.transaction(async (tx) => {
    const inserted = await insertOnly(tx, mailer, { isSecondAllowed })
    await keepGrant(tx, deps.keyRing, inserted, grant ?? { refreshToken })
    return inserted
  })
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
  o: {
    readonly given: SmtpConfigChange | undefined
    readonly isVerified: boolean
    readonly address: AddressBefore
  },
): Promise<ServerMailer | undefined> {
  const { app_id: appId = stored.appId ?? '', refresh_token: refreshToken } = o.given ?? {}
  const config = { ...next.config, username: next.email }
  const mailer = { ...next, appId, config }
  const { address } = o
  const save = (isAuthenticated: boolean) =>
    deps.db.transaction((tx) => saveMailer(tx, deps, mailer, { isAuthenticated, address }))
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
    const updated = await saveMailer(tx, deps, mailer, { isAuthenticated: o.isVerified, address })
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

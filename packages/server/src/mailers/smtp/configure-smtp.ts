/**
 * configureSMTP (docs/reference/mailers.md#login-check): checks the fields, tries the login unless told not
 * to, stores the mailer with its password or its tokens sealed.
 */
import type { ConfigureSmtpBody, SmtpConfig } from '@postrider/contract'
import type { Db } from '../../platform/db/index.ts'
import { validationError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { insertOnly } from '../address-holders.ts'
import type { ShowDeps } from '../imap/show-mailboxes.ts'
import { defaultUncertain, type MailerConfig, type ServerMailer, sealPassword } from '../mailer.ts'
import {
  configureOauthSmtp,
  type HowToConfigure,
  type OAuthSmtpDeps,
} from '../oauth/configure-oauth-smtp.ts'
import type { NewMailer } from '../store.ts'
import { checkConfig } from './check-config.ts'
import { checkFields } from './check-fields.ts'
import { checkHost, checkLogin } from './check-login.ts'
import { checkReturnPath, confirmReturnPath, type ReturnPathDeps } from './return-path.ts'

export interface MailerDeps
  extends OAuthSmtpDeps,
    Pick<ShowDeps, 'readMailboxHealth'>,
    ReturnPathDeps {
  readonly db: Db
}

/** What does not depend on how it logs in. */
export type NewMailerFacts = Omit<NewMailer, 'configType' | 'connectionType' | 'config'>

export async function configureSmtp(
  deps: MailerDeps,
  tenantId: string,
  body: ConfigureSmtpBody,
): Promise<ServerMailer> {
  const checked = checkFields(body)
  const errors = [...checkConfig(body.connection_type, body.config), ...checked.errors]
  if (errors.length > 0) throw validationError(...errors)
  const isVerified = body.verify !== false
  const isSecondAllowed = body.allow_duplicate === true
  const returnPath = await checkReturnPath(deps, tenantId, body.return_path ?? null)
  const facts = {
    tenantId,
    mailerId: newId('smtp'),
    name: body.name,
    email: checked.email ?? body.email,
    uncertain: body.uncertain ?? defaultUncertain,
    limits: body.limits ?? {},
    ...(returnPath === undefined ? {} : { returnPath }),
    hostEverWorked: isVerified,
  }
  const host = checked.host ?? body.config.host
  const config = { ...body.config, ...(host === undefined ? {} : { host }) }
  const mailer =
    body.connection_type === 'oauth'
      ? await configureOauthSmtp(deps, facts, config, { isVerified, isSecondAllowed })
      : await configureBasicSmtp(deps, facts, config, { isVerified, isSecondAllowed })
  return confirmReturnPath(deps, mailer)
}

async function configureBasicSmtp(
  deps: MailerDeps,
  facts: NewMailerFacts,
  { host = '', port = 0, secure = 'Auto', ...given }: SmtpConfig,
  { isVerified, isSecondAllowed }: HowToConfigure,
): Promise<ServerMailer> {
  const { tls_verify: tlsVerify = true, username, password } = given
  const config: MailerConfig = {
    host,
    port,
    secure,
    tlsVerify,
    ...(username === undefined ? {} : { username }),
  }
  if (isVerified) await checkLogin(deps, facts.tenantId, { ...config, password })
  else await checkHost(deps, facts.tenantId, host)
  const mailer: NewMailer = {
    ...facts,
    configType: 'smtp',
    connectionType: 'basic',
    config,
    ...(password === undefined ? {} : { secret: sealPassword(deps.keyRing, facts, password) }),
  }
  return deps.db.transaction((tx) => insertOnly(tx, mailer, { isSecondAllowed }))
}

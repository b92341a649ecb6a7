/**
 * configureSMTP (spec §4.3, contract §3.3): checks the fields, tries the login unless told not to,
 * stores the mailer with its password sealed.
 */
import type { ConfigureSmtpBody, FieldError } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { validationError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { checkFields } from './check-fields.ts'
import { checkHost, checkLogin, type LoginCheckDeps } from './check-login.ts'
import { type Mailer, type MailerConfig, sealPassword } from './mailer.ts'
import { insertMailer } from './store.ts'

export interface MailerDeps extends LoginCheckDeps {
  readonly db: Db
  readonly keyRing: KeyRing
}

export async function configureSmtp(
  deps: MailerDeps,
  tenantId: string,
  body: ConfigureSmtpBody,
): Promise<Mailer> {
  const checked = checkFields(body)
  const errors = [...checkConnectionType(body), ...checked.errors, ...checkCredentials(body.config)]
  if (errors.length > 0) throw validationError(...errors)

  const { port, secure, tls_verify: tlsVerify = true, username, password } = body.config
  const host = checked.host ?? body.config.host
  const config: MailerConfig = {
    host,
    port,
    secure,
    tlsVerify,
    ...(username === undefined ? {} : { username }),
  }
  const isVerified = body.verify !== false
  if (isVerified) await checkLogin(deps, tenantId, { ...config, password })
  else await checkHost(deps, tenantId, host)

  const key = { tenantId, mailerId: newId('smtp') }
  return insertMailer(deps.db, {
    ...key,
    name: body.name,
    email: checked.email ?? body.email,
    configType: 'smtp',
    connectionType: 'basic',
    config,
    ...(password === undefined ? {} : { secret: sealPassword(deps.keyRing, key, password) }),
    uncertain: body.uncertain ?? 'at_least_once',
    limits: body.limits ?? {},
    hostEverWorked: isVerified,
  })
}

function checkConnectionType(body: ConfigureSmtpBody): FieldError[] {
  return body.connection_type === 'oauth'
    ? [{ path: '/connection_type', message: 'oauth is not supported yet' }]
    : []
}

/** A username without a password cannot log in; a password without a username is a mistake. */
function checkCredentials(config: ConfigureSmtpBody['config']): FieldError[] {
  const { username, password } = config
  if ((username === undefined) === (password === undefined)) return []
  const missing = username === undefined ? 'username' : 'password'
  return [
    {
      path: `/config/${missing}`,
      message: 'username and password are given together or not at all',
    },
  ]
}

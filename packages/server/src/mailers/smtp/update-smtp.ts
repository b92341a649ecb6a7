/**
 * updateSMTP (docs/reference/mailers.md#kinds): what is left out stays as it is.
 *
 * A stored password is used on without being given again only while host, port and username stay
 * the same and the way to the server does not get weaker. Otherwise anyone with an API key could
 * have it sent to a server of his own, or in plain text past somebody who listens.
 *
 * A given `config` is logged in with, unless `verify` is false. Having logged in, a deactivated mailer
 * is active again, and its held mail goes out; without, it stays as it is, for a wrong guess would
 * cost a mail. An empty `config` tries what is stored. A disabled one stays disabled. Two updates at
 * once: the second is refused.
 */
import type { UpdateSmtpBody } from '@postrider/contract'
import { ApiError, validationError } from '../../platform/errors.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import {
  canSend,
  defaultUncertain,
  isAsSafe,
  type MailerConfig,
  type ServerMailer,
  sealPassword,
} from '../mailer.ts'
import { updateOauthSmtp } from '../oauth/configure-oauth-smtp.ts'
import { addressBefore, saveMailer } from '../save-mailer.ts'
import { reopenPassword } from '../state/reopen-password.ts'
import { getServerMailer } from '../store.ts'
import { checkConfigChange } from './check-config.ts'
import { checkFields } from './check-fields.ts'
import { checkHost, checkLogin } from './check-login.ts'
import type { MailerDeps } from './configure-smtp.ts'
import { checkReturnPath, confirmReturnPath } from './return-path.ts'

export async function updateSmtp(
  deps: MailerDeps,
  tenantId: string,
  mailerId: string,
  body: UpdateSmtpBody,
): Promise<ServerMailer> {
  if (body.mailer_id != null && body.mailer_id !== mailerId) {
    throw validationError({ path: '/mailer_id', message: 'must be the mailer of the path' })
  }
  const checked = checkFields(body)
  if (checked.errors.length > 0) throw validationError(...checked.errors)
  const stored = await getServerMailer(deps.db, tenantId, mailerId)
  if (stored === undefined || !canSend(stored)) throw new ApiError('not_found')
  const errors = checkConfigChange(stored.connectionType, body.config ?? {})
  if (errors.length > 0) throw validationError(...errors)

  const config =
    body.config === undefined ? stored.config : changedConfig(stored, body, checked.host)
  const isVerified = body.config !== undefined && body.verify !== false
  const isSameHost = config.host === stored.config.host && config.port === stored.config.port
  const { returnPath: storedPath, ...kept } = stored
  const returnPath =
    body.return_path === undefined
      ? storedPath
      : await checkReturnPath(deps, tenantId, body.return_path)
  const next: ServerMailer = {
    ...kept,
    ...(returnPath === undefined ? {} : { returnPath }),
    name: body.name ?? stored.name,
    email: checked.email ?? stored.email,
    config,
    uncertain: nullAs(body.uncertain, defaultUncertain) ?? stored.uncertain,
    limits: nullAs(body.limits, {}) ?? stored.limits,
    hostEverWorked: isVerified || (isSameHost && stored.hostEverWorked),
  }
  const updated =
    stored.connectionType === 'oauth'
      ? await updateOauthSmtp(deps, stored, next, {
          ...{ given: body.config, isVerified },
          address: addressBefore(stored, body),
        })
      : await updateBasicSmtp(deps, stored, next, body)
  if (updated !== undefined) {
    const confirmed = await confirmReturnPath(deps, updated)
    deps.wakeMail(confirmed)
    return confirmed
  }
  const current = await getServerMailer(deps.db, tenantId, mailerId)
  throw new ApiError(current === undefined ? 'not_found' : 'conflict')
}

async function updateBasicSmtp(
  deps: MailerDeps,
  stored: ServerMailer,
  next: ServerMailer,
  body: UpdateSmtpBody,
): Promise<ServerMailer | undefined> {
  const { config } = next
  const password = body.config === undefined ? undefined : passwordOf(deps, stored, config, body)
  const isVerified = body.config !== undefined && body.verify !== false
  if (isVerified) await checkLogin(deps, stored.tenantId, { ...config, password })
  else if (body.config !== undefined) await checkHost(deps, stored.tenantId, config.host)
  const { secret, ...others } = next
  const mailer = {
    ...others,
    ...(secret === undefined || config.username === undefined ? {} : { secret }),
    ...(password === undefined ? {} : { secret: sealPassword(deps.keyRing, stored, password) }),
  }
  return deps.db.transaction((tx) =>
    saveMailer(tx, deps, mailer, {
      isAuthenticated: isVerified,
      address: addressBefore(stored, body),
    }),
  )
}

function changedConfig(
  stored: ServerMailer,
  body: UpdateSmtpBody,
  host: string | undefined,
): MailerConfig {
  const { port, secure, tls_verify: tlsVerify, username } = body.config ?? {}
  const { username: before, ...kept } = stored.config
  // That of OAuth is the address.
  const name = username === undefined || stored.connectionType === 'oauth' ? before : username
  return {
    ...kept,
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(secure === undefined ? {} : { secure }),
    ...(tlsVerify === undefined ? {} : { tlsVerify: tlsVerify ?? true }),
    ...(name == null ? {} : { username: name }),
  }
}

function passwordOf(
  deps: MailerDeps,
  stored: ServerMailer,
  config: MailerConfig,
  body: UpdateSmtpBody,
): string | undefined {
  const given = body.config?.password
  const message = 'username and password are given together or not at all'
  if (config.username === undefined) {
    if (given == null) return undefined
    throw validationError({ path: '/config/username', message })
  }
  if (given === null) throw validationError({ path: '/config/password', message })
  if (given !== undefined) return given
  if (!isAsSafe(config, stored.config)) {
    throw validationError({
      path: '/config/password',
      message: 'must be given again when host, port or username change or TLS gets weaker',
    })
  }
  return stored.secret === undefined ? undefined : reopenPassword(deps, stored)
}

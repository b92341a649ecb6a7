/**
 * Tries a configuration's login before it is stored (docs/reference/mailers.md#login-check): 10 seconds for
 * all of it.
 *
 * A host that may not be connected to is the configuration's fault (400, by path), whether or not
 * the login is to be tried. What the others are told is in login-failure.ts. As with webhooks, a
 * tenant may fail so many times a minute, and has a few checks at once.
 */
import { LOCAL_REFUSALS, type SmtpFailure } from '@postrider/mail'
import { isRefusedHost, notReachable } from '../../platform/egress/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { type CheckBounds, countedCheck } from '../../platform/limits/counted-check.ts'
import type { OpenMailboxDeps } from '../imap/session/open-mailbox.ts'
import { loginFailure } from './login-failure.ts'
import {
  type ConfigWithSecret,
  openMailerSession,
  type SessionDeps,
} from './open-mailer-session.ts'

const LOGIN_TIMEOUT_MS = 10_000

export interface LoginCheckDeps extends SessionDeps, Pick<OpenMailboxDeps, 'onImapBound'> {
  readonly checks: CheckBounds
}

export async function checkLogin(
  deps: LoginCheckDeps,
  tenantId: string,
  config: ConfigWithSecret,
): Promise<void> {
  await countedCheck(deps, tenantId, () => tryLogin(deps, config))
}

export async function checkHost(
  deps: LoginCheckDeps,
  tenantId: string,
  host: string,
): Promise<void> {
  await countedCheck(deps, tenantId, () => refuseHost(deps, host))
}

export async function tryLogin(deps: SessionDeps, config: ConfigWithSecret): Promise<void> {
  const startedAt = performance.now()
  await refuseHost(deps, config.host)
  const timeoutMs = LOGIN_TIMEOUT_MS - (performance.now() - startedAt)
  const opened = await openMailerSession(deps, config, { timeoutMs })
  if (!opened.ok) throw refusalOf(opened.failure)
  opened.session.close()
}

async function refuseHost(deps: SessionDeps, host: string): Promise<void> {
  if (await isRefusedHost(deps.egress, host)) throw hostRefused()
}

function hostRefused(): ApiError {
  return validationError({ path: '/config/host', message: notReachable })
}

function refusalOf(failure: SmtpFailure): ApiError {
  if (failure.systemCode === 'address_refused') return hostRefused()
  if (failure.systemCode === LOCAL_REFUSALS.noLoginOffered) {
    const message =
      'The mail server offers no login on this connection: check port and secure, or leave out username and password'
    return new ApiError('mailer_auth_failed', { message })
  }
  return loginFailure(failure)
}

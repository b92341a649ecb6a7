/**
 * The provider sends the browser back (RFC 6749 §4.1.2): the state names the login and is used up,
 * the code becomes a grant, the grant a mailer. Then the browser goes where the login said, with
 * `success` and `mailer_id` or `error`, or is shown a page (docs/reference/mailers.md#oauth-apps).
 */

import type { Logger } from '../../../platform/log.ts'
import { SealedValueError } from '../../../platform/secrets/index.ts'
import { getServerMailer } from '../../store.ts'
import { getApp } from '../apps/app-store.ts'
import { requestToken, type TokenRequestDeps } from '../tokens/request-token.ts'
import { type AcceptGrantDeps, acceptGrant, type LoginResult } from './accept-grant.ts'
import { type PendingLogin, takeLogin } from './login-store.ts'
import { hashState, type LoginSecret, openLoginSecret } from './start-login.ts'

export interface FinishLoginDeps extends AcceptGrantDeps, TokenRequestDeps {
  readonly egress: AcceptGrantDeps['egress'] & TokenRequestDeps['egress']
  readonly callbackUrl: string
  readonly log: Logger
}

export interface CallbackQuery {
  readonly state: string | undefined
  readonly code: string | undefined
  readonly error: string | undefined
}

/** What the browser gets; without `redirectTo`, a page. */
export interface CallbackAnswer {
  readonly redirectTo?: string
  /** Of a page. */
  readonly isSuccess: boolean
  readonly message: string
}

interface Failed {
  readonly error: string
  readonly message: string
}

const PARAMETER_LENGTH_MAX = 4096

export async function finishLogin(
  deps: FinishLoginDeps,
  query: CallbackQuery,
): Promise<CallbackAnswer> {
  const { state = '' } = query
  const isSane = /^[\w-]{43}$/.test(state)
  const login = isSane ? await takeLogin(deps.db, hashState(state)) : undefined
  if (login === undefined)
    return {
      isSuccess: false,
      message: 'This login is unknown, was used already, or has expired. Begin again.',
    }
  const result = await complete(deps, login, query)
  const failed = 'error' in result ? result : undefined
  deps.log.info(
    {
      tenant_id: login.tenantId,
      app_id: login.appId,
      mailer_id: 'mailerId' in result ? result.mailerId : login.mailerId,
      error: failed?.error,
    },
    'oauth_login.finished',
  )
  return answerTo(login, result)
}

async function complete(
  deps: FinishLoginDeps,
  login: PendingLogin,
  { state = '', code, error }: CallbackQuery,
): Promise<{ readonly mailerId: string } | Failed> {
  if (error !== undefined) return providerError(error)
  if (code === undefined || code === '' || code.length > PARAMETER_LENGTH_MAX)
    return { error: 'invalid_request', message: 'The provider sent no code' }
  const { tenantId, appId, mailerId, type } = login
  const secret = secretOf(deps, login, hashState(state))
  const [app, mailer] = await Promise.all([
    getApp(deps.db, tenantId, appId),
    mailerId === undefined ? undefined : getServerMailer(deps.db, tenantId, mailerId),
  ])
  const isGone = app === undefined || (mailerId !== undefined && mailer === undefined)
  if (isGone || secret === undefined)
    return { error: 'mailer_changed', message: 'The mailer or its OAuth app is gone' }
  const answer = await requestToken(deps, app, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: deps.callbackUrl,
    code_verifier: secret.verifier,
  })
  if (!answer.ok) {
    const { verdict } = answer.failure
    deps.log.warn(
      { tenant_id: tenantId, app_id: appId, verdict, provider_error: answer.failure.providerError },
      'oauth_login.no_token',
    )
    return { error: 'token_request_failed', message: 'The provider did not complete the login' }
  }
  const { nonce, isSecondAllowed = false } = secret
  const { grant } = answer
  return toResult(await acceptGrant(deps, { app, type, mailer, grant, nonce, isSecondAllowed }))
}

function toResult(result: LoginResult): { readonly mailerId: string } | Failed {
  return result.ok ? { mailerId: result.mailer.mailerId } : result.problem
}

/** RFC 6749 §4.1.2.1 has a small alphabet for it; what does not keep to it is not passed on. */
function providerError(error: string): Failed {
  const isSane = /^[\x20\x21\x23-\x5b\x5d-\x7e]{1,200}$/.test(error)
  return {
    error: isSane ? error : 'invalid_request',
    message:
      error === 'access_denied' ? 'The login was declined.' : 'The provider refused the login.',
  }
}

function secretOf(
  { keyRing }: FinishLoginDeps,
  login: PendingLogin,
  stateHash: Buffer,
): LoginSecret | undefined {
  try {
    return openLoginSecret(keyRing, login, stateHash)
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    return undefined
  }
}

function answerTo(
  { redirectUri }: PendingLogin,
  result: { readonly mailerId: string } | Failed,
): CallbackAnswer {
  const page =
    'error' in result
      ? { isSuccess: false, message: result.message }
      : { isSuccess: true, message: 'The mailbox is connected. You can close this window.' }
  if (redirectUri === undefined) return page
  const url = new URL(redirectUri)
  url.searchParams.set('success', String(page.isSuccess))
  if ('error' in result) url.searchParams.set('error', result.error)
  else url.searchParams.set('mailer_id', result.mailerId)
  return { ...page, redirectTo: url.href }
}

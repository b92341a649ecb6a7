/**
 * Logs in as a mailer's next send would, and says how each step went. The mailer's state is neither
 * asked for nor changed by the login; an OAuth provider is asked for a new token, and what it says of
 * the grant counts as it does for a send.
 */
import type { SmtpFailure } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { canSend, openPassword, type ServerMailer } from '../mailer.ts'
import type { AccessTokens } from '../oauth/tokens/access-tokens.ts'
import { printable } from '../smtp/login-failure.ts'
import type { SessionDeps } from '../smtp/open-mailer-session.ts'
import { getServerMailer } from '../store.ts'
import { type LoginStep, type TracedLogin, traceLogin, type UseSession } from './trace-login.ts'

export interface TrySmtpDeps extends SessionDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  readonly accessTokens: Pick<AccessTokens, 'get'>
}

export interface TriedSmtp extends TracedLogin {
  readonly mailer: ServerMailer
  /** There was no token to try it with. */
  readonly isWithoutToken: boolean
}

const TOKEN_TIMEOUT_MS = 12_000

/** Throws `not_found` for no mailer, or one that only fetches; SealedValueError without its key. */
export async function trySmtp(
  deps: TrySmtpDeps,
  tenantId: string,
  mailerId: string,
): Promise<TriedSmtp> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined || !canSend(mailer)) throw new ApiError('not_found')
  const credential = await takeCredential(deps, mailer)
  if ('steps' in credential) return { mailer, isWithoutToken: true, ...credential }
  return { mailer, isWithoutToken: false, ...(await traceCredential(deps, mailer, credential)) }
}

/** What a mailer logs in with. */
export interface Credential {
  readonly login: { readonly password?: string | undefined } | { readonly accessToken: string }
  /** How it was had, where that took a step. */
  readonly before: readonly LoginStep[]
}

/** A password, or a new token; else the step that failed. */
export async function takeCredential(
  deps: Pick<TrySmtpDeps, 'keyRing' | 'accessTokens'>,
  mailer: ServerMailer,
): Promise<Credential | { readonly steps: readonly LoginStep[] }> {
  const { secret } = mailer
  if (mailer.connectionType === 'basic') {
    const password = secret === undefined ? undefined : openPassword(deps.keyRing, mailer, secret)
    return { login: { password }, before: [] }
  }
  const beganMs = performance.now()
  const deadlineAt = beganMs + TOKEN_TIMEOUT_MS
  const token = await deps.accessTokens.get(mailer, { deadlineAt, isCheck: true })
  const step = (ok: boolean, detail: string): LoginStep => {
    const ms = Math.round(performance.now() - beganMs)
    return { step: 'token', ok, detail: printable(detail), ms }
  }
  if (token.kind === 'token')
    return {
      login: { accessToken: token.accessToken },
      before: [step(true, 'the provider gave an access token')],
    }
  const said = 'failure' in token ? token.failure.providerError : 'no answer in time'
  return { steps: [step(false, said)] }
}

export async function traceCredential(
  deps: SessionDeps,
  { config }: ServerMailer,
  { login, before }: Credential,
  use?: UseSession,
): Promise<TracedLogin & { readonly cause?: SmtpFailure }> {
  const traced = await traceLogin(deps, { ...config, ...login }, use)
  return { ...traced, steps: [...before, ...traced.steps] }
}

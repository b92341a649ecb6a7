/**
 * Logs in as a mailer's next send would, and says how each step went. The mailer's state is neither
 * asked for nor changed by the login; an OAuth provider is asked for a new token, and what it says of
 * the grant counts as it does for a send.
 */
import type { Classification } from '@postrider/mail'
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { canSend, openPassword, type ServerMailer } from '../mailer.ts'
import type { AccessTokens } from '../oauth/tokens/access-tokens.ts'
import { getServerMailer } from '../store.ts'
import { printable } from './login-failure.ts'
import type { SessionDeps } from './open-mailer-session.ts'
import { type LoginStep, traceLogin } from './trace-login.ts'

export interface TestMailerDeps extends SessionDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  readonly accessTokens: Pick<AccessTokens, 'get'>
}

export interface TestedMailer {
  readonly mailer: ServerMailer
  readonly steps: readonly LoginStep[]
  /** How the login failed. */
  readonly failure?: Classification
  /** There was no token to try it with. */
  readonly isWithoutToken: boolean
}

const TOKEN_TIMEOUT_MS = 12_000

/** Throws `not_found` for no mailer, or one that only fetches; SealedValueError without its key. */
export async function testMailer(
  deps: TestMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<TestedMailer> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined || !canSend(mailer)) throw new ApiError('not_found')
  const { config, secret } = mailer
  if (mailer.connectionType === 'basic') {
    const password = secret === undefined ? undefined : openPassword(deps.keyRing, mailer, secret)
    return { mailer, isWithoutToken: false, ...(await traceLogin(deps, { ...config, password })) }
  }
  const beganMs = performance.now()
  const deadlineAt = performance.now() + TOKEN_TIMEOUT_MS
  const token = await deps.accessTokens.get(mailer, { deadlineAt, isCheck: true })
  const step = (ok: boolean, detail: string): LoginStep => {
    const ms = Math.round(performance.now() - beganMs)
    return { step: 'token', ok, detail: printable(detail), ms }
  }
  if (token.kind !== 'token') {
    const said = 'failure' in token ? token.failure.providerError : 'no answer in time'
    return { mailer, steps: [step(false, said)], isWithoutToken: true }
  }
  const login = await traceLogin(deps, { ...config, accessToken: token.accessToken })
  const steps = [step(true, 'the provider gave an access token'), ...login.steps]
  return { mailer, isWithoutToken: false, ...login, steps }
}

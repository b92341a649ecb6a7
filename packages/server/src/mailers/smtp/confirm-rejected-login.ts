/**
 * Opens a session for an attempt, with an access token where the mailer logs in by OAuth.
 *
 * One rejected login proves little: servers have hiccups, and answer an expired access token as they
 * answer a wrong one (535). So it is tried once more, after a while, on a fresh connection and with a
 * freshly refreshed token, before anything is concluded from it (docs/reference/mailers.md#deactivation).
 * Replies that cannot heal by waiting skip the second try. A rejection that is answered is final.
 */
import {
  classifyFailure,
  LOCAL_REFUSALS,
  type OpenSessionResult,
  type SmtpFailure,
} from '@postrider/mail'
import { pause } from '@postrider/runtime/timeout'
import type { SmtpMailerForSend } from '../load-mailer.ts'
import type { AccessTokenResult, AccessTokens } from '../oauth/tokens/access-tokens.ts'
import type { TokenFailure } from '../oauth/tokens/request-token.ts'
import { openMailerSession, type SessionDeps } from './open-mailer-session.ts'

export interface OpenForAttemptDeps extends SessionDeps {
  readonly accessTokens: Pick<AccessTokens, 'get'>
  readonly authConfirmDelayMs: number
}

export interface OpenOptions {
  /** In the time of `performance.now()`, which no set clock moves. */
  readonly deadlineAt: number
  readonly signal: AbortSignal
  /** Runs the second try, or answers undefined without it. */
  readonly confirm: (
    secondTry: () => Promise<OpenSessionResult | undefined>,
  ) => Promise<OpenSessionResult | undefined>
}

const OPEN_TIMEOUT_MS = 30_000

/** `undefined`: nothing was tried, or nothing can be concluded, and it is nobody's failure. */
export async function openForAttempt(
  deps: OpenForAttemptDeps,
  mailer: SmtpMailerForSend,
  o: OpenOptions,
): Promise<OpenSessionResult | undefined> {
  const first = await tokenFor(deps, mailer, o)
  if (first.kind !== 'token') return withoutToken(first)
  const opened = await open(deps, mailer, o, first.accessToken)
  if (opened.ok || !isWorthAnother(opened.failure)) return opened
  if (performance.now() + deps.authConfirmDelayMs >= o.deadlineAt) return undefined
  return o.confirm(async () => {
    if (!(await pause(deps.authConfirmDelayMs, o.signal))) return undefined
    const second = await tokenFor(deps, mailer, { ...o, refused: first.accessToken })
    return second.kind === 'token'
      ? open(deps, mailer, o, second.accessToken)
      : withoutToken(second)
  })
}

function open(
  deps: OpenForAttemptDeps,
  mailer: SmtpMailerForSend,
  { deadlineAt, signal }: OpenOptions,
  accessToken: string | undefined,
): Promise<OpenSessionResult> {
  const timeoutMs = Math.max(0, Math.min(OPEN_TIMEOUT_MS, deadlineAt - performance.now()))
  return openMailerSession(deps, { ...mailer, accessToken }, { timeoutMs, signal })
}

type TokenOrNone =
  | { readonly kind: 'token'; readonly accessToken: string | undefined }
  | Exclude<AccessTokenResult, { readonly kind: 'token' }>

async function tokenFor(
  deps: OpenForAttemptDeps,
  mailer: SmtpMailerForSend,
  o: OpenOptions & { readonly refused?: string | undefined },
): Promise<TokenOrNone> {
  if (!mailer.isOauth) return { kind: 'token', accessToken: undefined }
  const { deadlineAt, signal, refused } = o
  return deps.accessTokens.get(mailer, { deadlineAt, signal, refused })
}

function isWorthAnother(failure: SmtpFailure): boolean {
  const { authRejected, cannotHealByWaiting } = classifyFailure(failure)
  return authRejected && !cannotHealByWaiting
}

function withoutToken(
  result: Exclude<TokenOrNone, { kind: 'token' }>,
): OpenSessionResult | undefined {
  if (result.kind === 'inactive' || result.kind === 'busy') return undefined
  const { kind, failure } = result
  if (failure.isLocal === true) return undefined
  if (kind === 'deactivated') return failed(LOCAL_REFUSALS.oauthRevoked, failure)
  // A mailbox that is called revoked, and is not believed to be, has its app to blame.
  return failure.verdict === 'transient'
    ? failed(LOCAL_REFUSALS.oauthUnavailable, failure)
    : failed(LOCAL_REFUSALS.oauthApp, failure)
}

function failed(systemCode: string, { providerError }: TokenFailure): OpenSessionResult {
  return { ok: false, failure: { stage: 'auth', systemCode, message: providerError } }
}

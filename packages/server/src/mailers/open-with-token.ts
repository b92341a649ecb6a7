/**
 * Opens a session for an attempt, with an access token where the mailer logs in by OAuth.
 *
 * Servers answer a login with an expired access token as they answer one that is wrong (535). So a
 * rejected login is tried once more, after a while, on a fresh connection and with a freshly
 * refreshed token, before anything is concluded from it (contract §1 `AUTH_CONFIRM_DELAY`). Replies
 * that cannot heal by waiting skip the second try.
 */
import { setTimeout } from 'node:timers/promises'
import { classifyFailure, LOCAL_REFUSALS, type SmtpFailure } from '../mail/index.ts'
import type { MailerForSend } from './load-mailer.ts'
import type { AccessTokenResult, AccessTokens } from './oauth/access-tokens.ts'
import type { TokenFailure } from './oauth/request-token.ts'
import { openMailerSession, type SessionDeps } from './open-mailer-session.ts'
import type { Opened } from './smtp-line.ts'

export interface OpenWithTokenDeps extends SessionDeps {
  readonly accessTokens: Pick<AccessTokens, 'get'>
  readonly authConfirmDelayMs: number
}

interface OpenOptions {
  /** Milliseconds since the epoch. */
  readonly deadlineAt: number
  readonly timeoutMsMax: number
  readonly signal: AbortSignal
}

/** `undefined`: nothing was tried, and it is nobody's failure. */
export async function openWithToken(
  deps: OpenWithTokenDeps,
  mailer: MailerForSend,
  o: OpenOptions,
): Promise<Opened | undefined> {
  const open = (accessToken: string | undefined) => {
    const timeoutMs = Math.max(0, Math.min(o.timeoutMsMax, o.deadlineAt - Date.now()))
    return openMailerSession(deps, { ...mailer, accessToken }, { timeoutMs, signal: o.signal })
  }
  if (!mailer.isOauth) return open(undefined)
  const { deadlineAt, signal } = o
  const first = await deps.accessTokens.get(mailer, { deadlineAt, signal })
  if (first.kind !== 'token') return withoutToken(first)
  const opened = await open(first.accessToken)
  if (opened.ok || !isWorthAnother(opened.failure)) return opened
  if (Date.now() + deps.authConfirmDelayMs >= deadlineAt) return opened
  if (!(await waitUnlessAborted(deps.authConfirmDelayMs, o.signal))) return undefined
  const second = await deps.accessTokens.get(mailer, {
    deadlineAt,
    signal,
    refused: first.accessToken,
  })
  return second.kind === 'token' ? open(second.accessToken) : withoutToken(second)
}

function isWorthAnother(failure: SmtpFailure): boolean {
  const { authRejected, cannotHealByWaiting } = classifyFailure(failure)
  return authRejected && !cannotHealByWaiting
}

function withoutToken(result: Exclude<AccessTokenResult, { kind: 'token' }>): Opened | undefined {
  if (result.kind === 'inactive' || result.kind === 'busy') return undefined
  const { kind, failure } = result
  if (kind === 'deactivated') return failed(LOCAL_REFUSALS.oauthRevoked, failure)
  // A mailbox that is called revoked, and is not believed to be, has its app to blame.
  return failure.verdict === 'transient'
    ? failed(LOCAL_REFUSALS.oauthUnavailable, failure)
    : failed(LOCAL_REFUSALS.oauthApp, failure)
}

function failed(systemCode: string, { providerError }: TokenFailure): Opened {
  return { ok: false, failure: { stage: 'auth', systemCode, message: providerError } }
}

async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  return setTimeout(ms, true, { signal }).catch(() => false)
}

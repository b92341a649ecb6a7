/**
 * Logs in at a mailbox as it is stored, with an access token where it has no password.
 *
 * As with a send, one rejected login proves little: it is tried once more, after a while, on a fresh
 * connection and with a freshly refreshed token, before anything is concluded from it
 * (docs/reference/mailers.md#deactivation). What cannot heal by waiting skips the second try.
 */
import { classifyImapFailure, type ImapFailure, LOCAL_REFUSALS } from '@postrider/mail'
import { pause } from '@postrider/runtime/timeout'
import type { AccessTokenResult, AccessTokens } from '../../oauth/tokens/access-tokens.ts'
import type { TokenFailure } from '../../oauth/tokens/request-token.ts'
import type { Mailbox } from '../load-mailbox.ts'
import type { ImapSession } from './imap-session.ts'
import { type OpenMailboxDeps, openMailbox } from './open-mailbox.ts'

export interface LogInDeps extends OpenMailboxDeps {
  readonly accessTokens: Pick<AccessTokens, 'get'>
  readonly authConfirmDelayMs: number
}

export interface LogInOptions {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly messageBytesMax: number
  /** Makes one connection, when its turn has come. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
}

export type LoggedIn =
  | { readonly kind: 'session'; readonly session: ImapSession }
  /** `isConfirmed`: it rejects the login, as often as it is tried. */
  | { readonly kind: 'failed'; readonly failure: ImapFailure; readonly isConfirmed: boolean }
  /** Not tried, for want of a file descriptor or of a free look-up: it says nothing about the mailbox. */
  | { readonly kind: 'busy' }
  /** The mailer is not active any more, or the caller has to stop: somebody else has seen to it. */
  | { readonly kind: 'over' }

export async function logIn(deps: LogInDeps, mailbox: Mailbox, o: LogInOptions): Promise<LoggedIn> {
  const first = await tryOnce(deps, mailbox, o)
  if (first.kind !== 'failed') return first
  const { authRejected, cannotHealByWaiting } = classifyImapFailure(first.failure)
  if (!authRejected) return first
  if (cannotHealByWaiting) return { ...first, isConfirmed: true }
  if (!(await pause(deps.authConfirmDelayMs, o.signal))) return { kind: 'over' }
  const second = await tryOnce(deps, mailbox, o, first.accessToken)
  if (second.kind !== 'failed') return second
  return { ...second, isConfirmed: classifyImapFailure(second.failure).authRejected }
}

type Tried = LoggedIn & { readonly accessToken?: string }

async function tryOnce(
  deps: LogInDeps,
  mailbox: Mailbox,
  o: LogInOptions,
  refused?: string,
): Promise<Tried> {
  const deadlineAt = performance.now() + o.timeoutMs
  const token =
    mailbox.password === undefined
      ? await deps.accessTokens.get(mailbox, { deadlineAt, signal: o.signal, refused })
      : undefined
  if (token !== undefined && token.kind !== 'token') return withoutToken(token)
  const credential =
    token === undefined ? { password: mailbox.password ?? '' } : { accessToken: token.accessToken }
  const opened = await o.inTurn(() => openMailbox(deps, { ...mailbox.server, ...credential }, o))
  if (opened.ok) return { kind: 'session', session: opened.session }
  if (o.signal.aborted) return { kind: 'over' }
  const { failure } = opened
  if (failure.systemCode === 'busy') return { kind: 'busy' }
  return {
    kind: 'failed',
    failure,
    isConfirmed: false,
    ...(token === undefined ? {} : { accessToken: token.accessToken }),
  }
}

function withoutToken(result: Exclude<AccessTokenResult, { readonly kind: 'token' }>): LoggedIn {
  // The refresh that found it revoked has deactivated the mailer.
  if (result.kind === 'deactivated' || result.kind === 'inactive') return { kind: 'over' }
  if (result.kind === 'busy') return failed(LOCAL_REFUSALS.oauthUnavailable)
  if (result.failure.isLocal === true) return { kind: 'busy' }
  // A mailbox that is called revoked, and is not believed to be, has its app to blame.
  return result.failure.verdict === 'transient'
    ? failed(LOCAL_REFUSALS.oauthUnavailable, result.failure)
    : failed(LOCAL_REFUSALS.oauthApp, result.failure)
}

function failed(systemCode: string, failure?: TokenFailure): LoggedIn {
  const message = failure?.providerError ?? 'The OAuth provider gave no access token in time'
  return { kind: 'failed', failure: { stage: 'auth', systemCode, message }, isConfirmed: false }
}

/**
 * Tries a configuration's login before it is stored (contract §3.3): 10 seconds for all of it.
 *
 * A host that may not be connected to is the configuration's fault (400, by path), whether or not
 * the login is to be tried. The server's reply stands in the message, so it is bounded and its
 * control characters are made visible.
 */
import type { SmtpFailure } from '../mail/index.ts'
import { EgressError } from '../platform/egress/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import type { MailerConfig } from './mailer.ts'
import { openMailerSession, type SessionDeps } from './open-mailer-session.ts'

const LOGIN_TIMEOUT_MS = 10_000
const REPLY_LENGTH_MAX = 500

export async function checkLogin(
  deps: SessionDeps,
  config: MailerConfig & { readonly password?: string | undefined },
): Promise<void> {
  const startedAt = performance.now()
  await checkHost(deps, config.host)
  const timeoutMs = LOGIN_TIMEOUT_MS - (performance.now() - startedAt)
  const opened = await openMailerSession(deps, config, { timeoutMs })
  if (!opened.ok) throw refusalOf(opened.failure)
  opened.session.close()
}

/** Only refuses: a name that does not resolve now may do so when mail is sent. */
export async function checkHost(deps: SessionDeps, host: string): Promise<void> {
  try {
    await deps.egress.check(host)
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    if (error.code === 'address_refused') throw hostRefused()
  }
}

function hostRefused(): ApiError {
  return validationError({ path: '/config/host', message: 'is not publicly reachable' })
}

function refusalOf(failure: SmtpFailure): ApiError {
  if (failure.systemCode === 'address_refused') return hostRefused()
  const { stage, reply } = failure
  if (stage === 'auth' && reply !== undefined) {
    const message = `The mail server rejected the login: ${printable(reply.text)}`
    return new ApiError('mailer_auth_failed', { message })
  }
  const evidence = reply?.text ?? [failure.message, failure.systemCode].filter(Boolean).join(', ')
  const message = `Could not connect to the mail server (${stage}): ${printable(evidence)}`
  return new ApiError('mailer_unreachable', { message })
}

/** A server's words in one line: C0, C1 and directional controls escaped, the rest as it is. */
function printable(text: string): string {
  const escaped = text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it escapes
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const bounded =
    escaped.length > REPLY_LENGTH_MAX ? `${escaped.slice(0, REPLY_LENGTH_MAX)}…` : escaped
  return bounded.toWellFormed()
}

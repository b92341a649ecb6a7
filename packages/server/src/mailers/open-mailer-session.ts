/**
 * An SMTP session with a mailer's server, over the guarded egress. The one place where a mailer's
 * configuration meets the SMTP conversation: to try a login, and to send.
 */
import { type OpenSessionOptions, type OpenSessionResult, openSmtpSession } from '../mail/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { MailerConfig } from './mailer.ts'

export interface SessionDeps {
  readonly egress: Egress
  readonly ehloName: string
}

/** By password or by access token; without either, the server is used without a login. */
export type ConfigWithSecret = MailerConfig & {
  readonly password?: string | undefined
  readonly accessToken?: string | undefined
}

export function openMailerSession(
  deps: SessionDeps,
  config: ConfigWithSecret,
  o: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<OpenSessionResult> {
  const { host, port, secure, tlsVerify } = config
  const auth = loginOf(config)
  return openSmtpSession({
    host,
    port,
    secure,
    tlsVerify,
    ehloName: deps.ehloName,
    timeoutMs: o.timeoutMs,
    ...(auth === undefined ? {} : { auth }),
    async connect({ tls, timeoutMs, signal }) {
      const socket = await deps.egress.connect({
        host,
        port,
        tls,
        timeoutMs,
        signal: o.signal ?? signal,
      })
      // Whoever stops the pool also ends a greeting or a login under way.
      o.signal?.addEventListener('abort', () => socket.destroy(), { once: true })
      return socket
    },
  })
}

function loginOf({
  username,
  password,
  accessToken,
}: ConfigWithSecret): OpenSessionOptions['auth'] {
  if (username === undefined) return undefined
  if (accessToken !== undefined) return { username, accessToken }
  return password === undefined ? undefined : { username, password }
}

/**
 * An SMTP session with a mailer's server, over the guarded egress. The one place where a mailer's
 * configuration meets the SMTP conversation: to try a login, and to send.
 */
import { type OpenSessionResult, openSmtpSession } from '../mail/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { MailerConfig } from './mailer.ts'

export interface SessionDeps {
  readonly egress: Egress
  readonly ehloName: string
}

export function openMailerSession(
  deps: SessionDeps,
  config: MailerConfig & { readonly password?: string | undefined },
  o: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<OpenSessionResult> {
  const { host, port, secure, tlsVerify, username, password } = config
  return openSmtpSession({
    host,
    port,
    secure,
    tlsVerify,
    ehloName: deps.ehloName,
    timeoutMs: o.timeoutMs,
    ...(username === undefined || password === undefined ? {} : { auth: { username, password } }),
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

/**
 * An SMTP session with a mailer's server, over the guarded egress. The one place where a mailer's
 * configuration meets the SMTP conversation: to try a login, and to send.
 */
import { type OpenSessionOptions, type OpenSessionResult, openSmtpSession } from '@postrider/mail'
import { type ConnectOptions, type Egress, secureSocket } from '../../platform/egress/index.ts'
import type { MailerConfig } from '../mailer.ts'

export interface SessionDeps {
  readonly egress: Egress
  readonly ehloName: string
}

/** By password or by access token; without either, the server is used without a login. */
export type ConfigWithSecret = MailerConfig & {
  readonly password?: string | undefined
  readonly accessToken?: string | undefined
}

/** Called for each step on the way to a session. */
export interface SessionTrace {
  readonly onProgress: NonNullable<ConnectOptions['onProgress']>
  readonly onSecured: NonNullable<OpenSessionOptions['onSecured']>
  readonly onReply: NonNullable<OpenSessionOptions['onReply']>
}

export function openMailerSession(
  deps: SessionDeps,
  config: ConfigWithSecret,
  o: { readonly timeoutMs: number; readonly signal?: AbortSignal; readonly trace?: SessionTrace },
): Promise<OpenSessionResult> {
  const { host, port, secure, tlsVerify } = config
  const auth = loginOf(config)
  return openSmtpSession({
    host,
    port,
    secure,
    tlsVerify,
    ehloName: deps.ehloName,
    secureSocket,
    timeoutMs: o.timeoutMs,
    ...(auth === undefined ? {} : { auth }),
    ...(o.trace === undefined ? {} : { onReply: o.trace.onReply, onSecured: o.trace.onSecured }),
    async connect({ tls, timeoutMs, signal }) {
      const socket = await deps.egress.connect({
        host,
        port,
        tls,
        timeoutMs,
        signal: o.signal ?? signal,
        onProgress: o.trace?.onProgress,
      })
      if ('getPeerCertificate' in socket) o.trace?.onSecured(socket)
      // Stopping the pool also ends a greeting or a login under way.
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

/**
 * The narrow interface of the SMTP conversation. Nothing outside this folder knows how it is held.
 *
 * Invariants of `send`:
 * - one recipient per transaction, so that each recipient has a reply of its own;
 * - no byte of the final CRLF.CRLF is written before `beforeFinalDot` has resolved;
 * - `phase` is exact: `before-dot` means that the server cannot have the message. `after-dot` with
 *   a reply is a sure refusal, without one it is uncertain;
 * - the promise always resolves, at `deadlineAt` at the latest, whatever the peer does.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Capabilities } from './capabilities.ts'
import type { SmtpFailure, SmtpReply, SmtpStage } from './failure.ts'

export interface SendOptions {
  /** Wire form; the empty string is the null reverse-path. */
  readonly from: string
  readonly to: string
  readonly message: Buffer
  /** The message, or one of the two addresses, needs SMTPUTF8 (RFC 6531): MAIL asks for it. */
  readonly smtpUtf8: boolean
  /** Passed on where the server offers DSN, else left out (RFC 3461). */
  readonly dsn?: DsnRequest
  /** In the time of `performance.now()`, which no set clock moves. */
  readonly deadlineAt: number
  readonly beforeFinalDot: () => Promise<void>
  /** Once the dot has been handed to the socket, and before any answer to it can be read. */
  readonly afterFinalDot?: () => void
}

/** Which notifications the sender requests (RFC 3461 §4). */
export interface DsnRequest {
  readonly notify?: readonly ('success' | 'failure' | 'delay')[] | 'never'
  readonly return?: 'full' | 'headers'
  /** At most 100 characters (RFC 3461 §4.4), of printable ASCII. */
  readonly envelopeId?: string
}

export type SmtpResult =
  | { readonly kind: 'accepted'; readonly reply: SmtpReply }
  | {
      readonly kind: 'failed'
      readonly phase: 'before-dot' | 'after-dot'
      readonly failure: SmtpFailure
      readonly sessionUsable: boolean
      /**
       * A session that had been used before was gone when this transaction began: the message is
       * as good as never tried and belongs on a fresh connection at once.
       */
      readonly isStale: boolean
    }

export interface SmtpSession {
  send(o: SendOptions): Promise<SmtpResult>
  /** Says QUIT when idle and lets go of the socket; twice is fine. */
  close(): void
  readonly isUsable: boolean
  /** Transactions begun on this connection, whatever became of them. */
  readonly sent: number
  readonly capabilities: Capabilities
}

export type SmtpSecurity = 'Auto' | 'Tls' | 'SSL' | 'None'

/** A password, or an OAuth access token that is good for SMTP. */
export type SmtpAuth =
  | { readonly username: string; readonly password: string }
  | { readonly username: string; readonly accessToken: string }

export interface SmtpConnectOptions {
  /** Present when the socket must come back with TLS done, to the name of the host. */
  readonly tls?: { readonly rejectUnauthorized: boolean }
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Starts TLS on a connected socket, to the name of the host. Rejects when the signal aborts. */
export type SecureSocket = (
  socket: Socket,
  host: string,
  o: { readonly rejectUnauthorized: boolean },
  signal: AbortSignal,
) => Promise<TLSSocket>

export interface OpenSessionOptions {
  readonly connect: (o: SmtpConnectOptions) => Promise<Socket>
  /** For STARTTLS. */
  readonly secureSocket: SecureSocket
  readonly host: string
  readonly port: number
  readonly secure: SmtpSecurity
  readonly tlsVerify: boolean
  readonly auth?: SmtpAuth
  readonly ehloName: string
  /** For everything up to the login: connecting, TLS, greeting, EHLO, AUTH. */
  readonly timeoutMs: number
  /** Each reply on the way to the session, without the login, as it comes; `asked` where it may be told. */
  readonly onReply?: (stage: SmtpStage, reply: SmtpReply, asked: string | undefined) => void
  /** TLS by STARTTLS is up. */
  readonly onSecured?: (socket: TLSSocket) => void
}

export type OpenSessionResult =
  | { readonly ok: true; readonly session: SmtpSession }
  | { readonly ok: false; readonly failure: SmtpFailure }

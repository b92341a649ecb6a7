/**
 * What went wrong in an SMTP conversation, as a value (RFC 5321 §4.2).
 *
 * `stage` is the step that failed, `reply` the server's answer where there was one. Stage `dot`
 * without a reply is the one uncertain case: the message may have been delivered.
 */
import type { Reply } from './reply-parser.ts'

export type SmtpStage =
  | 'connect'
  | 'greeting'
  | 'ehlo'
  | 'starttls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'dot'

export interface SmtpReply {
  readonly code: number
  /** As received, codes kept, lines joined by a space. */
  readonly text: string
}

export interface SmtpFailure {
  readonly stage: SmtpStage
  readonly reply?: SmtpReply
  /** ECONNREFUSED, CERT_HAS_EXPIRED, address_refused, …; EPROTOCOL when the peer speaks no SMTP. */
  readonly systemCode?: string
  readonly message?: string
  /**
   * What a server said of a token before it refused it: JSON as a rule (RFC 7628 §3.2.2), decoded
   * and otherwise as received.
   */
  readonly authChallenge?: string
  /** False when no connection to this host ever succeeded: a name that never resolved is a typo. */
  readonly hostEverWorked?: boolean
}

/** The codes of this module's own refusals, made before the message is whole on the other side. */
export const LOCAL_REFUSALS = {
  tooLarge: 'ESIZE',
  needsSmtpUtf8: 'ESMTPUTF8',
  needs8BitMime: 'E8BITMIME',
  invalidAddress: 'EADDRESS',
  invalidMessage: 'EMESSAGE',
  noCredentials: 'ECREDENTIALS',
  noLoginOffered: 'ENOAUTH',
  callerAborted: 'EABORTED',
  // No access token to log in with: the grant is gone, the app is at fault, the provider is away.
  oauthRevoked: 'EOAUTHREVOKED',
  oauthApp: 'EOAUTHAPP',
  oauthUnavailable: 'EOAUTH',
} as const

/** Why no answer will come any more: the connection is gone, the time is up, the peer talks nonsense. */
export interface Lost {
  readonly systemCode: string
  readonly message: string
}

const EGRESS_CODES: Readonly<Record<string, string>> = {
  timeout: 'ETIMEDOUT',
  aborted: 'ETIMEDOUT',
  reset: 'ECONNRESET',
  dns: 'EDNS',
  connect: 'ECONNECTION',
  tls: 'ETLS',
  protocol: 'EPROTOCOL',
}

export function toSmtpReply({ code, lines }: Reply): SmtpReply {
  return { code, text: lines.length === 1 ? (lines[0] ?? '') : lines.join(' ') }
}

/** Of a reply that is not the one that was due: a refusal, or nonsense at this place. */
export function failureOfReply(stage: SmtpStage, reply: Reply): SmtpFailure {
  const told = toSmtpReply(reply)
  if (reply.code >= 400) return { stage, reply: told }
  return { stage, systemCode: 'EPROTOCOL', message: `Unexpected response: ${told.text}` }
}

/** Of an error thrown by the function that connects: the guarded egress, or node itself. */
export function failureOfConnect(error: unknown): SmtpFailure {
  const { message, code = '', systemCode } = factsOf(error)
  const name = systemCode ?? EGRESS_CODES[code] ?? code
  return { stage: 'connect', message, ...(name === '' ? {} : { systemCode: name }) }
}

/** Of an error on an open connection, or of TLS on one. */
export function lostBy(error: unknown): Lost {
  const { message, code = '', systemCode } = factsOf(error)
  return { systemCode: systemCode ?? EGRESS_CODES[code] ?? (code || 'ECONNECTION'), message }
}

interface ErrorFacts {
  readonly message: string
  readonly code?: string
  readonly systemCode?: string
}

function factsOf(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { message: String(error) }
  const text = (key: string) => {
    const value: unknown = Reflect.get(error, key)
    return typeof value === 'string' && value !== '' ? { [key]: value } : {}
  }
  return { message: error.message, ...text('code'), ...text('systemCode') }
}

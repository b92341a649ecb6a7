/**
 * What went wrong in an SMTP conversation, as a value (RFC 5321 §4.2).
 *
 * `stage` is the step that failed, `reply` the server's answer where there was one. Stage `dot`
 * without a reply is the one uncertain case: the message may have been delivered. nodemailer names
 * the same drop alike before and after the final dot, and overwrites system error codes; this file
 * is the only place that reads its errors.
 */
import { getSystemErrorName } from 'node:util'

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
  /** False when no connection to this host ever succeeded: a name that never resolved is a typo. */
  readonly hostEverWorked?: boolean
}

/** The codes of this module's own refusals, made before a byte of the message is sent. */
export const LOCAL_REFUSALS = {
  tooLarge: 'ESIZE',
  needsSmtpUtf8: 'ESMTPUTF8',
  invalidAddress: 'EADDRESS',
  noCredentials: 'ECREDENTIALS',
  noLoginOffered: 'ENOAUTH',
  callerAborted: 'EABORTED',
} as const

const EGRESS_CODES: Readonly<Record<string, string>> = {
  timeout: 'ETIMEDOUT',
  aborted: 'ETIMEDOUT',
  reset: 'ECONNRESET',
  dns: 'EDNS',
  connect: 'ECONNECTION',
  tls: 'ETLS',
  protocol: 'EPROTOCOL',
}

interface ErrorFacts {
  readonly message: string
  readonly code?: string
  readonly systemCode?: string
  readonly originalCode?: string
  readonly errno?: number
  readonly response?: string
  readonly command?: string
}

export function toReply(response: string | undefined): SmtpReply | undefined {
  const code = response === undefined ? undefined : /^[2-5]\d\d(?=[ \-\n]|$)/.exec(response)?.[0]
  if (code === undefined || response === undefined) return undefined
  return { code: Number(code), text: response.replace(/\r?\n/g, ' ') }
}

/** Of an error thrown by the function that connects: the guarded egress, or node itself. */
export function failureOfConnect(error: unknown): SmtpFailure {
  const facts = factsOf(error)
  const systemCode = facts.systemCode ?? EGRESS_CODES[facts.code ?? ''] ?? facts.code
  return {
    stage: 'connect',
    message: facts.message,
    ...(systemCode === undefined ? {} : { systemCode }),
  }
}

/** Of an error by nodemailer. A reply that is neither 4yz nor 5yz where one is due is nonsense. */
export function failureOf(error: unknown, stage: SmtpStage): SmtpFailure {
  const facts = factsOf(error)
  const reply = toReply(facts.response)
  if (reply !== undefined && reply.code >= 400) return { stage, reply }
  const systemCode = facts.response === undefined ? systemCodeOf(facts) : 'EPROTOCOL'
  return { stage, systemCode, message: facts.message.replace(/\r?\n/g, ' ') }
}

/** The command that nodemailer says was refused, if it says so. */
export function stageOfCommand(error: unknown): SmtpStage | undefined {
  const { command = '', code } = factsOf(error)
  if (command.startsWith('AUTH')) return 'auth'
  switch (command) {
    case 'MAIL FROM':
      return 'mail'
    case 'RCPT TO':
      return 'rcpt'
    case 'DATA':
      return code === 'EMESSAGE' ? 'dot' : 'data'
    case 'STARTTLS':
      return 'starttls'
    case 'EHLO':
    case 'HELO':
      return 'ehlo'
    default:
      return undefined
  }
}

function systemCodeOf(facts: ErrorFacts): string {
  if (facts.originalCode !== undefined) return facts.originalCode
  if (facts.errno !== undefined && facts.errno < 0) return getSystemErrorName(facts.errno)
  return facts.code ?? 'ECONNECTION'
}

function factsOf(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { message: String(error) }
  const text = (key: string) => {
    const value: unknown = Reflect.get(error, key)
    return typeof value === 'string' && value !== '' ? { [key]: value } : {}
  }
  const errno: unknown = Reflect.get(error, 'errno')
  return {
    message: error.message,
    ...text('code'),
    ...text('systemCode'),
    ...text('originalCode'),
    ...text('response'),
    ...text('command'),
    ...(typeof errno === 'number' ? { errno } : {}),
  }
}

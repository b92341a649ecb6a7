/**
 * What the IMAP client threw, as a value. Its own errors say little of what a server answered or why a
 * connection ended: that is gathered here, without the login, which some servers quote.
 */
import {
  IMAP_REFUSALS,
  type ImapFailure,
  type ImapReply,
  type ImapStage,
  type LoginRedactor,
} from '@postrider/mail'
import { memberOf } from '../../../platform/values/json.ts'
import { BOUND_BROKEN } from './guard-client.ts'

/** Thrown by what uses a session (imap-session.ts); the caller that began it looks at the failure. */
export class ImapError extends Error {
  override readonly name = 'ImapError'
  readonly failure: ImapFailure

  constructor(failure: ImapFailure, cause?: unknown) {
    super(failure.reply?.text ?? failure.message ?? failure.systemCode ?? 'IMAP failed', { cause })
    this.failure = failure
  }
}

const TEXT_CHARS_MAX = 4_096

const TOO_MUCH: ReadonlySet<string> = new Set([
  BOUND_BROKEN,
  'LiteralTooLarge',
  'LineTooLarge',
  'ResponseTooLarge',
  'TooManyTokens',
  'TooManyResponses',
])
const NONSENSE: ReadonlySet<string> = new Set([
  'UnexpectedTag',
  'InvalidResponse',
  'ResponseProcessingFailed',
  'STARTTLS_INJECTION',
  'MAX_IMAP_NESTING_REACHED',
])
const ENDED: ReadonlySet<string> = new Set([
  'NoConnection',
  'EConnectionClosed',
  'StateLogout',
  'ClosedAfterConnectText',
  'ClosedAfterConnectTLS',
])
const LATE: ReadonlySet<string> = new Set(['CONNECT_TIMEOUT', 'UPGRADE_TIMEOUT', 'ETIMEOUT'])

export interface FailureFacts {
  readonly stage: ImapStage
  readonly redactor: LoginRedactor
  /** With which the server ended the connection. */
  readonly bye?: string | undefined
  /** What ended the connection, where that is known and the command only met its end. */
  readonly earlier?: unknown
}

export function imapFailureOf(error: unknown, o: FailureFacts): ImapFailure {
  const { stage, redactor } = o
  const text = (name: string) => textOf(error, name)
  const reply = replyOf(error)
  if (reply !== undefined) {
    const isAboutLogin = memberOf(error, 'authenticationFailed') === true
    const said = redactor.text(reply.text.slice(0, TEXT_CHARS_MAX))
    return { stage: isAboutLogin ? 'auth' : stage, reply: { ...reply, text: said } }
  }
  const code = text('code') ?? ''
  if (ENDED.has(code) || code === '') {
    const reason = o.bye ?? text('reason')
    if (reason !== undefined) {
      const said = redactor.text(`BYE ${reason}`.slice(0, TEXT_CHARS_MAX))
      return { stage, reply: { status: 'BYE', text: said } }
    }
    if (o.earlier !== undefined && o.earlier !== error)
      return imapFailureOf(o.earlier, { ...o, earlier: undefined })
  }
  const isTls = memberOf(error, 'tlsFailed') === true
  const message = redactor.text(messageOf(error).slice(0, TEXT_CHARS_MAX))
  return {
    stage: isTls ? 'starttls' : stage,
    systemCode: systemCodeOf(error, code, isTls),
    message,
  }
}

function systemCodeOf(error: unknown, code: string, isTls: boolean): string {
  if (ENDED.has(code)) return 'ECONNRESET'
  if (LATE.has(code)) return 'ETIMEDOUT'
  if (code === 'GREETING_TIMEOUT') return IMAP_REFUSALS.noGreeting
  if (TOO_MUCH.has(code)) return IMAP_REFUSALS.tooMuch
  if (NONSENSE.has(code) || code.startsWith('ParserError')) return 'EPROTOCOL'
  // What it throws without a reply and without a code is that it found no way to log in, or to STARTTLS.
  if (code === '' && isTls) return IMAP_REFUSALS.noTlsOffered
  if (
    memberOf(error, 'authenticationFailed') === true ||
    /authentication mech/.test(messageOf(error))
  )
    return IMAP_REFUSALS.noLoginOffered
  // The guarded egress names the system's error apart.
  return textOf(error, 'systemCode') ?? (code === '' ? 'EPROTOCOL' : code)
}

function replyOf(error: unknown): ImapReply | undefined {
  const status = textOf(error, 'responseStatus')
  const response = memberOf(error, 'response')
  if (status !== 'NO' && status !== 'BAD') {
    // Exchange lets in, and says at the next command that it has not.
    const isLate = memberOf(error, 'authenticationFailed') === true && typeof response === 'string'
    return isLate ? { status: 'BAD', text: `BAD ${response}` } : undefined
  }
  const code = textOf(error, 'serverResponseCode') ?? codeOf(response)
  const words = textOf(error, 'responseText') ?? ''
  const isWhole = typeof response === 'string' && / (NO|BAD)( |$)/.test(response)
  return {
    status,
    ...(code === undefined ? {} : { code: code.toUpperCase() }),
    text: isWhole
      ? response.replace(/^\S+ /, '').trim()
      : [status, ...(code === undefined ? [] : [`[${code}]`]), words].join(' ').trim(),
  }
}

/** Of a parsed response: its first attribute holds what stands in brackets. */
function codeOf(response: unknown): string | undefined {
  const attributes = memberOf(response, 'attributes')
  const section = Array.isArray(attributes) ? memberOf(attributes[0], 'section') : undefined
  return Array.isArray(section) ? textOf(section[0], 'value') : undefined
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function textOf(of: unknown, name: string): string | undefined {
  const value = memberOf(of, name)
  return typeof value === 'string' && value !== '' ? value : undefined
}

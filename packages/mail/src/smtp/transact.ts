/**
 * One mail transaction (RFC 5321 §3.3): MAIL, RCPT, DATA, message, dot.
 *
 * With PIPELINING the first three go out at once (RFC 2920), and their answers are all read before
 * the outcome is told: the first refusal is the one that counts. After a refusal at RCPT or DATA the
 * server still holds half a transaction, so that RSET follows: whether the connection is fit for
 * another message is then known and not hoped for. Half a message cannot be taken back, nor can the
 * permission to send one: where either stands open the connection is given up.
 */
import { type Dialogue, DONE, type Input, isLost, say } from './dialogue.ts'
import {
  failureOfReply,
  type SmtpFailure,
  type SmtpReply,
  type SmtpStage,
  toSmtpReply,
} from './failure.ts'

export interface TransactOptions {
  /** The commands, without their line ends. */
  readonly mail: string
  readonly rcpt: string
  readonly isPipelined: boolean
  /** What is left to write once the caller has agreed: the rest of the last line and the dot. */
  readonly endOfData: string
}

export type Transacted =
  | { readonly kind: 'accepted'; readonly reply: SmtpReply; readonly keepsConnection: true }
  | {
      readonly kind: 'failed'
      readonly phase: 'before-dot' | 'after-dot'
      readonly failure: SmtpFailure
      readonly keepsConnection: boolean
      /** The connection was gone, or about to go, before anything was heard. */
      readonly isUnheard: boolean
    }

/** For what only tells whether the connection can go on. */
const SETTLE_TIMEOUT_MS = 5_000
const QUIT_TIMEOUT_MS = 2_000
const CLOSING = 421

export function* transact(o: TransactOptions): Dialogue<Transacted> {
  const refused = yield* sayEnvelope(o)
  if (refused !== undefined) return refused
  // How long these may take depends on the message and on the caller: the attempt's deadline alone.
  const timeoutMs = Number.POSITIVE_INFINITY
  for (const until of ['body-sent', 'agreed'] as const) {
    const input = yield { stage: 'data', until, timeoutMs }
    // A server that answers a message which has no end yet has not taken it, whatever it says.
    if (input !== DONE) return failed('before-dot', failureOf('data', input))
  }
  const input = yield { ...say('dot', o.endOfData), isEndOfData: true }
  if (input !== DONE && !isLost(input) && input.code < 300)
    return { kind: 'accepted', reply: toSmtpReply(input), keepsConnection: true }
  const failure = failureOf('dot', input)
  const isRefusal = failure.reply !== undefined && failure.reply.code !== CLOSING
  return failed('after-dot', failure, { keepsConnection: isRefusal })
}

/** Undefined when the server waits for the message. */
function* sayEnvelope(o: TransactOptions): Dialogue<Transacted | undefined> {
  const lines = [`${o.mail}\r\n`, `${o.rcpt}\r\n`, 'DATA\r\n']
  let refusal: SmtpFailure | undefined
  for (const [i, stage] of (['mail', 'rcpt', 'data'] as const).entries()) {
    if (refusal !== undefined && !o.isPipelined) break
    const atOnce = i === 0 ? lines.join('') : undefined
    const step = say(stage, o.isPipelined ? atOnce : lines[i])
    const input = yield refusal === undefined ? step : { ...step, timeoutMs: SETTLE_TIMEOUT_MS }
    if (input === DONE || isLost(input)) {
      const isUnheard = stage === 'mail' && input !== DONE && input.systemCode !== 'ETIMEDOUT'
      return failed('before-dot', refusal ?? failureOf(stage, input), { isUnheard })
    }
    if (stage === 'data' ? input.code === 354 : input.code < 300) {
      if (stage !== 'data' || refusal === undefined) continue
      // It waits for a message that nobody is to get: no end of data may be sent here.
      return failed('before-dot', refusal)
    }
    refusal ??= failureOfReply(stage, input)
    const isUnheard = stage === 'mail' && input.code === CLOSING
    if (input.code === CLOSING || input.code < 400)
      return failed('before-dot', refusal, { isUnheard })
  }
  return refusal === undefined ? undefined : yield* settle(refusal)
}

function* settle(refusal: SmtpFailure): Dialogue<Transacted> {
  if (refusal.stage === 'mail') return failed('before-dot', refusal, { keepsConnection: true })
  const { stage } = refusal
  const answer = yield { stage, write: 'RSET\r\n', until: 'reply', timeoutMs: SETTLE_TIMEOUT_MS }
  const keepsConnection = answer !== DONE && !isLost(answer) && answer.code < 300
  return failed('before-dot', refusal, { keepsConnection })
}

/** The last word on a connection that is no longer needed. */
export function* quit(): Dialogue<void> {
  yield { stage: 'mail', write: 'QUIT\r\n', until: 'reply', timeoutMs: QUIT_TIMEOUT_MS }
}

function failureOf(stage: SmtpStage, input: Input): SmtpFailure {
  if (input === DONE) throw new Error('only a message is told to be done')
  return isLost(input) ? { stage, ...input } : failureOfReply(stage, input)
}

function failed(
  phase: 'before-dot' | 'after-dot',
  failure: SmtpFailure,
  o: { readonly keepsConnection?: boolean; readonly isUnheard?: boolean } = {},
): Transacted {
  const { keepsConnection = false, isUnheard = false } = o
  return { kind: 'failed', phase, failure, keepsConnection, isUnheard }
}

/**
 * A session over an open connection: refuses what the server would refuse for sure, runs one
 * transaction at a time and says whether the connection is fit for another.
 */
import type { Capabilities } from './capabilities.ts'
import { envelopeOf } from './envelope.ts'
import type { SmtpFailure } from './failure.ts'
import { createMessageSource } from './message-source.ts'
import type { LoginRedactor } from './redact-login.ts'
import type { SmtpResult, SmtpSession } from './session.ts'
import { quit, transact } from './transact.ts'
import type { Wire } from './wire.ts'

const QUIT_TIMEOUT_MS = 2_000

export function createSession(
  wire: Wire,
  capabilities: Capabilities,
  redactor: LoginRedactor,
): SmtpSession {
  let sent = 0
  let isBusy = false
  let isClosed = false

  const refuse = (failure: SmtpFailure): SmtpResult => ({
    kind: 'failed',
    phase: 'before-dot',
    failure,
    sessionUsable: session.isUsable,
    isStale: false,
  })

  const session: SmtpSession = {
    capabilities,
    async send(o) {
      if (isBusy) throw new Error('a session carries one transaction at a time')
      const envelope = envelopeOf(o, capabilities)
      if ('stage' in envelope) return refuse(envelope)
      isBusy = true
      const isFirst = sent === 0
      sent += 1
      const message = createMessageSource(o)
      const { mail, rcpt } = envelope
      const isPipelined = capabilities.hasPipelining
      const transaction = transact({ mail, rcpt, isPipelined, endOfData: message.endOfData })
      const end = await wire.run(transaction, {
        deadlineAt: o.deadlineAt,
        timeoutMessage: 'Timeout: no answer in time',
        message,
      })
      if (!end.keepsConnection) wire.destroy()
      isBusy = false
      if (end.kind === 'accepted') return { kind: 'accepted', reply: redactor.reply(end.reply) }
      return {
        kind: 'failed',
        phase: end.phase,
        failure: redactor.failure(end.failure),
        sessionUsable: session.isUsable,
        isStale: end.isUnheard && !isFirst,
      }
    },
    close() {
      if (isClosed) return
      isClosed = true
      if (isBusy || !wire.isAlive) return wire.destroy()
      const deadlineAt = performance.now() + QUIT_TIMEOUT_MS
      void wire.run(quit(), { deadlineAt, timeoutMessage: 'Timeout' }).finally(() => wire.destroy())
    },
    get isUsable() {
      return !isClosed && !isBusy && wire.isAlive
    },
    get sent() {
      return sent
    },
  }
  return session
}

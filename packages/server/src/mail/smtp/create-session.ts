/**
 * A session over an open connection: refuses what the server would refuse for sure, runs one
 * transaction at a time and says whether the connection is fit for another.
 *
 * After a refusal at RCPT or DATA the server still holds half a transaction, so RSET goes out before
 * the result is given back: `sessionUsable` is then known and not hoped for.
 */
import type { Capabilities } from './capabilities.ts'
import type { SmtpConnection } from './connection.ts'
import { LOCAL_REFUSALS, type SmtpFailure } from './failure.ts'
import type { LoginRedactor } from './redact-login.ts'
import type { SendOptions, SmtpResult, SmtpSession } from './session.ts'
import { transmit } from './transmit.ts'

const QUIT_TIMEOUT_MS = 2_000
const RESET_TIMEOUT_MS = 5_000
/** RFC 5321 §4.1.2 leaves no room for these in a path; the parser of addresses lets none through. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
const NOT_IN_A_PATH = /[\u0000-\u0020\u007f<>]/

export function createSession(
  connection: SmtpConnection,
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
    async send(o) {
      if (isBusy) throw new Error('a session carries one transaction at a time')
      const refusal = refusalOf(o, capabilities)
      if (refusal !== undefined) return refuse(refusal)
      isBusy = true
      const isFirst = sent === 0
      sent += 1
      const result = await transmit(connection, o)
      if (result.kind === 'accepted') {
        isBusy = false
        return { ...result, reply: redactor.reply(result.reply) }
      }
      const { failure } = result
      const needsReset = failure.stage === 'rcpt' || failure.stage === 'data'
      if (result.sessionUsable && needsReset) await reset(connection, o.deadlineAt)
      isBusy = false
      return {
        ...result,
        failure: redactor.failure(failure),
        sessionUsable: result.sessionUsable && session.isUsable,
        isStale: result.isStale && !isFirst,
      }
    },
    close() {
      if (isClosed) return
      isClosed = true
      if (isBusy || !connection.isAlive) return connection.destroy()
      connection.wire.quit()
      setTimeout(() => connection.destroy(), QUIT_TIMEOUT_MS).unref()
    },
    get isUsable() {
      return !isClosed && !isBusy && connection.isAlive
    },
    get sent() {
      return sent
    },
  }
  return session
}

function refusalOf(o: SendOptions, capabilities: Capabilities): SmtpFailure | undefined {
  const { messageBytesMax, hasSmtpUtf8 } = capabilities
  if (NOT_IN_A_PATH.test(o.from) || NOT_IN_A_PATH.test(o.to) || o.to === '')
    return {
      stage: 'mail',
      systemCode: LOCAL_REFUSALS.invalidAddress,
      message: 'An envelope address holds characters that no address may hold',
    }
  if (messageBytesMax !== undefined && o.message.length > messageBytesMax)
    return {
      stage: 'mail',
      systemCode: LOCAL_REFUSALS.tooLarge,
      message: `Message of ${o.message.length} bytes; the server takes ${messageBytesMax}`,
    }
  if (o.smtpUtf8 && !hasSmtpUtf8)
    return {
      stage: 'mail',
      systemCode: LOCAL_REFUSALS.needsSmtpUtf8,
      message: 'The server does not offer SMTPUTF8',
    }
  return undefined
}

function reset(connection: SmtpConnection, deadlineAt: number): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      connection.whenLost(undefined)
      resolve()
    }
    const giveUp = () => {
      connection.destroy()
      done()
    }
    const timeoutMs = Math.min(RESET_TIMEOUT_MS, Math.max(0, deadlineAt - Date.now()))
    const timer = setTimeout(giveUp, timeoutMs)
    connection.whenLost(done)
    connection.wire.reset((error) => (error === null ? done() : giveUp()))
  })
}

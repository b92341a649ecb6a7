/**
 * One mail transaction over an open connection (RFC 5321 §3.3): MAIL, RCPT, DATA, message, dot.
 *
 * The outcome is settled once, by whichever comes first: nodemailer's callback, the loss of the
 * connection, the deadline, or a caller that does not want the dot written after all. Whatever ends
 * in the middle of the message destroys the connection, for half a message cannot be taken back.
 */
import { isAscii } from 'node:buffer'
import type { SmtpConnection } from './connection.ts'
import {
  failureOf,
  LOCAL_REFUSALS,
  type SmtpFailure,
  type SmtpStage,
  stageOfCommand,
  toReply,
} from './failure.ts'
import { MessageBody } from './message-body.ts'
import type { SendOptions, SmtpResult } from './session.ts'

export function transmit(connection: SmtpConnection, o: SendOptions): Promise<SmtpResult> {
  const { wire } = connection
  return new Promise((resolve) => {
    let isSettled = false
    const settle = (result: SmtpResult, keepsConnection: boolean) => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      connection.whenLost(undefined)
      if (!keepsConnection) connection.destroy()
      resolve(result)
    }

    const fail = (failure: SmtpFailure) => {
      const phase = body.hasReleasedDot ? 'after-dot' : 'before-dot'
      const isMidMessage = body.hasStarted && !body.hasReleasedDot
      const isOrderly = failure.reply !== undefined && failure.reply.code !== 421
      const sessionUsable = isOrderly && !isMidMessage && connection.isAlive
      const heardNothing = wire.lastServerResponse === false
      const isClosing = failure.stage === 'mail' && failure.reply?.code === 421
      const isStale = failure.systemCode !== 'ETIMEDOUT' && (heardNothing || isClosing)
      settle({ kind: 'failed', phase, failure, sessionUsable, isStale }, sessionUsable)
    }

    const stage = (error?: unknown): SmtpStage => {
      if (body.hasReleasedDot) return 'dot'
      if (body.hasStarted) return 'data'
      const refused = stageOfCommand(error)
      if (refused !== undefined) return refused
      // A 421 that answers neither MAIL nor DATA of a pipelined envelope answers RCPT.
      return wire.lastServerResponse === false ? 'mail' : 'rcpt'
    }

    const body = new MessageBody({
      message: o.message,
      socket: connection.socket,
      mayStart() {
        if (toReply(wire.lastServerResponse || undefined)?.code === 354) return true
        fail(nonsense('data', wire.lastServerResponse))
        return false
      },
      beforeFinalDot: o.beforeFinalDot,
      afterFinalDot: o.afterFinalDot,
      onAbort(error) {
        const message = error instanceof Error ? error.message : String(error)
        fail({ stage: 'data', systemCode: LOCAL_REFUSALS.callerAborted, message })
      },
    })

    const onTimeout = () =>
      fail({ stage: stage(), systemCode: 'ETIMEDOUT', message: 'Timeout: no answer in time' })
    const timer = setTimeout(onTimeout, Math.max(0, o.deadlineAt - Date.now()))
    connection.whenLost((error) => fail(failureOf(error, stage(error))))

    // Tells a connection that died unnoticed from one that answered: see `isStale`.
    wire.lastServerResponse = false
    connection.askForSmtpUtf8(o.smtpUtf8)
    const envelope = {
      from: o.from,
      to: [o.to],
      size: o.message.length,
      use8BitMime: o.smtpUtf8 || !isAscii(o.message),
    }
    wire.send(envelope, body, (error, info) => {
      if (error !== null) return fail(failureOf(error, stage(error)))
      const reply = toReply(info?.response)
      if (reply === undefined || reply.code >= 300 || !body.hasReleasedDot)
        return fail(nonsense(stage(), info?.response))
      settle({ kind: 'accepted', reply }, true)
    })
  })
}

function nonsense(stage: SmtpStage, response: string | false | undefined): SmtpFailure {
  const message = `Unexpected response: ${String(response || '').replace(/\r?\n/g, ' ')}`
  return { stage, systemCode: 'EPROTOCOL', message }
}

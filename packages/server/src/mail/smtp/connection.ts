/**
 * nodemailer's SMTPConnection with its life made observable.
 *
 * nodemailer reports the end of a connection in three ways (an `error` event, an `end` event, the
 * callback of the command in flight), and some commands in flight are never told at all. Here there
 * is one: `whenLost`. nodemailer asks for SMTPUTF8 by the addresses of the envelope alone; here it
 * is asked for when the caller says so. Both the plain and the TLS socket keep an error listener for good, so that
 * nothing a peer does after we let go becomes an unhandled error.
 */
import type { Socket } from 'node:net'
import SMTPConnection from 'nodemailer/lib/smtp-connection'

export interface SmtpConnection {
  readonly wire: SMTPConnection
  readonly isAlive: boolean
  readonly socket: () => Socket | undefined
  /** Sets who is told that the connection is gone; one listener at a time. */
  whenLost(listener: ((error: unknown) => void) | undefined): void
  /** From now on MAIL asks for SMTPUTF8, whatever its envelope looks like; or no longer does. */
  askForSmtpUtf8(isAsked: boolean): void
  /** Drops both sockets at once, without a word. */
  destroy(): void
}

export function createConnection(
  socket: Socket,
  options: ConstructorParameters<typeof SMTPConnection>[0],
): SmtpConnection {
  const wire = new SMTPConnection({ ...options, connection: socket })
  let lost: { readonly error: unknown } | undefined
  let listener: ((error: unknown) => void) | undefined
  const lose = (error: unknown) => {
    lost ??= { error }
    listener?.(lost.error)
  }
  let isUtf8Asked = false
  const writer = wire as unknown as CommandWriter
  const write = writer._sendCommand.bind(wire)
  writer._sendCommand = (command, logged) =>
    write(isUtf8Asked ? withSmtpUtf8(command) : command, logged)
  socket.on('error', ignore)
  wire.on('error', lose)
  // Some failures end the connection first and tell the command in flight afterwards.
  wire.on('end', () => setImmediate(() => lose(new Error('Connection closed unexpectedly'))))
  return {
    wire,
    get isAlive() {
      const current = currentSocket(wire)
      return lost === undefined && !wire.destroyed && current?.writable === true
    },
    socket: () => currentSocket(wire),
    whenLost(next) {
      listener = next
      if (lost !== undefined) next?.(lost.error)
    },
    askForSmtpUtf8(isAsked) {
      isUtf8Asked = isAsked
    },
    destroy() {
      const current = currentSocket(wire)
      current?.on('error', ignore)
      wire.close()
      current?.destroy()
      socket.destroy()
    },
  }
}

/** The method through which nodemailer writes every command. */
interface CommandWriter {
  _sendCommand(command: string, logged?: string): void
}

function withSmtpUtf8(command: string): string {
  const isMail = command.startsWith('MAIL FROM:')
  return isMail && !/> (.* )?SMTPUTF8( |$)/.test(command) ? `${command} SMTPUTF8` : command
}

function currentSocket(wire: SMTPConnection): Socket | undefined {
  return wire._socket || undefined
}

function ignore(): void {
  // the connection is already given up; its last words change nothing
}

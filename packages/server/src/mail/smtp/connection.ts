/**
 * nodemailer's SMTPConnection with its life made observable.
 *
 * nodemailer reports the end of a connection in three ways (an `error` event, an `end` event, the
 * callback of the command in flight), and some commands in flight are never told at all. Here there
 * is one: `whenLost`. Both the plain and the TLS socket keep an error listener for good, so that
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
    destroy() {
      const current = currentSocket(wire)
      current?.on('error', ignore)
      wire.close()
      current?.destroy()
      socket.destroy()
    },
  }
}

function currentSocket(wire: SMTPConnection): Socket | undefined {
  return wire._socket || undefined
}

function ignore(): void {
  // the connection is already given up; its last words change nothing
}

/**
 * The bytes of one message on their way into nodemailer's DATA stream, which stuffs dots and, when
 * it is ended, writes the final dot.
 *
 * nodemailer only asks of a message that it can be piped, so `pipe` pushes the prebuilt buffer
 * itself instead of going through a second stream's buffers. The end is withheld until
 * `beforeFinalDot` has resolved; the CRLF before the dot stays back with it where the stream would
 * write it anyway. A large message is flushed into the socket first, so that the caller does not
 * commit to a dot that is still megabytes away.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable, Transform } from 'node:stream'
import { setImmediate } from 'node:timers/promises'

const CHUNK_BYTES = 65_536
const CR = 0x0d
const LF = 0x0a

export interface MessageBodyOptions {
  readonly message: Buffer
  readonly socket: () => Socket | undefined
  /** False when the server has not asked for the message; nothing is written then. */
  readonly mayStart: () => boolean
  readonly beforeFinalDot: () => Promise<void>
  readonly afterFinalDot?: (() => void) | undefined
  readonly onAbort: (error: unknown) => void
}

export class MessageBody extends Readable {
  hasStarted = false
  /** From here on the server may hold the whole message. */
  hasReleasedDot = false
  readonly #o: MessageBodyOptions

  constructor(o: MessageBodyOptions) {
    super({ autoDestroy: false, emitClose: false })
    this.#o = o
  }

  override _read(): void {
    this.push(null)
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.hasStarted = true
    this.#run(destination).catch(this.#o.onAbort)
    return destination
  }

  async #run(destination: NodeJS.WritableStream): Promise<void> {
    if (!this.#o.mayStart()) return
    const { message, beforeFinalDot } = this.#o
    const heldBytes = endOfLastLine(message)
    const end = message.length - heldBytes
    for (let at = 0; at < end; at += CHUNK_BYTES) {
      const hasRoom = destination.write(message.subarray(at, Math.min(end, at + CHUNK_BYTES)))
      if (!hasRoom) await once(destination, 'drain')
      if (this.destroyed) return
    }
    if (end > CHUNK_BYTES) await this.#flush(destination)
    if (this.destroyed) return
    await beforeFinalDot()
    if (this.destroyed) return
    this.hasReleasedDot = true
    // The stream adds the missing line end in the same write as the dot, unless the message ends
    // with an empty line, which it would swallow.
    if (heldBytes > 0 && isLineEnd(message[end - 1])) destination.end(message.subarray(end))
    else destination.end()
    if (this.#o.afterFinalDot === undefined) return
    // The stream's bytes reach the socket before the loop turns to what the socket has received.
    await setImmediate()
    this.#o.afterFinalDot()
  }

  async #flush(destination: NodeJS.WritableStream): Promise<void> {
    const socket = this.#o.socket()
    if (socket === undefined || !(destination instanceof Transform)) return
    while (!this.destroyed && (destination.readableLength > 0 || socket.writableNeedDrain)) {
      if (socket.writableNeedDrain) await once(socket, 'drain')
      else await setImmediate()
    }
  }
}

function endOfLastLine(message: Buffer): number {
  const { length } = message
  return length >= 2 && message[length - 2] === CR && message[length - 1] === LF ? 2 : 0
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === LF || byte === CR
}

/**
 * The bytes of one message on their way into the socket, and the caller's word on its end.
 *
 * All but the last line end and the dot goes out in pieces, each checked and dot-stuffed, the next
 * one when the socket has taken the one before. A message of several pieces is in the kernel's hands
 * before the caller is asked, so that nobody commits to a dot that is still megabytes away.
 */
import type { Socket } from 'node:net'
import { DONE } from './dialogue.ts'
import { LOCAL_REFUSALS, type Lost } from './failure.ts'
import type { SendOptions } from './session.ts'
import { createDotStuffer } from './stuff-dots.ts'

export interface MessageSource {
  /** What is written once the caller has agreed. */
  readonly endOfData: string
  readonly afterFinalDot: (() => void) | undefined
  send(socket: Socket, tell: (input: Lost | typeof DONE) => void): void
  agree(tell: (input: Lost | typeof DONE) => void): void
}

const CHUNK_BYTES = 65_536
const CR = 0x0d
const LF = 0x0a

export function createMessageSource({
  message,
  beforeFinalDot,
  afterFinalDot,
}: Pick<SendOptions, 'message' | 'beforeFinalDot' | 'afterFinalDot'>): MessageSource {
  const bodyBytes = message.length - (endsLine(message) ? 2 : 0)
  return {
    endOfData: message.length === 0 ? '.\r\n' : '\r\n.\r\n',
    afterFinalDot,
    send(socket, tell) {
      const stuffer = createDotStuffer()
      const isLarge = bodyBytes > CHUNK_BYTES
      const sendFrom = (from: number) => {
        const to = Math.min(bodyBytes, from + CHUNK_BYTES)
        const piece = stuffer.take(message.subarray(from, to))
        const isLast = to === bodyBytes
        if (piece === undefined || (isLast && !stuffer.isWhole)) return tell(UNFIT)
        if (!isLarge) {
          // A caller who agrees within this turn of the loop has the dot leave in the same write.
          socket.cork()
          if (piece.length > 0) socket.write(piece)
          setImmediate(uncork, socket)
          return tell(DONE)
        }
        socket.write(piece, (error) => {
          // A socket that fails tells of it itself.
          if (error !== null && error !== undefined) return
          if (isLast) tell(DONE)
          else setImmediate(sendFrom, to)
        })
      }
      sendFrom(0)
    },
    agree(tell) {
      const abort = (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error)
        tell({ systemCode: LOCAL_REFUSALS.callerAborted, message })
      }
      try {
        beforeFinalDot().then(() => tell(DONE), abort)
      } catch (error) {
        abort(error)
      }
    },
  }
}

function uncork(socket: Socket): void {
  socket.uncork()
}

const UNFIT: Lost = {
  systemCode: LOCAL_REFUSALS.invalidMessage,
  message: 'The message has a lone CR or LF, or a NUL',
}

function endsLine(message: Buffer): boolean {
  const { length } = message
  return length >= 2 && message[length - 2] === CR && message[length - 1] === LF
}

/**
 * Takes a `100 Continue` that nobody asked for out of what a connection reads.
 *
 * A client that sent no `Expect` simply discards one (RFC 9110 §15.2.1), and some servers send it
 * with every POST; undici ends the connection instead, and has no switch for it. Of each answer only
 * what stands before the final one is looked at: an answer begins where something was written since
 * the last read, as requests are not pipelined. Whatever is no such header block, too long, or too
 * often there passes as it came, and is the parser's to judge.
 */
import type { Socket } from 'node:net'

const STATUS_LINE = /^HTTP\/1\.[01] 100[ \r]/
const STATUS_LINE_BYTES = 'HTTP/1.1 100 '.length
const BLOCK_BYTES_MAX = 4 * 1024
const BLOCKS_MAX = 20
const NOTHING = Buffer.alloc(0)

/** Of a socket that is read by `read()` without a size, from now on. */
export function skipContinues(socket: Socket): void {
  const read = socket.read.bind(socket)
  let writtenBefore = -1
  let isBefore = false
  let blocks = 0
  let held: Buffer = NOTHING

  /** Null: all of it was taken out, or is held until more of it is there. */
  function pass(chunk: Buffer): Buffer | null {
    let rest = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    held = NOTHING
    while (mayBeContinue(rest) && blocks < BLOCKS_MAX) {
      const end = rest.indexOf('\r\n\r\n')
      if ((end === -1 ? rest.length : end) > BLOCK_BYTES_MAX) break
      if (end === -1) {
        held = rest
        return null
      }
      blocks += 1
      rest = rest.subarray(end + 4)
      if (rest.length === 0) return null
    }
    isBefore = false
    return rest
  }

  socket.read = (size?: number): unknown => {
    const chunk: unknown = read(size)
    if (!Buffer.isBuffer(chunk)) return chunk
    if (socket.bytesWritten !== writtenBefore) {
      writtenBefore = socket.bytesWritten
      isBefore = true
      blocks = 0
      held = NOTHING
    }
    return isBefore ? pass(chunk) : chunk
  }
}

function mayBeContinue(bytes: Buffer): boolean {
  const line = bytes.toString('latin1', 0, STATUS_LINE_BYTES)
  if (line.length === STATUS_LINE_BYTES) return STATUS_LINE.test(line)
  return 'HTTP/1.1 100 '.startsWith(line) || 'HTTP/1.0 100 '.startsWith(line)
}

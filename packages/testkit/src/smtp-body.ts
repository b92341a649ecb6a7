/**
 * Finds the end of SMTP data in a stream of chunks and undoes the dot-stuffing (RFC 5321 §4.5.2).
 * Only CRLF.CRLF ends it: a lone LF or CR around the dot is part of the message.
 */
export interface BodyReader {
  /**
   * Takes bytes; answers how many of them belonged to the message and its end, or -1 when all of
   * them did and the end is still to come.
   */
  take(chunk: Buffer): number
  /** The message, once `take` found its end. Empty when the bytes are not kept. */
  message(): Buffer
  bytes(): number
}

const END = Buffer.from('\r\n.\r\n')
/** The line end of the DATA command counts: a message may be empty. */
const START = Buffer.from('\r\n')

export function createBodyReader(keepBytes: boolean): BodyReader {
  let parts: Buffer[] = []
  let size = 0
  // The last bytes so far, in which an end may have begun.
  let tail: Buffer = START
  const keep = (part: Buffer): void => {
    size += part.length
    if (keepBytes && part.length > 0) parts.push(part)
  }
  return {
    take(chunk) {
      const seam = Buffer.concat([tail, chunk.subarray(0, END.length - 1)])
      const atSeam = seam.indexOf(END)
      const at = atSeam < 0 ? chunk.indexOf(END) : -1
      if (atSeam < 0 && at < 0) {
        keep(chunk)
        tail =
          chunk.length >= END.length - 1
            ? Buffer.from(chunk.subarray(chunk.length - END.length + 1))
            : Buffer.from(Buffer.concat([tail, chunk]).subarray(-END.length + 1))
        return -1
      }
      const used = (atSeam < 0 ? at : atSeam - tail.length) + END.length
      keep(chunk.subarray(0, used))
      return used
    },
    message() {
      // The dot's own line goes; the CRLF before it is the message's, save for an empty message.
      const all = parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
      parts = []
      return unstuff(all.subarray(0, Math.max(0, all.length - 3)))
    },
    bytes: () => size,
  }
}

function unstuff(message: Buffer): Buffer {
  const pieces: Buffer[] = []
  let from = message[0] === DOT ? 1 : 0
  for (;;) {
    const at = message.indexOf('\r\n.', from)
    if (at < 0) break
    pieces.push(message.subarray(from, at + 2))
    from = at + 3
  }
  if (pieces.length === 0) return Buffer.from(message.subarray(from))
  return Buffer.concat([...pieces, message.subarray(from)])
}

const DOT = '.'.charCodeAt(0)

/**
 * The bytes between DATA and the final dot (RFC 5321 §4.5.2): a dot at the beginning of a line is
 * doubled, in chunks of any size, and what could end the message early for a server that reads
 * sloppily never leaves: a CR or LF on its own, or a NUL (SMTP smuggling). Pure.
 */
export interface DotStuffer {
  /** The bytes to send for this chunk; undefined when the message may not be sent. */
  take(chunk: Buffer): Buffer | undefined
  /** The message may end here: it does not end with half a line end. */
  readonly isWhole: boolean
}

const NUL = 0x00
const LF = 0x0a
const CR = 0x0d
const DOT = 0x2e

export function createDotStuffer(): DotStuffer {
  let isLineStart = true
  let isAfterCr = false

  return {
    take(chunk) {
      const { length } = chunk
      let dots: number[] | undefined
      let at = 0
      if (isAfterCr && length > 0) {
        if (chunk[0] !== LF) return undefined
        isAfterCr = false
        isLineStart = true
        at = 1
      }
      if (isLineStart && at < length) {
        isLineStart = false
        if (chunk[at] === DOT) {
          dots = [at]
          at += 1
        }
      }
      for (; at < length; at += 1) {
        const byte = chunk[at] ?? NUL
        if (byte >= DOT) continue
        if (byte === LF || byte === NUL) return undefined
        if (byte !== CR) continue
        at += 1
        if (at === length) isAfterCr = true
        else if (chunk[at] !== LF) return undefined
        else if (at + 1 === length) isLineStart = true
        else if (chunk[at + 1] === DOT) {
          at += 1
          dots ??= []
          dots.push(at)
        }
      }
      return dots === undefined ? chunk : withDots(chunk, dots)
    },
    get isWhole() {
      return !isAfterCr
    },
  }
}

function withDots(chunk: Buffer, dots: readonly number[]): Buffer {
  const stuffed = Buffer.allocUnsafe(chunk.length + dots.length)
  let from = 0
  let to = 0
  for (const dot of dots) {
    to += chunk.copy(stuffed, to, from, dot)
    stuffed[to] = DOT
    to += 1
    from = dot
  }
  chunk.copy(stuffed, to, from)
  return stuffed
}

/**
 * Reads a server's replies out of the bytes as they come (RFC 5321 §4.2): pure, and the same for
 * any way in which the bytes are cut into chunks.
 *
 * A reply is one or more lines of one code. A line ends with LF, with or without a CR before it,
 * since some servers forget it and nothing hangs on it in this direction. Whatever breaks the form
 * or a limit is a fault, and after a fault nothing is read any more: what the peer says then could
 * be anything.
 */
import { isUtf8 } from 'node:buffer'

export interface Reply {
  readonly code: number
  /** As received, codes kept, without line ends. Bytes that are no UTF-8 are read as Latin-1. */
  readonly lines: readonly string[]
}

export interface ReplyFault {
  readonly fault: string
}

export interface ReplyParser {
  push(chunk: Buffer): void
  /** The next whole reply; undefined when it takes more bytes. */
  next(): Reply | ReplyFault | undefined
  /** Nothing is left over: no byte of a further reply has come. */
  readonly isEmpty: boolean
}

/** RFC 5321 §4.5.3.1.5 has lines of 512 bytes; real servers write some that are longer. */
export const REPLY_LIMITS = { lineBytesMax: 8_192, linesMax: 256, bytesMax: 65_536 } as const

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const HYPHEN = 0x2d
const NOTHING = Buffer.alloc(0)
const SHOWN_CHARS = 200

export function createReplyParser(limits: typeof REPLY_LIMITS = REPLY_LIMITS): ReplyParser {
  let input: Buffer = NOTHING
  /** Where the next line begins. */
  let at = 0
  /** Up to here the line is known to have no end. */
  let searchedTo = 0
  let code = 0
  let lines: string[] = []
  let bytes = 0
  let fault: ReplyFault | undefined

  const fail = (text: string): ReplyFault => {
    fault = { fault: text }
    input = NOTHING
    return fault
  }

  return {
    push(chunk) {
      if (fault !== undefined) return
      const rest = input.length - at
      input = rest === 0 ? chunk : Buffer.concat([input.subarray(at), chunk])
      searchedTo -= at
      at = 0
    },
    next() {
      while (fault === undefined) {
        const end = input.indexOf(LF, searchedTo)
        const lineBytes = (end < 0 ? input.length : end) - at
        if (lineBytes > limits.lineBytesMax) return fail('a line of the reply is too long')
        if (end < 0) {
          searchedTo = input.length
          return undefined
        }
        bytes += lineBytes + 1
        if (bytes > limits.bytesMax || lines.length === limits.linesMax)
          return fail('the reply is too long')
        const lineEnd = lineBytes > 0 && input[end - 1] === CR ? end - 1 : end
        const lineCode = codeAt(input, at, lineEnd)
        if (lineCode === 0 || (lines.length > 0 && lineCode !== code))
          return fail(`Unexpected response: ${shown(textAt(input, at, lineEnd))}`)
        code = lineCode
        lines.push(textAt(input, at, lineEnd))
        const isLast = lineEnd - at === 3 || input[at + 3] === SPACE
        at = end + 1
        searchedTo = at
        if (!isLast) continue
        const reply = { code, lines }
        lines = []
        bytes = 0
        return reply
      }
      return fault
    },
    get isEmpty() {
      return at === input.length && lines.length === 0
    },
  }
}

/** 0 where no line of a reply begins. */
function codeAt(input: Buffer, at: number, end: number): number {
  if (end - at < 3) return 0
  if (end - at > 3 && input[at + 3] !== SPACE && input[at + 3] !== HYPHEN) return 0
  const [first, second, third] = [
    digitAt(input, at),
    digitAt(input, at + 1),
    digitAt(input, at + 2),
  ]
  if (first < 2 || first > 5 || second < 0 || third < 0) return 0
  return first * 100 + second * 10 + third
}

function digitAt(input: Buffer, at: number): number {
  const digit = (input[at] ?? 0) - 0x30
  return digit >= 0 && digit <= 9 ? digit : -1
}

function textAt(input: Buffer, at: number, end: number): string {
  const line = input.subarray(at, end)
  return line.toString(isUtf8(line) ? 'utf8' : 'latin1')
}

function shown(text: string): string {
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text
}

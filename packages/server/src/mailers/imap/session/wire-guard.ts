/**
 * Bounds what an IMAP server may say, before any of it is parsed (RFC 3501 §4, §7).
 *
 * The guard reads the same lines and literals as the parser behind it, byte for byte, and looks only at
 * where they end and how they begin. A response is short, literals included, but for two things: the
 * content of a message where a FETCH names one, and the numbers of a SEARCH. What is left costs the parser
 * a few milliseconds at most (docs/adr/0022), and `costUs` says how much at most.
 *
 * Invariant: a response that the parser could read as another kind than the guard does is refused.
 */
import { kindOf, numbersIn, type ResponseKind, readsAsNumbers } from './response-kind.ts'

/** The names of the bounds, as they stand in logs, metrics and `provider_error`. */
export const IMAP_BOUNDS = {
  imap_line: 'a line has at most 16384 bytes with its literals, and 256 of those',
  imap_literal: 'the content of a message has at most as many bytes as may be asked for',
  imap_search: 'the answers to a search have at most 524288 bytes, and name at most 40000 messages',
  imap_folders: 'a list of folders has at most 1048576 bytes',
  imap_answer: 'the answers to a command have at most 4194304 bytes, lists of messages 33554432',
  imap_unasked: 'a response that was not asked for is none of this service’s extensions',
  imap_login: 'a server has at most 65536 bytes to say until the login is done',
} as const

export type ImapBound = keyof typeof IMAP_BOUNDS

export interface WireGuard {
  /** The bound that these bytes break, if they do. Called with every piece, in order. */
  inspect(chunk: Buffer): ImapBound | undefined
  /** What reading the last piece costs, at most, in microseconds of CPU. */
  readonly costUs: number
  /** Bytes of a literal that are still to come. */
  readonly literalLeft: number
  /** The login is done. */
  begin(): void
  /** A command begins: its answers have their bounds anew. */
  beginCommand(o: { readonly contentBytesMax: number; readonly isForMessages: boolean }): void
}

const LINE_BYTES_MAX = 16 * 1024
const LITERALS_MAX = 256
const LOGIN_BYTES_MAX = 64 * 1024
const NUMBERS_MAX = 40_000
/** Kept apart: each takes more memory than a byte. */
const PIECES_MAX = 256
const ANSWER_BYTES_MAX: Readonly<Record<ResponseKind, number>> = {
  search: 512 * 1024,
  folders: 1024 * 1024,
  fetch: 32 * 1024 * 1024,
  other: 4 * 1024 * 1024,
}
const BOUND_OF: Readonly<Record<ResponseKind, ImapBound>> = {
  search: 'imap_search',
  folders: 'imap_folders',
  fetch: 'imap_answer',
  other: 'imap_answer',
}

/** Measured: 0.35 µs a byte at most, and a few µs for a response and for a literal. */
const COST_US = {
  piece: 20,
  response: 15,
  literal: 10,
  byte: 0.35,
  number: 0.05,
  content: 0.002,
} as const

/** The end of the line before message content: `BODY[HEADER]<0> {12}`. */
const CONTENT =
  /(?:(?:BODY|BINARY)\[[^\]]*\](?:<\d+>)?|RFC822(?:\.HEADER|\.TEXT)?) ~?\{\d+\}\r?\n$/i
const CONTENT_TAIL_BYTES = 512

const LF = 0x0a
const CR = 0x0d
const OPEN = 0x7b
const CLOSE = 0x7d

export function createWireGuard(): WireGuard {
  const answers = createAnswerBounds()
  const response = createResponseText()
  let isLoggedIn = false
  let loginBytes = 0
  let costUs = 0
  // Of the literal under way.
  let literalLeft = 0
  let isContent = false
  // Of the response under way.
  let contentBytes = 0
  let isSearch = false

  function take(piece: Buffer): ImapBound | undefined {
    response.push(piece)
    if (response.bytes <= LINE_BYTES_MAX) return undefined
    if (!isSearch) isSearch = contentBytes === 0 && kindOf(response.start()).kind === 'search'
    if (!isSearch) return 'imap_line'
    return answers.isSearchTooLong(response.bytes) ? 'imap_search' : undefined
  }

  /** At the end of a line: a literal follows, or the response is over. */
  function endLine(): ImapBound | undefined {
    const line = response.line()
    const size = literalSizeOf(line)
    return size === undefined ? endResponse() : beginLiteral(line, size)
  }

  function beginLiteral(line: Buffer, size: number): ImapBound | undefined {
    literalLeft = size
    response.beginLiteral()
    costUs += COST_US.literal
    if (response.literals > LITERALS_MAX) return 'imap_line'
    isContent = size > 0 && isMessageContent(line)
    if (isContent) {
      contentBytes += size
      return answers.isContentTooLong(contentBytes) ? 'imap_literal' : undefined
    }
    return response.bytes + size > LINE_BYTES_MAX ? 'imap_line' : undefined
  }

  function isMessageContent(line: Buffer): boolean {
    const tail = line.subarray(-CONTENT_TAIL_BYTES).toString('latin1')
    return CONTENT.test(tail) && kindOf(response.start()).kind === 'fetch'
  }

  function endResponse(): ImapBound | undefined {
    const whole = response.joined()
    const isLong = whole.length > LINE_BYTES_MAX
    costUs += COST_US.response + (isLong ? COST_US.number : COST_US.byte) * whole.length
    const broken = answers.add(whole, { contentBytes, isLong })
    response.clear()
    contentBytes = 0
    isSearch = false
    return broken
  }

  /** Up to the end of the literal; answers where that is. */
  function skipLiteral(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + literalLeft)
    literalLeft -= end - from
    if (isContent) costUs += COST_US.content * (end - from)
    else response.append(chunk.subarray(from, end))
    response.beginLine()
    return end
  }

  return {
    get costUs() {
      return costUs
    },
    get literalLeft() {
      return literalLeft
    },
    begin() {
      isLoggedIn = true
    },
    beginCommand: answers.begin,
    inspect(chunk) {
      costUs = COST_US.piece
      if (!isLoggedIn) {
        loginBytes += chunk.length
        if (loginBytes > LOGIN_BYTES_MAX) return 'imap_login'
      }
      for (let at = 0; at < chunk.length; ) {
        if (literalLeft > 0) {
          at = skipLiteral(chunk, at)
          continue
        }
        const found = chunk.indexOf(LF, at)
        const end = found === -1 ? chunk.length : found + 1
        const broken = take(chunk.subarray(at, end)) ?? (found === -1 ? undefined : endLine())
        if (broken !== undefined) return broken
        at = end
      }
      return undefined
    },
  }
}

/** What the answers to one command may hold, and how much of that they have. */
function createAnswerBounds() {
  let contentBytesMax = 0
  let isForMessages = false
  let answered: Record<ResponseKind, number> = { search: 0, folders: 0, fetch: 0, other: 0 }
  let numbers = 0

  return {
    begin(o: { readonly contentBytesMax: number; readonly isForMessages: boolean }): void {
      ;({ contentBytesMax, isForMessages } = o)
      answered = { search: 0, folders: 0, fetch: 0, other: 0 }
      numbers = 0
    },
    isContentTooLong: (contentBytes: number) => contentBytes > contentBytesMax,
    isSearchTooLong: (bytes: number) => answered.search + bytes > ANSWER_BYTES_MAX.search,
    /** A whole response: the bound that it breaks, if it does. */
    add(
      whole: Buffer,
      { contentBytes, isLong }: { readonly contentBytes: number; readonly isLong: boolean },
    ): ImapBound | undefined {
      const { kind, isUnknown } = kindOf(whole)
      answered[kind] += whole.length + contentBytes
      if (isUnknown) return 'imap_unasked'
      if (isLong && !readsAsNumbers(whole)) return 'imap_line'
      if (kind === 'search') {
        numbers += numbersIn(whole)
        if (!(numbers <= NUMBERS_MAX)) return 'imap_search'
      }
      const isBounded = kind !== 'fetch' || !isForMessages
      return isBounded && answered[kind] > ANSWER_BYTES_MAX[kind] ? BOUND_OF[kind] : undefined
    },
  }
}

/** The lines and short literals of the response under way. */
function createResponseText() {
  let pieces: Buffer[] = []
  let bytes = 0
  let lineStart = 0
  let literals = 0

  function joined(): Buffer {
    if (pieces.length > 1) pieces = [Buffer.concat(pieces, bytes)]
    return pieces[0] ?? Buffer.alloc(0)
  }

  function append(piece: Buffer): void {
    pieces.push(piece)
    bytes += piece.length
  }

  return {
    get bytes() {
      return bytes
    },
    get literals() {
      return literals
    },
    append,
    /** Joins the pieces, too, when they are many. */
    push(piece: Buffer): void {
      append(piece)
      if (pieces.length >= PIECES_MAX) joined()
    },
    joined,
    /** From the end of the last literal. */
    line: () => joined().subarray(lineStart),
    beginLine(): void {
      lineStart = bytes
    },
    beginLiteral(): void {
      lineStart = bytes
      literals += 1
    },
    /** Enough to know its kind. */
    start: () => joined().subarray(0, 64),
    clear(): void {
      pieces = []
      bytes = 0
      lineStart = 0
      literals = 0
    },
  }
}

/** `{12}` at the end of a line, exactly as the parser's own reading of it. */
function literalSizeOf(line: Buffer): number | undefined {
  let at = line.length - 2
  if (line[at] === CR) at -= 1
  if (at < 1 || line[at] !== CLOSE) return undefined
  const end = at
  for (at -= 1; at >= 0; at -= 1) {
    const byte = line[at] ?? 0
    if (byte >= 0x30 && byte <= 0x39) continue
    return byte === OPEN && at < end - 1 ? Number(line.toString('latin1', at + 1, end)) : undefined
  }
  return undefined
}

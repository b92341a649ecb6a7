/**
 * What kind a response of an IMAP server is, by how it begins (RFC 3501 §7): enough to know which bound
 * holds for it, and what it makes the parser do.
 *
 * A response whose name follows a number (`* 5 EXISTS`) is one of four; others are refused, for the parser
 * would take their second word for their name however it is quoted. VANISHED (RFC 7162) needs QRESYNC,
 * which is never enabled. ESEARCH (RFC 4731) has ranges that the parser writes out number by number.
 */

export type ResponseKind = 'search' | 'folders' | 'fetch' | 'other'

export interface ReadKind {
  readonly kind: ResponseKind
  /** Nothing that was asked for brings it. */
  readonly isUnknown: boolean
}

const HEAD_BYTES = 64
const HEAD = /^\* ([^\s]*)(?:[ ]([^\s]*))?/
const NUMBERED: ReadonlySet<string> = new Set(['EXISTS', 'RECENT', 'EXPUNGE', 'FETCH'])
const FOLDERS: ReadonlySet<string> = new Set(['LIST', 'LSUB', 'XLIST'])
const SEARCH = '* SEARCH'
const DIGITS_MAX = 10

const [LF, CR, BLANK, COLON, ZERO, NINE] = [0x0a, 0x0d, 0x20, 0x3a, 0x30, 0x39]
/** Blanks, commas and brackets. */
const BETWEEN: ReadonlySet<number> = new Set([0x09, LF, CR, BLANK, 0x28, 0x29, 0x2c])

/** @param response from its beginning on; the first 64 bytes are enough */
export function kindOf(response: Buffer): ReadKind {
  const [, first = '', second = ''] = HEAD.exec(headOf(response)) ?? []
  const word = first.toUpperCase()
  const isNumbered = /^\d+$/.test(word)
  const name = isNumbered ? (/^[A-Z]+/i.exec(second)?.[0] ?? '').toUpperCase() : word
  return {
    kind:
      name === 'SEARCH' || name === 'ESEARCH'
        ? 'search'
        : FOLDERS.has(name)
          ? 'folders'
          : name === 'FETCH'
            ? 'fetch'
            : 'other',
    isUnknown: isNumbered ? !NUMBERED.has(name) : name === 'VANISHED',
  }
}

/** Some servers begin a response with NUL, which the parser leaves out. */
function headOf(response: Buffer): string {
  let start = 0
  while (response[start] === 0) start += 1
  return response.toString('latin1', start, start + HEAD_BYTES)
}

/** `* SEARCH 1 2`, byte for byte: the parser reads that without making a tree of it, and nothing else. */
export function readsAsNumbers(response: Buffer): boolean {
  let end = response.length - 1
  if (response[end - 1] === CR) end -= 1
  if (response[end - 1] === BLANK) end -= 1
  if (response.toString('latin1', 0, SEARCH.length).toUpperCase() !== SEARCH) return false
  let digits = 1
  for (let at = SEARCH.length; at < end; at += 1) {
    const byte = response[at] ?? 0
    if (byte === BLANK && digits > 0) digits = 0
    else if (isDigit(byte) && at > SEARCH.length && digits < DIGITS_MAX) digits += 1
    else return false
  }
  return digits > 0
}

/** How many messages an answer to a search names; NaN where a range is none by the book. */
export function numbersIn(response: Buffer): number {
  let numbers = 0
  let start = 0
  let isNumber = true
  let isRange = false
  for (let at = 0; at <= response.length; at += 1) {
    const byte = response[at] ?? LF
    if (!BETWEEN.has(byte)) {
      isRange ||= byte === COLON
      isNumber &&= isDigit(byte)
      continue
    }
    if (isRange) numbers += widthOf(response.toString('latin1', start, at))
    else if (isNumber && at > start) numbers += 1
    start = at + 1
    isNumber = true
    isRange = false
  }
  return numbers
}

function widthOf(range: string): number {
  const [, from, to] = /^(\d{1,10}):(\d{1,10})$/.exec(range) ?? []
  return Math.abs(Number(to) - Number(from)) + 1
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE
}

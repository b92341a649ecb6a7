/**
 * Identifiers (docs/reference/http.md#ids): `<prefix>_<ULID>`, and bare ULIDs for `ref_id`.
 *
 * A ULID begins with its time, so ids sort by creation and name the day partition that holds them.
 */
import { randomFillSync } from 'node:crypto'
import { encodeTime } from 'ulid'
import { dayAt } from './values/date-time.ts'

export type IdPrefix =
  | 'tn'
  | 'key'
  | 'wh'
  | 'smtp'
  | 'imap'
  | 'domain'
  | 'test'
  | 'app'
  | 'dlv'
  | 'alr'
  | 'evt'
  | 'in'
  | 'tpl'
  | 'user'
  | 'ses'

const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const VALUES = new Map([...SYMBOLS].map((symbol, value) => [symbol.charCodeAt(0), value]))
/** Of ten bits each. */
const PAIRS = [...SYMBOLS].flatMap((first) => [...SYMBOLS].map((second) => first + second))
const ULID_BYTES = 16
const ULID_LENGTH = 26
const TIME_LENGTH = 10

/** Makes ids; monotonic within one source, which is made once per process. */
export interface IdSource {
  ulid(): string
  id(prefix: IdPrefix): string
}

/** A clock that was set back by more than this is followed, at the price of order. */
const STEP_BACK_MS = 5_000
/** What is counted on within a millisecond: the last six symbols, from somewhere in their first half. */
const COUNT_MAX = 2 ** 30 - 1
const COUNT_FROM_MAX = 2 ** 29 - 1
const HEAD_SYMBOLS = 10

export function createIdSource(nowMs: () => number = Date.now): IdSource {
  const randomByte = createRandom()
  let latestMs = -1
  /** Its time, and the random symbols that ids of one millisecond share. */
  let head = ''
  let count = 0

  function begin(ms: number): void {
    latestMs = ms
    head = encodeTime(ms, TIME_LENGTH)
    for (let i = 0; i < HEAD_SYMBOLS; i++) head += SYMBOLS[randomByte() & 31]
    count = 0
    for (let i = 0; i < 4; i++) count = ((count << 8) | randomByte()) & COUNT_FROM_MAX
  }

  const ulid = () => {
    const now = nowMs()
    // Without the second, one leap of the clock would give every later id the day of the leap.
    if (now > latestMs || now + STEP_BACK_MS < latestMs) begin(now)
    else if (count < COUNT_MAX) count += 1
    else begin(latestMs + 1)
    return head + PAIRS[count >>> 20] + PAIRS[(count >>> 10) & 1023] + PAIRS[count & 1023]
  }
  return { ulid, id: (prefix) => `${prefix}_${ulid()}` }
}

function createRandom(): () => number {
  const block = Buffer.alloc(4096)
  let used = block.length
  return () => {
    if (used === block.length) {
      randomFillSync(block)
      used = 0
    }
    return block.readUInt8(used++)
  }
}

const shared = createIdSource()

export function newUlid(): string {
  return shared.ulid()
}

export function newId(prefix: IdPrefix): string {
  return shared.id(prefix)
}

let givenMs = 0
const atGivenTimes = createIdSource(() => givenMs)

/** By another clock than this process's, such as the database's. */
export function newIdAt(prefix: IdPrefix, ms: number): string {
  givenMs = Math.max(0, Math.floor(ms))
  return atGivenTimes.id(prefix)
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export function isUlid(text: string): boolean {
  return ULID.test(text)
}

export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && isUlid(text.slice(prefix.length + 1))
}

/** The id that a filter looks for. Text that is no ULID becomes one that nothing has: it finds nothing. */
export function soughtUlid(text: string): string {
  return isUlid(text) ? text : ulidAtTime(0)
}

/** The same of an id with a prefix. */
export function soughtId(prefix: IdPrefix, text: string): string {
  return isId(prefix, text) ? text : `${prefix}_${ulidAtTime(0)}`
}

/**
 * Of the mailer that mail of test mode goes by (docs/reference/test-mode.md#how-test-mail-is-told): the id of the real one, with
 * another prefix. No row has it, so whatever is kept for a mailer is kept apart for test mail.
 */
export function testIdOf(mailerId: string): string {
  return `test_${mailerId.slice(-ULID_LENGTH)}`
}

export function isTestId(id: string): boolean {
  return id.startsWith('test_')
}

/** The lowest that can be made at that time. */
export function ulidAtTime(ms: number): string {
  return encodeTime(ms, 10) + '0'.repeat(16)
}

/** A ULID that says that time, and is unlike any other. */
export function newUlidAt(ms: number): string {
  return encodeTime(ms, TIME_LENGTH) + newUlid().slice(TIME_LENGTH)
}

/** When a bare or prefixed ULID was made. */
export function timeOfUlid(id: string): Date {
  return new Date(millisOfUlid(id))
}

/** The UTC day (`2026-01-02`) in which a bare or prefixed ULID was made; of one past 9999, the last. */
export function dayOfUlid(id: string): string {
  return dayAt(millisOfUlid(id))
}

function millisOfUlid(id: string): number {
  const from = id.length - ULID_LENGTH
  let ms = from < 0 ? Number.NaN : 0
  for (let i = from; i < from + TIME_LENGTH; i++)
    ms = ms * SYMBOLS.length + (VALUES.get(id.charCodeAt(i)) ?? Number.NaN)
  if (!(ms < 2 ** 48)) throw new RangeError('not a ULID')
  return ms
}

/** The 128 bits of a ULID. Throws RangeError on anything else. */
export function bytesOfUlid(ulid: string): Buffer {
  if (!isUlid(ulid)) throw new RangeError('not a ULID')
  const bytes = Buffer.allocUnsafe(ULID_BYTES)
  // 26 symbols are 130 bits, of which the first two are 0.
  let bits = 0
  let bitCount = -2
  let at = 0
  for (let i = 0; i < ulid.length; i++) {
    bits = ((bits << 5) | (VALUES.get(ulid.charCodeAt(i)) ?? 0)) & 0xfff
    bitCount += 5
    if (bitCount < 8) continue
    bitCount -= 8
    bytes[at++] = bits >> bitCount
  }
  return bytes
}

/** The ULID of 16 bytes. */
export function ulidOfBytes(bytes: Uint8Array): string {
  if (bytes.length !== ULID_BYTES) throw new RangeError('not the bytes of a ULID')
  let ulid = ''
  let bits = 0
  let bitCount = 2
  for (const byte of bytes) {
    bits = ((bits << 8) | byte) & 0xfff
    for (bitCount += 8; bitCount >= 5; ) {
      bitCount -= 5
      ulid += SYMBOLS[(bits >> bitCount) & 31]
    }
  }
  return ulid
}

/**
 * Identifiers (contract §2): `<prefix>_<ULID>`, and bare ULIDs for `ref_id`.
 *
 * A ULID begins with its time, so ids sort by creation and name the day partition that holds them.
 */
import { randomFillSync } from 'node:crypto'
import { decodeTime, encodeTime, monotonicFactory } from 'ulid'

export type IdPrefix = 'tn' | 'key' | 'wh' | 'smtp' | 'imap' | 'domain' | 'app' | 'dlv' | 'evt'

/** Makes ids; monotonic within one source, which is made once per process. */
export interface IdSource {
  ulid(): string
  id(prefix: IdPrefix): string
}

/** A clock that was set back by more than this is followed, at the price of order. */
const STEP_BACK_MS = 5_000

export function createIdSource(nowMs: () => number = Date.now): IdSource {
  const random = createRandom()
  let next = monotonicFactory(random)
  let latestMs = 0
  const ulid = () => {
    const now = nowMs()
    // Without this, one leap of the clock would give every later id the day of the leap.
    if (now + STEP_BACK_MS < latestMs) {
      next = monotonicFactory(random)
      latestMs = now
    }
    latestMs = Math.max(latestMs, now)
    return next(now)
  }
  return { ulid, id: (prefix) => `${prefix}_${ulid()}` }
}

/** In [0, 1), in steps of 1/256: eight bits for the five that a character takes. */
function createRandom(): () => number {
  const block = Buffer.alloc(4096)
  let used = block.length
  return () => {
    if (used === block.length) {
      randomFillSync(block)
      used = 0
    }
    return block.readUInt8(used++) / 256
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

/** The lowest that can be made at that time. */
export function ulidAtTime(ms: number): string {
  return encodeTime(ms, 10) + '0'.repeat(16)
}

/** When a bare or prefixed ULID was made. */
export function timeOfUlid(id: string): Date {
  return new Date(decodeTime(id.slice(-26)))
}

/** The UTC day (`2026-01-02`) in which a bare or prefixed ULID was made. */
export function dayOfUlid(id: string): string {
  return timeOfUlid(id).toISOString().slice(0, 10)
}

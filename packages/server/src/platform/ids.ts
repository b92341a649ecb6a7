/**
 * Identifiers (contract §2): `<prefix>_<ULID>`, and bare ULIDs for `ref_id`.
 *
 * A ULID begins with its time, so ids sort by creation and name the day partition that holds them.
 */
import { decodeTime, monotonicFactory } from 'ulid'

export type IdPrefix = 'tn' | 'key' | 'wh' | 'smtp' | 'imap' | 'domain' | 'dlv' | 'evt'

/** Makes ids; monotonic within one source, which is made once per process. */
export interface IdSource {
  ulid(): string
  id(prefix: IdPrefix): string
}

export function createIdSource(): IdSource {
  const next = monotonicFactory()
  return { ulid: () => next(), id: (prefix) => `${prefix}_${next()}` }
}

const shared = createIdSource()

export function newUlid(): string {
  return shared.ulid()
}

export function newId(prefix: IdPrefix): string {
  return shared.id(prefix)
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export function isUlid(text: string): boolean {
  return ULID.test(text)
}

export function isId(prefix: IdPrefix, text: string): boolean {
  return text.startsWith(`${prefix}_`) && isUlid(text.slice(prefix.length + 1))
}

/** The UTC day (`2026-01-02`) in which a bare or prefixed ULID was made. */
export function dayOfUlid(id: string): string {
  return new Date(decodeTime(id.slice(-26))).toISOString().slice(0, 10)
}

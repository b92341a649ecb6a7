/**
 * The keys that a database knows: each one's id, sealed by itself, so that a wrong key under a right
 * id is seen at once; and of a key that was rotated, what was derived from it.
 */
import { type Queryable, statement } from '../db/index.ts'
import type { KeyRing } from './key-ring.ts'
import { sealedText } from './sealed-column.ts'

export interface KnownKey {
  readonly key_id: string
  readonly sealed: string
  /** Sealed; null: nothing has taken its place yet. */
  readonly derived: string | null
}

const SELECT = statement(
  'platform.select_keys',
  'select key_id, sealed, derived from platform_secret_key order by key_id',
)
const INSERT = statement(
  'platform.insert_key',
  'insert into platform_secret_key (key_id, sealed) values ($1, $2) on conflict do nothing',
)
const HAND_OVER = statement(
  'platform.hand_over_key',
  'update platform_secret_key set derived = $2 where key_id = $1 and derived is null',
)

/** Mail that was sent holds links that are made of its key, until that is handed over. */
export const SENT_LINKS = 'links in mail that was sent'

/** What was derived from keys that are gone. */
export const derivedKeys = sealedText({
  kind: 'keys of tracked links',
  table: 'platform_secret_key',
  column: 'derived',
  keys: ['key_id'],
  placeOf: (row) => derivedPlaceOf(String(row.key_id)),
})

export async function listKnownKeys(q: Queryable): Promise<readonly KnownKey[]> {
  return (await q.query<KnownKey>(SELECT)).rows
}

export async function addKnownKey(q: Queryable, keyRing: KeyRing, id: string): Promise<void> {
  await q.query(INSERT, [id, keyRing.encrypt(id, placeOf(id))])
}

/** From then on what was derived from the key is read without it. */
export async function handOverKey(
  q: Queryable,
  keyRing: KeyRing,
  o: { readonly id: string; readonly derived: Buffer },
): Promise<void> {
  const text = o.derived.toString('base64')
  await q.query(HAND_OVER, [o.id, keyRing.encrypt(text, derivedPlaceOf(o.id))])
}

/** Throws SealedValueError when no key of the ring opens it. */
export function openDerived(keyRing: KeyRing, id: string, derived: string): Buffer {
  return Buffer.from(keyRing.decrypt(derived, derivedPlaceOf(id)), 'base64')
}

/** Whether the key of the ring is the one of that id by which this database was sealed. */
export function isKey(keyRing: KeyRing, { key_id: id, sealed }: KnownKey): boolean {
  try {
    return keyRing.decrypt(sealed, placeOf(id)) === id
  } catch {
    return false
  }
}

function placeOf(id: string): string {
  return `platform|secret_key|${id}`
}

function derivedPlaceOf(id: string): string {
  return `platform|secret_key|${id}|derived`
}

/**
 * Whether the configured keys are all that this database needs (docs/reference/running.md#secret-keys).
 *
 * A start with a lost or mistaken key is refused at once, instead of when the first stored password
 * cannot be opened. A key is needed while it seals anything, and until `secrets rotate` has stored
 * what was derived from it.
 */
import type { Queryable } from '../db/index.ts'
import type { KeyRing } from './key-ring.ts'
import {
  addKnownKey,
  isKey,
  type KnownKey,
  listKnownKeys,
  openDerived,
  SENT_LINKS,
} from './known-keys.ts'
import { findKeysInUse, type SealedColumn } from './sealed-column.ts'

/** Only a person can repair it: by bringing the right keys. */
export class KeysDoNotFitError extends Error {
  override readonly name = 'KeysDoNotFitError'
}

export interface ConfiguredKeys {
  readonly keyRing: KeyRing
  /** Of the key ring, the one that encrypts first. */
  readonly keyIds: readonly string[]
}

/** Answers what was derived from keys that are not configured any more. */
export async function checkKeys(
  q: Queryable,
  configured: ConfiguredKeys,
  columns: readonly SealedColumn[],
): Promise<readonly Buffer[]> {
  const { keyRing, keyIds } = configured
  const known = await listKnownKeys(q)
  const needs = await findNeeds(q, columns)
  refuseWrongKeys(known, configured, needs)
  for (const [id, kinds] of needs) if (!keyIds.includes(id)) throw missing(id, kinds)
  const retired = known
    .filter(({ key_id: id }) => !keyIds.includes(id))
    .flatMap(({ key_id: id, derived }) =>
      derived === null ? [] : [openDerived(keyRing, id, derived)],
    )
  const [currentId] = keyIds
  if (currentId !== undefined) await addKnownKey(q, keyRing, currentId)
  return retired
}

/** What each key is needed for. Empty: this database was never sealed. */
export async function findNeeds(
  q: Queryable,
  columns: readonly SealedColumn[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const needs = new Map(await findKeysInUse(q, columns))
  for (const { key_id: id, derived } of await listKnownKeys(q))
    if (derived === null) needs.set(id, [...(needs.get(id) ?? []), SENT_LINKS])
  return needs
}

export function refuseWrongKeys(
  known: readonly KnownKey[],
  { keyRing, keyIds }: ConfiguredKeys,
  needs: ReadonlyMap<string, readonly string[]>,
): void {
  const wrong = known.find((key) => keyIds.includes(key.key_id) && !isKey(keyRing, key))
  if (wrong === undefined) return
  const kinds = needs.get(wrong.key_id) ?? []
  throw new KeysDoNotFitError(
    `The secret key "${wrong.key_id}"${listed(kinds)} is not the one of that name with which this database was sealed: restore POSTRIDER_SECRET_KEYS, or secrets.json in the data directory, from a backup`,
  )
}

function missing(id: string, kinds: readonly string[]): KeysDoNotFitError {
  return new KeysDoNotFitError(
    `This database was sealed with the secret key "${id}"${listed(kinds)}, which is not among the configured ones: add it to POSTRIDER_SECRET_KEYS, or restore secrets.json in the data directory. With the key there, "postrider secrets rotate" makes it needless`,
  )
}

function listed(kinds: readonly string[]): string {
  return kinds.length === 0 ? '' : ` (${kinds.join(', ')})`
}

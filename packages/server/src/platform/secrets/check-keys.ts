/**
 * Whether the configured keys are those that this database was sealed with (contract §1).
 *
 * The database keeps, for each key that ever sealed in it, the key's id sealed by itself. A start
 * with a lost or mistaken key is refused by it at once, instead of being noticed when the first
 * stored password cannot be opened.
 */
import { type Queryable, statement } from '../db/index.ts'
import type { KeyRing } from './key-ring.ts'

/** Only a person can mend it: by bringing the right keys. */
export class KeysDoNotFitError extends Error {
  override readonly name = 'KeysDoNotFitError'
}

const SELECT = statement('platform.select_keys', 'select key_id, sealed from platform_secret_key')
const INSERT = statement(
  'platform.insert_key',
  'insert into platform_secret_key (key_id, sealed) values ($1, $2) on conflict do nothing',
)

/** @param keyIds of the key ring, the one that encrypts first */
export async function checkKeys(
  q: Queryable,
  keyRing: KeyRing,
  keyIds: readonly string[],
): Promise<void> {
  const { rows } = await q.query<{ key_id: string; sealed: string }>(SELECT)
  const known = rows.filter((row) => keyIds.includes(row.key_id))
  for (const { key_id: id, sealed } of known)
    if (!opens(keyRing, id, sealed))
      throw new KeysDoNotFitError(
        `The secret key "${id}" is not the one of that name with which this database was sealed`,
      )
  if (rows.length > 0 && known.length === 0)
    throw new KeysDoNotFitError(
      `This database was sealed with the secret key "${rows.map((row) => row.key_id).join('", "')}", which is not among the configured ones: restore secrets.json in the data directory, or POSTRIDER_SECRET_KEYS, from a backup`,
    )
  const [currentId] = keyIds
  if (currentId === undefined || known.some((row) => row.key_id === currentId)) return
  await q.query(INSERT, [currentId, keyRing.encrypt(currentId, aadOf(currentId))])
}

function opens(keyRing: KeyRing, id: string, sealed: string): boolean {
  try {
    return keyRing.decrypt(sealed, aadOf(id)) === id
  } catch {
    return false
  }
}

function aadOf(id: string): string {
  return `platform|secret_key|${id}`
}

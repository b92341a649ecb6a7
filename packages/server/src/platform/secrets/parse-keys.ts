/**
 * Reads POSTRIDER_SECRET_KEYS: `id:base64-of-32-bytes,...`.
 *
 * No error quotes any part of the text: a forgotten `id:` would make the key the id, and errors at
 * start end in logs. Entries are named by their position.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'

const KEY_BYTES = 32

/** In the order of the list: the first is the one that encrypts. */
export function parseKeys(spec: string): ReadonlyMap<string, KeyObject> {
  const keys = new Map<string, KeyObject>()
  for (const [index, entry] of spec.split(',').entries()) {
    const problem = (text: string) => new Error(`secret keys: entry ${index + 1} ${text}`)
    const [, id, encoded] =
      /^\s*([A-Za-z0-9_-]{1,32}):([A-Za-z0-9+/_-]+)={0,2}\s*$/.exec(entry) ?? []
    if (id === undefined || encoded === undefined) throw problem('is not "id:base64"')
    const bytes = Buffer.from(encoded, 'base64')
    if (bytes.length !== KEY_BYTES) throw problem(`does not hold ${KEY_BYTES} bytes`)
    if (keys.has(id)) throw problem('repeats an id')
    keys.set(id, createSecretKey(bytes))
  }
  return keys
}

/** The ids of the keys, the one that encrypts first. */
export function keyIdsOf(spec: string): readonly string[] {
  return [...parseKeys(spec).keys()]
}

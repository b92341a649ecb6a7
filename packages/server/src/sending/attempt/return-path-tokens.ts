/**
 * Return paths of single copies (VERP, docs/reference/suppressions.md#return-paths): `bounces+<token>@` an
 * inbound domain of the tenant. A token is 50 characters, base32 (RFC 4648 §6, lower case) of
 *
 *     mark (1) | MAC (12) | ref_id (16) | n (2)
 *
 * The MAC is the first 12 bytes of HMAC-SHA-256 over tenant, ref_id and n. So nobody else makes one, and
 * one of another tenant is none. Servers may change the case of a local part: base32 has one case. With
 * `bounces+` it has 58 of the 64 octets that RFC 5321 §4.5.3.1.1 allows.
 *
 * Keys are derived from the key ring; the mark says which of them to try. A token works for as long as
 * its key is configured. It hides nothing: the Message-ID of the copy says the same.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { bytesOfUlid, ulidOfBytes } from '../../platform/ids.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { RecipientKey } from '../record/recipient-store.ts'

/** The local part that tokens are a tag of. */
export const RETURN_PATH_LOCAL = 'bounces'

export interface ReturnPathTokens {
  /** The local part for one recipient's copy. */
  make(who: RecipientKey & { readonly tenantId: string }): string
  /** Whose copy a local part is of; undefined for what `make` did not return for this tenant. */
  read(tenantId: string, local: string): RecipientKey | undefined
}

const PURPOSE = 'postrider return paths v1'
const KEY_BYTES = 33
const MAC_BYTES = 12
const PLACE_BYTES = 18
const PLACE_AT = 1 + MAC_BYTES
const LOCAL = /^bounces\+([a-z2-7]{50})$/

export function createReturnPathTokens(keyRing: Pick<KeyRing, 'derive'>): ReturnPathTokens {
  const keys = keyRing.derive(PURPOSE, KEY_BYTES)
  const [current] = keys
  return {
    make({ tenantId, refId, n }) {
      const place = Buffer.alloc(PLACE_BYTES)
      bytesOfUlid(refId).copy(place)
      place.writeUInt16BE(n, 16)
      const token = Buffer.concat([current.subarray(0, 1), macOf(current, tenantId, place), place])
      return `${RETURN_PATH_LOCAL}+${toBase32(token)}`
    },
    read(tenantId, local) {
      const [, text] = LOCAL.exec(local.toLowerCase()) ?? []
      const token = text === undefined ? undefined : fromBase32(text)
      if (token === undefined) return undefined
      const place = token.subarray(PLACE_AT)
      for (const key of keys) {
        if (key[0] !== token[0]) continue
        if (timingSafeEqual(macOf(key, tenantId, place), token.subarray(1, PLACE_AT)))
          return { refId: ulidOfBytes(place.subarray(0, 16)), n: place.readUInt16BE(16) }
      }
      return undefined
    },
  }
}

function macOf(key: Buffer, tenantId: string, place: Buffer): Buffer {
  const mac = createHmac('sha256', key.subarray(1)).update(`${tenantId}|`).update(place)
  return mac.digest().subarray(0, MAC_BYTES)
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567'

function toBase32(bytes: Buffer): string {
  let text = ''
  let bits = 0
  let held = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(held >> bits) & 31]
    }
    held &= 31
  }
  return bits === 0 ? text : text + ALPHABET[(held << (5 - bits)) & 31]
}

/** Undefined where bits that are not used are set: a token is written in one way. */
function fromBase32(text: string): Buffer | undefined {
  const bytes: number[] = []
  let bits = 0
  let held = 0
  for (const sign of text) {
    held = (held << 5) | ALPHABET.indexOf(sign)
    bits += 5
    if (bits >= 8) {
      bits -= 8
      bytes.push((held >> bits) & 255)
    }
    held &= 255
  }
  return (held & ((1 << bits) - 1)) === 0 ? Buffer.from(bytes) : undefined
}

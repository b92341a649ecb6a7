/**
 * Secrets at rest (architecture invariant 10): AES-256-GCM with a random 96-bit nonce.
 *
 * A sealed value is `v1.<key id>.<base64url of nonce, ciphertext, tag>`. Version, key id and the
 * caller's `aad` (which row and column this is) are authenticated, so a value that was changed, cut
 * or moved to another row does not open. Everything fails closed: there is no form that is read as
 * plain text. To rotate, put a new key first: it encrypts what is written from then on, the others
 * still decrypt, until `rotate-keys.ts` has sealed everything by the new one. Random nonces bound one key to 2^32 values.
 */
import {
  createCipheriv,
  createDecipheriv,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { parseKeys } from './parse-keys.ts'

const VERSION = 'v1'
const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

export interface KeyRing {
  encrypt(plaintext: string, aad: string): string
  /** Throws SealedValueError on anything that `encrypt` with this aad did not return. */
  decrypt(sealed: string, aad: string): string
  /**
   * From each key one of `bytes` bytes for another purpose (HKDF-SHA-256, RFC 5869), the one of the
   * key that encrypts first. The same for the same keys, and none tells anything of another's.
   */
  derive(purpose: string, bytes: number): readonly [Buffer, ...Buffer[]]
}

/** Says what is wrong, never what was sealed. */
export class SealedValueError extends Error {
  override readonly name = 'SealedValueError'
  readonly reason: 'malformed' | 'unknown_key' | 'not_authentic'

  constructor(reason: SealedValueError['reason'], cause?: unknown) {
    super(`a stored secret cannot be opened: ${reason}`, cause === undefined ? {} : { cause })
    this.reason = reason
  }
}

export function createKeyRing(spec: string): KeyRing {
  const keys = parseKeys(spec)
  const [current] = keys
  if (current === undefined) throw new Error('secret keys: none given')
  const [currentId, currentKey] = current
  return {
    encrypt: (plaintext, aad) => seal(currentId, currentKey, plaintext, aad),
    decrypt(sealed, aad) {
      const [, keyId, payload] = /^v1\.([A-Za-z0-9_-]{1,32})\.([A-Za-z0-9_-]+)$/.exec(sealed) ?? []
      if (keyId === undefined || payload === undefined) throw new SealedValueError('malformed')
      const key = keys.get(keyId)
      if (key === undefined) throw new SealedValueError('unknown_key')
      return open(keyId, key, payload, aad)
    },
    derive(purpose, bytes) {
      const of = (key: KeyObject) => Buffer.from(hkdfSync('sha256', key, '', purpose, bytes))
      return [of(currentKey), ...[...keys.values()].slice(1).map(of)]
    },
  }
}

/** With what was derived for a purpose from keys that are not in the ring any more. */
export function withRetired(
  keyRing: KeyRing,
  o: { readonly purpose: string; readonly keys: readonly Buffer[] },
): KeyRing {
  return {
    ...keyRing,
    derive(purpose, bytes) {
      const [first, ...others] = keyRing.derive(purpose, bytes)
      return [first, ...others, ...(purpose === o.purpose ? o.keys : [])]
    },
  }
}

function seal(keyId: string, key: KeyObject, plaintext: string, aad: string): string {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(boundTo(keyId, aad))
  const ciphertext = [cipher.update(plaintext, 'utf8'), cipher.final()]
  const payload = Buffer.concat([nonce, ...ciphertext, cipher.getAuthTag()])
  return `${VERSION}.${keyId}.${payload.toString('base64url')}`
}

function open(keyId: string, key: KeyObject, payload: string, aad: string): string {
  const bytes = Buffer.from(payload, 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== payload) {
    throw new SealedValueError('malformed')
  }
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const ciphertext = bytes.subarray(NONCE_BYTES, -TAG_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(boundTo(keyId, aad))
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new SealedValueError('not_authentic', cause)
  }
}

function boundTo(keyId: string, aad: string): Buffer {
  return Buffer.from(`${VERSION}.${keyId}.${aad}`, 'utf8')
}

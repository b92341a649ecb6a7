/**
 * Tokens of tracked links (contract §3, `/t/o`, `/t/c`, `/t/u`): who did it, on which link, and that
 * it was us who wrote it there. 66 characters, base64url of
 *
 *     mark (1) | SIV (12) | encrypted: tenant (16) | ref_id (16) | n (2) | link (2)
 *
 * The SIV is the first 12 bytes of HMAC-SHA-256 over kind and the plain 36 bytes, and the start of
 * the counter block that encrypts them (as RFC 5297 does with another MAC). So a token is the same
 * each time it is made, tells nothing of tenant, email or recipient, and one that was made for
 * another kind, cut, or changed in a single bit is refused. It holds no address: where a click
 * leads is looked up.
 *
 * Keys are derived from the key ring. The mark is derived with them and says which key to try, so
 * that a token finds its key without naming it; tokens are made with the first key and read with
 * all, so mail that was sent before a rotation keeps working as long as its key is configured.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  timingSafeEqual,
} from 'node:crypto'
import { bytesOfUlid, ulidOfBytes } from '../platform/ids.ts'
import type { KeyRing } from '../platform/secrets/index.ts'

export const tokenKinds = ['open', 'click', 'unsubscribe'] as const
export type TokenKind = (typeof tokenKinds)[number]

/** One recipient of one email, and for clicks the link. */
export interface TrackedRecipient {
  /** `tn_<ULID>` */
  readonly tenantId: string
  readonly refId: string
  /** The recipient's place in the email, from 0. */
  readonly n: number
  /** The link's place in the email, from 0; 0 where there is none. */
  readonly link: number
}

export interface TrackingTokens {
  /** Throws RangeError for ids that are none, and places above 65,535. */
  make(who: TrackedRecipient & { readonly kind: TokenKind }): string
  /** Undefined for whatever `make` did not return for this kind. */
  read(token: string, kind: TokenKind): TrackedRecipient | undefined
}

const PURPOSE = 'postrider tracking v1'
const TENANT = 'tn_'
const CIPHER = 'aes-256-ctr'
const SIV_BYTES = 12
const PLAIN_BYTES = 36
const TOKEN_BYTES = 1 + SIV_BYTES + PLAIN_BYTES
const TOKEN_LENGTH = Math.ceil((TOKEN_BYTES * 8) / 6)
const KIND_BYTES: Readonly<Record<TokenKind, Buffer>> = {
  open: Buffer.from('o'),
  click: Buffer.from('c'),
  unsubscribe: Buffer.from('u'),
}

interface TrackingKey {
  readonly mark: number
  readonly mac: KeyObject
  readonly cipher: KeyObject
}

export function createTrackingTokens(keyRing: Pick<KeyRing, 'derive'>): TrackingTokens {
  const [first, ...others] = keyRing.derive(PURPOSE, 65)
  const current = toKey(first)
  const keys = [current, ...others.map(toKey)]
  return {
    make(who) {
      const plain = toPlain(who)
      const siv = sivOf(current, who.kind, plain)
      const cipher = createCipheriv(CIPHER, current.cipher, counterOf(siv))
      return Buffer.concat([Buffer.of(current.mark), siv, cipher.update(plain)]).toString(
        'base64url',
      )
    },
    read(token, kind) {
      if (token.length !== TOKEN_LENGTH) return undefined
      const bytes = Buffer.from(token, 'base64url')
      // Characters that mean nothing, and bits that are not used.
      if (bytes.toString('base64url') !== token) return undefined
      const siv = bytes.subarray(1, 1 + SIV_BYTES)
      for (const key of keys) {
        if (key.mark !== bytes[0]) continue
        const decipher = createDecipheriv(CIPHER, key.cipher, counterOf(siv))
        const plain = decipher.update(bytes.subarray(1 + SIV_BYTES))
        if (timingSafeEqual(sivOf(key, kind, plain), siv)) return fromPlain(plain)
      }
      return undefined
    },
  }
}

function toKey(derived: Buffer): TrackingKey {
  return {
    mark: derived.readUInt8(0),
    mac: createSecretKey(derived.subarray(1, 33)),
    cipher: createSecretKey(derived.subarray(33)),
  }
}

function sivOf(key: TrackingKey, kind: TokenKind, plain: Buffer): Buffer {
  const mac = createHmac('sha256', key.mac).update(KIND_BYTES[kind]).update(plain).digest()
  return mac.subarray(0, SIV_BYTES)
}

/** The last four bytes count blocks, of which there are three. */
function counterOf(siv: Buffer): Buffer {
  const counter = Buffer.alloc(16)
  siv.copy(counter)
  return counter
}

function toPlain({ tenantId, refId, n, link }: TrackedRecipient): Buffer {
  if (!tenantId.startsWith(TENANT)) throw new RangeError('not the id of a tenant')
  const plain = Buffer.allocUnsafe(PLAIN_BYTES)
  bytesOfUlid(tenantId.slice(TENANT.length)).copy(plain, 0)
  bytesOfUlid(refId).copy(plain, 16)
  plain.writeUInt16BE(n, 32)
  plain.writeUInt16BE(link, 34)
  return plain
}

function fromPlain(plain: Buffer): TrackedRecipient {
  return {
    tenantId: TENANT + ulidOfBytes(plain.subarray(0, 16)),
    refId: ulidOfBytes(plain.subarray(16, 32)),
    n: plain.readUInt16BE(32),
    link: plain.readUInt16BE(34),
  }
}

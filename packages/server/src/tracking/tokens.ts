/**
 * Tokens of tracked links (docs/reference/http.md#public-paths, `/t/o`, `/t/c`, `/t/u`): who did it, on which
 * link, and that it was us who wrote it there. 66 characters, base64url of
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
import { type Cipheriv, createCipheriv, hash, timingSafeEqual } from 'node:crypto'
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

/** What is derived from each key. It outlasts its key: links in mail that was sent go on working. */
export const trackingKeys = { purpose: 'postrider tracking v1', bytes: 65 } as const
const TENANT = 'tn_'
const SIV_BYTES = 12
const PLAIN_BYTES = 36
const BLOCK_BYTES = 16
const BLOCKS = Math.ceil(PLAIN_BYTES / BLOCK_BYTES)
const TOKEN_BYTES = 1 + SIV_BYTES + PLAIN_BYTES
const TOKEN_LENGTH = Math.ceil((TOKEN_BYTES * 8) / 6)
const KIND_BYTES: Readonly<Record<TokenKind, number>> = {
  open: 0x6f,
  click: 0x63,
  unsubscribe: 0x75,
}

interface TrackingKey {
  readonly mark: number
  sivOf(kind: TokenKind, plain: Uint8Array): Buffer
  /** Encrypts what is plain, and the other way round. */
  encrypt(siv: Buffer, bytes: Buffer): Buffer
}

export function createTrackingTokens(keyRing: Pick<KeyRing, 'derive'>): TrackingTokens {
  const [first, ...others] = keyRing.derive(trackingKeys.purpose, trackingKeys.bytes)
  const current = toKey(first)
  const keys = [current, ...others.map(toKey)]
  return {
    make(who) {
      const plain = toPlain(who)
      const siv = current.sivOf(who.kind, plain)
      const token = Buffer.allocUnsafe(TOKEN_BYTES)
      token[0] = current.mark
      siv.copy(token, 1)
      current.encrypt(siv, plain).copy(token, 1 + SIV_BYTES)
      return token.toString('base64url')
    },
    read(token, kind) {
      if (token.length !== TOKEN_LENGTH) return undefined
      const bytes = Buffer.from(token, 'base64url')
      // Characters that mean nothing, and bits that are not used.
      if (bytes.toString('base64url') !== token) return undefined
      const siv = bytes.subarray(1, 1 + SIV_BYTES)
      for (const key of keys) {
        if (key.mark !== bytes[0]) continue
        const plain = key.encrypt(siv, bytes.subarray(1 + SIV_BYTES))
        if (timingSafeEqual(key.sivOf(kind, plain), siv)) return fromPlain(plain)
      }
      return undefined
    },
  }
}

function toKey(derived: Buffer): TrackingKey {
  return {
    mark: derived.readUInt8(0),
    sivOf: createSiv(derived.subarray(1, 33)),
    encrypt: createStream(derived.subarray(33)),
  }
}

const HMAC_BLOCK_BYTES = 64
const DIGEST_BYTES = 32

/**
 * HMAC (RFC 2104) by its definition, of two digests made in one go: an object for each MAC took three
 * times as long. What one call returns is overwritten by the next.
 */
function createSiv(key: Buffer): TrackingKey['sivOf'] {
  const inner = Buffer.alloc(HMAC_BLOCK_BYTES + 1 + PLAIN_BYTES)
  const outer = Buffer.alloc(HMAC_BLOCK_BYTES + DIGEST_BYTES)
  for (let i = 0; i < HMAC_BLOCK_BYTES; i++) {
    inner[i] = (key[i] ?? 0) ^ 0x36
    outer[i] = (key[i] ?? 0) ^ 0x5c
  }
  const siv = Buffer.alloc(SIV_BYTES)
  return (kind, plain) => {
    inner[HMAC_BLOCK_BYTES] = KIND_BYTES[kind]
    inner.set(plain, HMAC_BLOCK_BYTES + 1)
    outer.write(hash('sha256', inner, 'hex'), HMAC_BLOCK_BYTES, 'hex')
    siv.write(hash('sha256', outer, 'hex'), 'hex')
    return siv
  }
}

/**
 * Counter mode by its definition: the blocks that count, each encrypted by itself, over the plain ones.
 * So one cipher serves all tokens, where one made for each took five times as long. The last four bytes
 * count blocks, of which there are three.
 */
function createStream(key: Buffer): TrackingKey['encrypt'] {
  const cipher: Cipheriv = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const counters = Buffer.alloc(BLOCKS * BLOCK_BYTES)
  for (let block = 0; block < BLOCKS; block++) counters[block * BLOCK_BYTES + 15] = block
  return (siv, bytes) => {
    for (let at = 0; at < counters.length; at += BLOCK_BYTES) counters.set(siv, at)
    const stream = cipher.update(counters, undefined, 'latin1')
    const out = Buffer.allocUnsafe(PLAIN_BYTES)
    for (let i = 0; i < PLAIN_BYTES; i++) out[i] = (bytes[i] ?? 0) ^ stream.charCodeAt(i)
    return out
  }
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

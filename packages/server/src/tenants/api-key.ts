/**
 * API keys (docs/reference/http.md#authentication): `pr_`, of test mode `pr_test_`, 32 random bytes in base62, their
 * CRC-32 in base62.
 *
 * The checksum tells a mistyped key from an unknown one without the database, and a key from
 * other text for secret scanners. Only the SHA-256 is stored: 256 random bits need no slow hash.
 */
import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { KeyMode } from '@postrider/contract'
import { newSecret, secretLength, toBase62 } from '../platform/values/base62.ts'

const PREFIXES = { live: 'pr_', test: 'pr_test_' } as const
const CHECKSUM_LENGTH = 6 // of 62^6 > 2^32
const SHAPE = new RegExp(`^pr_(?:test_)?[0-9A-Za-z]{${secretLength + CHECKSUM_LENGTH}}$`)

export function newApiKey(mode: KeyMode = 'live', random?: (bytes: number) => Buffer): string {
  const body = PREFIXES[mode] + newSecret(random)
  return body + checksumOf(body)
}

/** False for a key of exactly our shape whose checksum is wrong: it was mistyped or cut together. */
export function isSoundApiKey(text: string): boolean {
  if (!SHAPE.test(text)) return true
  return checksumOf(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

export function hashApiKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

function checksumOf(body: string): string {
  return toBase62(BigInt(crc32(body)), CHECKSUM_LENGTH)
}

import { createHash, timingSafeEqual } from 'node:crypto'

/** Compares digests: in constant time, and whatever the lengths are. */
export function isSameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected))
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

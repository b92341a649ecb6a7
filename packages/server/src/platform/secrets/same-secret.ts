import { hash, timingSafeEqual } from 'node:crypto'

/** Compares digests: in constant time, and whatever the lengths are. */
export function isSameSecret(given: string, expected: string): boolean {
  return createSecretCheck(expected)(given)
}

/** The same, of a secret that many are compared with. */
export function createSecretCheck(expected: string): (given: string) => boolean {
  const digestOfExpected = digest(expected)
  return (given) => timingSafeEqual(digest(given), digestOfExpected)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

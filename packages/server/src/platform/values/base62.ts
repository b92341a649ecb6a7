/** Digits and letters of ASCII: what stands in a key or a path as it is. */
import { randomBytes } from 'node:crypto'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

export function toBase62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; rest > 0n; rest /= 62n) text = DIGITS.charAt(Number(rest % 62n)) + text
  return text.padStart(length, DIGITS.charAt(0))
}

/** Of 62^43 > 2^256. */
export const secretLength = 43

/** 32 random bytes: nobody guesses one, and no two are the same. */
export function newSecret(random: (bytes: number) => Buffer = randomBytes): string {
  return toBase62(BigInt(`0x${random(32).toString('hex')}`), secretLength)
}

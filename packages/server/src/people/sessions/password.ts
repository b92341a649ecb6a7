/**
 * Passwords (docs/reference/people.md#passwords): stored by scrypt with 32 MiB and a salt of each one's own.
 *
 * The work is done off the event loop, in the pool of threads that file and DNS calls share. So its callers
 * bound how many run at once (log-in.ts).
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'

const COST = { N: 2 ** 15, r: 8, p: 3 } as const
const MEMORY_MAX = 64 * 1024 * 1024
const SALT_BYTES = 16
const HASH_BYTES = 32

/** `scrypt$N$r$p$salt$hash`, so that the cost may grow. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES)
  const hash = await derive(password, salt, COST)
  const { N, r, p } = COST
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** The same work whether there is a password or not, so that its time tells nobody. */
export async function isPassword(given: string, stored: string | null): Promise<boolean> {
  const [, n, r, p, salt = '', hash = ''] = (stored ?? NO_PASSWORD).split('$')
  const cost = { N: Number(n), r: Number(r), p: Number(p) }
  const derived = await derive(given, Buffer.from(salt, 'base64url'), cost)
  const expected = Buffer.from(hash, 'base64url')
  const isSame = derived.length === expected.length && timingSafeEqual(derived, expected)
  return stored !== null && isSame
}

const NO_PASSWORD = [
  ...['scrypt', COST.N, COST.r, COST.p],
  ...[SALT_BYTES, HASH_BYTES].map((bytes) => Buffer.alloc(bytes).toString('base64url')),
].join('$')

/** The same letters may be typed in several ways: NFC makes them one. */
function derive(password: string, salt: Buffer, cost: ScryptOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { ...cost, maxmem: MEMORY_MAX }
    scrypt(password.normalize('NFC'), salt, HASH_BYTES, options, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    )
  })
}

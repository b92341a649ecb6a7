/** Tokens of links and cookies: 32 random bytes, of which the database has the SHA-256 alone. */
import { hash } from 'node:crypto'
import { newSecret } from '../../platform/values/base62.ts'

export interface NewToken {
  readonly token: string
  readonly tokenHash: Buffer
}

export function newToken(): NewToken {
  const token = newSecret()
  return { token, tokenHash: hashToken(token) }
}

export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

/**
 * The cookie of a session, and the pages that may use it (docs/reference/people.md#sessions): those of
 * `PUBLIC_URL`. On loopback over plain HTTP it goes without TLS, and every name of this machine will do.
 */
import { isLoopbackName } from '../../platform/loopback-name.ts'
import { daysInAll } from './session-store.ts'

const DAY_S = 86_400

export interface SessionCookie {
  readonly name: string
  /** The value of the header `Set-Cookie`. */
  holding(token: string): string
  /** Takes the cookie off the browser. */
  readonly cleared: string
  isOwnOrigin(origin: string, host: string | undefined): boolean
}

export function createSessionCookie(publicUrl: string): SessionCookie {
  const own = new URL(publicUrl)
  const isPlain = own.protocol === 'http:' && isLoopbackName(own.hostname)
  const name = isPlain ? 'postrider_session' : '__Host-postrider_session'
  const write = (value: string, maxAgeS: number) =>
    `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeS}${isPlain ? '' : '; Secure'}`
  return {
    name,
    holding: (token) => write(token, daysInAll * DAY_S),
    cleared: write('', 0),
    isOwnOrigin(origin, host) {
      if (origin === own.origin) return true
      const given = URL.parse(origin)
      if (!isPlain || given?.origin !== origin || given.protocol !== 'http:') return false
      return isLoopbackName(given.hostname) && given.host === host
    },
  }
}

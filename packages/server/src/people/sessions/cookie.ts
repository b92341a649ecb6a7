/**
 * The cookies of a session and of a login, and the pages that may use it (docs/reference/people.md#sessions): those of
 * `PUBLIC_URL`. On loopback over plain HTTP it goes without TLS, and every name of this machine will do.
 */
import { isLoopbackName } from '../../platform/config/loopback-name.ts'
import { daysInAll } from './session-store.ts'

const DAY_S = 86_400
/** For a login at the provider. */
const PENDING_S = 15 * 60

export interface Cookie {
  readonly name: string
  /** The value of the header `Set-Cookie`. */
  holding(value: string): string
  /** Takes the cookie off the browser. */
  readonly cleared: string
}

export interface SessionCookies {
  readonly session: Cookie
  /** Of a login by OIDC that has begun. */
  readonly pending: Cookie
  isOwnOrigin(origin: string, host: string | undefined): boolean
}

export function createSessionCookies(publicUrl: string): SessionCookies {
  const own = new URL(publicUrl)
  const isPlain = own.protocol === 'http:' && isLoopbackName(own.hostname)
  const newCookie = (plainName: string, maxAgeS: number): Cookie => {
    const name = isPlain ? plainName : `__Host-${plainName}`
    const write = (value: string, ageS: number) =>
      `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${ageS}${isPlain ? '' : '; Secure'}`
    return { name, holding: (value) => write(value, maxAgeS), cleared: write('', 0) }
  }
  return {
    session: newCookie('postrider_session', daysInAll * DAY_S),
    pending: newCookie('postrider_oidc', PENDING_S),
    isOwnOrigin(origin, host) {
      if (origin === own.origin) return true
      const given = URL.parse(origin)
      if (!isPlain || given?.origin !== origin || given.protocol !== 'http:') return false
      return isLoopbackName(given.hostname) && given.host === host
    },
  }
}

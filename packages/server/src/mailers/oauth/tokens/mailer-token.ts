/**
 * The tokens of a mailer that logs in by OAuth, as they are stored: sealed, and bound to their row.
 */
import type { KeyRing } from '../../../platform/secrets/index.ts'

export interface MailerKey {
  readonly tenantId: string
  readonly mailerId: string
}

type TokenName = 'refresh_token' | 'access_token'

export function sealToken(
  keyRing: KeyRing,
  key: MailerKey,
  name: TokenName,
  token: string,
): string {
  return keyRing.encrypt(token, tokenPlaceOf(key, name))
}

/** Throws SealedValueError when the key is gone or the row was tampered with. */
export function openToken(
  keyRing: KeyRing,
  key: MailerKey,
  name: TokenName,
  sealed: string,
): string {
  return keyRing.decrypt(sealed, tokenPlaceOf(key, name))
}

export function tokenPlaceOf({ tenantId, mailerId }: MailerKey, name: TokenName): string {
  return `mailers|${tenantId}|${mailerId}|${name}`
}

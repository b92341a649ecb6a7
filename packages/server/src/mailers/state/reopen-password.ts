/** A stored password that is used on. */
import { ApiError } from '../../platform/errors.ts'
import { type KeyRing, SealedValueError } from '../../platform/secrets/index.ts'
import { openPassword, type ServerMailer } from '../mailer.ts'

/** Of one that has a password. */
export function reopenPassword(
  { keyRing }: { readonly keyRing: KeyRing },
  stored: ServerMailer,
): string {
  try {
    return openPassword(keyRing, stored, stored.secret ?? '')
  } catch (cause) {
    if (!(cause instanceof SealedValueError)) throw cause
    const message = 'must be given again: the stored one cannot be opened'
    throw new ApiError('validation_failed', {
      errors: [{ path: '/config/password', message }],
      cause,
    })
  }
}

/**
 * addSuppression (docs/reference/suppressions.md#adding): with a note and an end of its own. The answer says
 * what holds afterwards, as a stronger reason from before stays.
 */
import type { AddSuppressionBody, Suppression } from '@postrider/contract'
import { addressKeyOf } from '@postrider/mail'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import { newUlid } from '../platform/ids.ts'
import { parseDateTime } from '../platform/values/date-time.ts'
import { toSuppression } from './list-suppressions.ts'
import { readAddress } from './read-address.ts'
import { sourceOfCaller } from './source-of-caller.ts'
import * as store from './store.ts'

export async function addSuppression(
  { db, clock }: { readonly db: Db; readonly clock: Pick<Clock, 'now'> },
  { tenantId, keyId }: { readonly tenantId: string; readonly keyId: string },
  { email, reason, note, expires_at }: AddSuppressionBody,
): Promise<{ readonly suppression: Suppression; readonly changed: boolean }> {
  const emailKey = addressKeyOf(readAddress(email).address)
  const expiresAt = expires_at == null ? null : readEnd(expires_at, clock.now())
  const row = {
    ...{ emailKey, email, expiresAt, id: newUlid() },
    reason: reason ?? 'manual',
    note: readNote(note),
    source: sourceOfCaller(keyId),
  }
  const { written } = await store.putSuppressions(db, tenantId, [row], { isAmended: true })
  const held = await store.getSuppression(db, { tenantId, emailKey })
  if (held === undefined)
    throw new ApiError('conflict', { message: 'The suppression was removed at the same time' })
  return { suppression: toSuppression(held), changed: written > 0 }
}

function readEnd(text: string, now: Date): Date {
  const at = parseDateTime(text)
  if (at === undefined || at <= now)
    throw validationError({
      path: '/expires_at',
      message: 'must be an RFC 3339 time in the future, such as 2030-01-02T03:04:05Z',
    })
  return at
}

/** An empty one is none. */
function readNote(note: string | null | undefined): string | null {
  return note == null || note === '' ? null : note
}

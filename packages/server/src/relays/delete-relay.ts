/** deleteRelay (contract §3). One that sending domains use stays: they could not send any more. */
import { isForeignKeyViolation, type Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { AccountKey } from './account.ts'
import { deleteAccount } from './store.ts'

export async function deleteRelay(
  deps: { readonly db: Queryable },
  key: AccountKey,
): Promise<void> {
  try {
    if (await deleteAccount(deps.db, key)) return
  } catch (cause) {
    if (!isForeignKeyViolation(cause)) throw cause
    throw new ApiError('conflict', { message: 'Sending domains use this account', cause })
  }
  throw new ApiError('not_found')
}

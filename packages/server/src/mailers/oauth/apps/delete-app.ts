/**
 * deleteOAuthApp (docs/reference/mailers.md#oauth-apps). One that mailers log in by stays: they could not any
 * more.
 */
import { isForeignKeyViolation, type Queryable } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import { deleteApp as remove } from './app-store.ts'

export async function deleteApp(
  deps: { readonly db: Queryable },
  tenantId: string,
  appId: string,
): Promise<void> {
  try {
    if (await remove(deps.db, tenantId, appId)) return
  } catch (cause) {
    if (!isForeignKeyViolation(cause)) throw cause
    throw new ApiError('conflict', { message: 'Mailers log in by this OAuth app', cause })
  }
  throw new ApiError('not_found')
}

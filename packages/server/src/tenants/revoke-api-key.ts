/**
 * Revokes an API key, of one tenant where it is named: at once in this process, within two seconds in every
 * other.
 */
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { KeyAuthenticator } from './authenticate-key.ts'
import { revokeApiKey as markRevoked } from './store.ts'

export async function revokeApiKey(
  deps: { readonly db: Db; readonly authenticator?: Pick<KeyAuthenticator, 'forget'> },
  keyId: string,
  o: { readonly tenantId?: string } = {},
): Promise<void> {
  const isRevoked = await markRevoked(deps.db, keyId, o.tenantId)
  deps.authenticator?.forget(keyId)
  if (!isRevoked) throw new ApiError('not_found')
}

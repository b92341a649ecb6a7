/** getRelay (docs/reference/domains.md#relay-accounts). */
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { AccountKey, StoredAccount } from './account.ts'
import { getAccount } from './store.ts'

export async function getRelay(
  deps: { readonly db: Queryable },
  key: AccountKey,
): Promise<StoredAccount> {
  const account = await getAccount(deps.db, key)
  if (account === undefined) throw new ApiError('not_found')
  return account
}

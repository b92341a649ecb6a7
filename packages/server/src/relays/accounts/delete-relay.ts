/**
 * deleteRelay (docs/reference/domains.md#relay-accounts). One that sending domains use stays: they could not
 * send any more.
 */
import { isForeignKeyViolation, type Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { AccountKey } from './account.ts'
import { deleteAccount } from './store.ts'

export interface DeleteRelayDeps {
  readonly db: Queryable
  /** The first few of those that send by it. */
  readonly domainsOf: (key: AccountKey, limit: number) => Promise<readonly string[]>
}

const NAMED_MAX = 3

export async function deleteRelay(deps: DeleteRelayDeps, key: AccountKey): Promise<void> {
  try {
    if (await deleteAccount(deps.db, key)) return
  } catch (cause) {
    if (!isForeignKeyViolation(cause)) throw cause
    const domains = await deps.domainsOf(key, NAMED_MAX + 1)
    throw new ApiError('conflict', { message: messageOf(domains), cause })
  }
  throw new ApiError('not_found')
}

function messageOf(domains: readonly string[]): string {
  const named = domains.slice(0, NAMED_MAX).join(', ')
  const more = domains.length > NAMED_MAX ? ' and others' : ''
  return `Sending domains use this account: ${named}${more}`
}

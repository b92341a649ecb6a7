/**
 * The first tenant of a new installation (docs/reference/running.md#start): named `default`, with the
 * configured key, or with a new one that is shown once. Any number of processes may do this at the same time:
 * exactly one creates it.
 */
import type { Db } from '../platform/db/index.ts'
import { newApiKey } from './api-key.ts'
import { addTenant, type CreatedTenant } from './create-tenant.ts'
import { lockTenants } from './store.ts'

/** undefined: there was a tenant already. */
export async function ensureFirstTenant(
  deps: { readonly db: Db },
  apiKey: string = newApiKey(),
): Promise<CreatedTenant | undefined> {
  return await deps.db.transaction(async (tx) => {
    const { isEmpty } = await lockTenants(tx)
    return isEmpty ? await addTenant(tx, 'default', apiKey) : undefined
  })
}

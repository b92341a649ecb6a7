/**
 * unsubscribeEmail (docs/reference/suppressions.md#suppressions): nothing is sent to the address any more.
 * What is queued for it ends as `suppressed` when its turn comes; an attempt that is under way is not
 * stopped.
 */
import type { Db } from '../platform/db/index.ts'
import { readAddress } from './read-address.ts'
import { sourceOfCaller } from './source-of-caller.ts'
import { suppressAddress } from './suppress-address.ts'

export async function unsubscribeEmail(
  deps: { readonly db: Db },
  {
    tenantId,
    keyId,
    email,
  }: { readonly tenantId: string; readonly keyId: string; readonly email: string },
): Promise<void> {
  const { address } = readAddress(email)
  const source = sourceOfCaller(keyId)
  await suppressAddress(deps.db, { tenantId, address, email, reason: 'unsubscribed', source })
}

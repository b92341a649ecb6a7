/**
 * subscribeEmail and deleteSuppression (docs/reference/suppressions.md#suppressions): the address may be sent
 * to again, whatever the reason was. What was refused meanwhile stays refused.
 */
import { addressKeyOf } from '@postrider/mail'
import type { Db } from '../platform/db/index.ts'
import { readAddress } from './read-address.ts'
import { deleteKey } from './store.ts'

/** False when it was not suppressed. */
export function subscribeEmail(
  deps: { readonly db: Db },
  o: { readonly tenantId: string; readonly email: string },
): Promise<boolean> {
  const emailKey = addressKeyOf(readAddress(o.email).address)
  return deleteKey(deps.db, { tenantId: o.tenantId, emailKey })
}

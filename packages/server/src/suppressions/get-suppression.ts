/**
 * getSuppression (docs/reference/suppressions.md#suppressions): one address, with what it was suppressed by.
 */
import type { Suppression } from '@postrider/contract'
import { addressKeyOf } from '@postrider/mail'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { toSuppression } from './list-suppressions.ts'
import { readAddress } from './read-address.ts'
import * as store from './store.ts'

export async function getSuppression(
  { db }: { readonly db: Db },
  tenantId: string,
  email: string,
): Promise<Suppression> {
  const emailKey = addressKeyOf(readAddress(email).address)
  const found = await store.getSuppression(db, { tenantId, emailKey })
  if (found === undefined) throw new ApiError('not_found')
  return toSuppression(found)
}

/** getDomain (docs/reference/domains.md#sending-domains). One that is being deleted is gone. */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { readName } from './add/check-name.ts'
import type { SendingDomain } from './domain.ts'
import { getDomain as get } from './store.ts'

/** @param name as given in a path */
export async function getDomain(
  { db }: { readonly db: Queryable },
  tenantId: string,
  name: string,
): Promise<SendingDomain> {
  const domain = readName(name)
  const found = domain === undefined ? undefined : await get(db, { tenantId, domain })
  if (found === undefined || found.stage === 'deleting') throw new ApiError('not_found')
  return found
}

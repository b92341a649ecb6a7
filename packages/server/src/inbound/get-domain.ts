/**
 * getInboundDomain (contract §3.5): while it is not verified, it is checked before it is answered. Of a
 * domain that somebody else has proven by then, that is the answer.
 */
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { isCheckDue, lookUp, type OwnershipDeps, settleCheck } from './check-ownership.ts'
import type { RoutedDomain } from './domain.ts'
import { lockDomain } from './domain-store.ts'
import { readDomain } from './read-domain.ts'

export interface GetDomainDeps extends OwnershipDeps {
  readonly db: Db
}

export async function getInboundDomain(
  deps: GetDomainDeps,
  tenantId: string,
  name: string,
): Promise<RoutedDomain> {
  const found = await readDomain(deps.db, tenantId, name)
  const { domain } = found
  if (domain.isTaken) throw new ApiError('domain_taken')
  if (!isCheckDue(deps, domain)) return found
  const matches = await lookUp(deps, domain)
  return deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, domain)
    // Another of the same name has another proof.
    if (locked?.id !== domain.id) throw new ApiError('not_found')
    await settleCheck(tx, deps, locked, matches)
    return readDomain(tx, tenantId, domain.domain)
  })
}

/**
 * getInboundDomain (contract §3.5): while it is not verified, it is checked before it is answered. Of a
 * domain that somebody else has proven by then, that is the answer.
 */
import { ApiError } from '../platform/errors.ts'
import type { RoutedDomain } from './domain.ts'
import { lockDomain } from './domain-store.ts'
import { isCheckDue, lookUpOwnership, type OwnershipDeps } from './look-up-ownership.ts'
import { readDomain } from './read-domain.ts'
import { logSettled, settleOwnership } from './settle-ownership.ts'

export async function getInboundDomain(
  deps: OwnershipDeps,
  tenantId: string,
  name: string,
): Promise<RoutedDomain> {
  const found = await readDomain(deps.db, tenantId, name)
  const { domain } = found
  if (!isCheckDue(deps, domain)) return found
  const findings = await lookUpOwnership(deps, domain)
  const { settled, routed } = await deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, domain)
    // Another of the same name has another proof.
    if (locked?.id !== domain.id) throw new ApiError('not_found')
    const outcome = await settleOwnership(tx, deps, locked, findings)
    return { settled: outcome, routed: await readDomain(tx, tenantId, domain.domain) }
  })
  logSettled(deps.log, domain, settled)
  return routed
}

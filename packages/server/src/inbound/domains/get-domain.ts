/**
 * getInboundDomain (docs/reference/inbound.md#ownership): while it is not verified, it is checked before it
 * is answered. Of a domain that somebody else has proven by then, that is the answer.
 */
import type { RoutedDomain } from './domain.ts'
import { isCheckDue, lookUpOwnership, type OwnershipDeps } from './ownership/look-up-ownership.ts'
import { logSettled, settleLocked } from './ownership/settle-ownership.ts'
import { readDomain } from './read-domain.ts'

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
    const outcome = await settleLocked(tx, deps, domain, findings)
    return { settled: outcome, routed: await readDomain(tx, tenantId, domain.domain) }
  })
  logSettled(deps.log, domain, settled)
  return routed
}

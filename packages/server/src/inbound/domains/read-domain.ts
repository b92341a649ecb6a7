/** An inbound domain of a tenant with its webhook, or 404. */
import { readName } from '../../domains/index.ts'
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { findIncoming } from '../../webhooks/index.ts'
import type { InboundDomain, RoutedDomain } from './domain.ts'
import { getDomain } from './domain-store.ts'
import { ownerOf } from './owner.ts'

/** @param name as given in a path */
export async function readDomain(
  q: Queryable,
  tenantId: string,
  name: string,
): Promise<RoutedDomain> {
  const domain = readName(name)
  const found = domain === undefined ? undefined : await getDomain(q, { tenantId, domain })
  if (found === undefined) throw new ApiError('not_found')
  return withWebhook(q, found)
}

export async function withWebhook(q: Queryable, domain: InboundDomain): Promise<RoutedDomain> {
  const owner = ownerOf(domain.domain)
  const { tenantId } = domain
  const webhook = (await findIncoming(q, { tenantId, owners: [owner] })).get(owner)
  // Deleted since.
  if (webhook === undefined) throw new ApiError('not_found')
  return { domain, webhook }
}

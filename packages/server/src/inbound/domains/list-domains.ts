/** Inbound domains, newest first, keyset (docs/reference/http.md#lists). Nothing is checked. */
import type { ListInboundDomainsQuery } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import { cutPage, readPage } from '../../platform/http/paging.ts'
import { findIncoming } from '../../webhooks/index.ts'
import type { RoutedDomain } from './domain.ts'
import { listDomains } from './domain-store.ts'
import { ownerOf } from './owner.ts'

export const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export async function listInboundDomains(
  { db }: { readonly db: Queryable },
  tenantId: string,
  query: ListInboundDomainsQuery,
): Promise<{ domains: RoutedDomain[]; nextPageToken?: string }> {
  const page = readPage(query, 'inbound-domains', ULID)
  const { before, limit } = page
  const found = await listDomains(db, { tenantId, before, limit: limit + 1 })
  const { rows, ...next } = cutPage(found, page, ({ id }) => id)
  const owners = rows.map(({ domain }) => ownerOf(domain))
  const webhooks = await findIncoming(db, { tenantId, owners })
  const domains = rows.flatMap((domain) => {
    const webhook = webhooks.get(ownerOf(domain.domain))
    // Deleted since.
    return webhook === undefined ? [] : [{ domain, webhook }]
  })
  return { domains, ...next }
}

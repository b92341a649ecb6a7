/** listDomains: newest first, keyset (docs/reference/http.md#lists). */
import type { Domain, ListDomainsQuery } from '@postrider/contract'
import type { Queryable } from '../platform/db/index.ts'
import { cutPage, readPage } from '../platform/http/paging.ts'
import { showDomains } from './domain-wire.ts'
import { listDomains as list } from './store.ts'

const ID = /^domain_[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export async function listDomains(
  deps: { readonly db: Queryable },
  tenantId: string,
  query: ListDomainsQuery,
): Promise<{ domains: Domain[]; nextPageToken?: string }> {
  const page = readPage(query, 'domains', ID)
  const found = await list(deps.db, {
    tenantId,
    state: query.state,
    before: page.before,
    limit: page.limit + 1,
  })
  const { rows, ...next } = cutPage(found, page, ({ mailerId }) => mailerId)
  return { domains: await showDomains(deps, tenantId, rows), ...next }
}

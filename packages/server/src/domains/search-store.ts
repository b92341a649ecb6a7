/** Sending domains, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

export const searchDomains = searchTenants({
  name: 'domains.search',
  table: 'domains_domain',
  id: 'domain',
  where: 't.domain = $2',
})

/** Suppressed addresses, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

/** By the key of an address. */
export const searchSuppressions = searchTenants({
  name: 'suppressions.search',
  table: 'suppressions_address',
  id: 'email',
  where: 't.email_key = $2',
})

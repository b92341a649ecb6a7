/** Mailers, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

export const searchMailers = searchTenants({
  name: 'mailers.search',
  table: 'mailers_mailer',
  id: 'mailer_id',
  where: 't.mailer_id = $2',
})

/** By the key of an address, or by `@` and a domain. */
export const searchMailersOf = searchTenants({
  name: 'mailers.search_address',
  table: 'mailers_mailer',
  id: 'mailer_id',
  where: 't.email_key = $2',
})

/** Mailers, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

export const searchMailers = searchTenants({
  name: 'mailers.search',
  table: 'mailers_mailer',
  id: 'mailer_id',
  where: 't.mailer_id = $2',
})

/** By the key of an address. */
export const searchMailersOf = searchTenants({
  name: 'mailers.search_address',
  table: 'mailers_mailer',
  id: 'mailer_id',
  where: 't.email_key = $2',
})

/** By a domain: mailers with an address of it, and the sending domain itself. */
export const searchMailersOfDomain = searchTenants({
  name: 'mailers.search_domain',
  table: 'mailers_mailer',
  id: 'mailer_id',
  where: `split_part(t.email_key, '@', -1) = $2`,
})

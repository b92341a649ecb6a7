/** Domains that receive mail here, and received messages, found by the operator over all tenants. */
import { searchTenants } from '../platform/db/index.ts'

export const searchInboundDomains = searchTenants({
  name: 'inbound.search_domain',
  table: 'inbound_domain',
  id: 'domain',
  where: 't.domain = $2',
})

export const searchInboundMessages = searchTenants({
  name: 'inbound.search_message',
  table: 'inbound_message',
  id: 'inbound_id',
  where: 't.inbound_id = $2 and t.day = $4::date',
})

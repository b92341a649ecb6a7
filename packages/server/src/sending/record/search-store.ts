/** Emails and recipients, found by the operator over all tenants. */
import { searchTenants } from '../../platform/db/index.ts'

export const searchEmails = searchTenants({
  name: 'sending.search_email',
  table: 'sending_email',
  id: 'ref_id',
  where: 't.ref_id = $2 and t.day = $4::date',
})

/** By the key of an address, its domain first; of emails that were accepted from that day on. */
export const searchRecipients = searchTenants({
  name: 'sending.search_recipient',
  table: 'sending_recipient',
  id: 'ref_id',
  where: `hashtextextended(t.tenant_id || ' ' || t.address_key, 0)
            = hashtextextended(k.tenant_id || ' ' || $2, 0)
        and t.address_key = $2 and t.day >= $4::date`,
})

/** Where a search result is shown: a page of its tenant, or the list of users. */
import type { SearchResult } from '@postrider/client'
import type { LinkProps } from '@tanstack/react-router'

export function pageOfResult({ kind, id, tenant_id: tenantId }: SearchResult): LinkProps {
  const tenant = `/t/${tenantId}`
  const own = encodeURIComponent(id)
  switch (kind) {
    case 'tenant':
    case 'api_key':
      return to(`/operator/tenants/${tenantId}`)
    case 'email':
    case 'recipient':
      return to(`${tenant}/emails/${own}`)
    case 'mailer':
      return to(`${tenant}/mailers/${own}`)
    case 'webhook':
      return to(`${tenant}/webhooks`)
    case 'event':
      return to(`${tenant}/live`)
    case 'delivery':
      return to(`${tenant}/deliveries/${own}`)
    case 'domain':
      return to(`${tenant}/domains/${own}`)
    case 'inbound_domain':
      return to(`${tenant}/inbound/domains/${own}`)
    case 'inbound_message':
      return to(`${tenant}/inbound/messages/${own}`)
    case 'suppression':
      return { ...to(`${tenant}/suppressions`), search: { email: id } as never }
    case 'user':
      return to('/operator/users')
  }
}

/** The router takes a path in place of a pattern and its parameters. */
function to(path: string): LinkProps {
  return { to: path as '/operator' }
}

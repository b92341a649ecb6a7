/** The client of the service with the cookie of the session: one for the reader, one for each tenant. */
import { Postrider } from '@postrider/client'

const clients = new Map<string, Postrider>()

/** Without a tenant: for the session itself and for the operator's operations. */
export function clientOf(tenantId?: string): Postrider {
  const known = clients.get(tenantId ?? '')
  if (known !== undefined) return known
  const client = new Postrider({
    session: true,
    tenant: tenantId,
    maxRetries: 1,
    maxRetryAfter: 5_000,
  })
  clients.set(tenantId ?? '', client)
  return client
}

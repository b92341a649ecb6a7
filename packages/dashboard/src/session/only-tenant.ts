/** Of a service with one tenant: its operator begins there, and the first of all acts for it at once. */
import type { ListedTenant, Postrider } from '@postrider/client'

export async function onlyTenant(client: Postrider): Promise<ListedTenant | undefined> {
  const { tenants, nextPageToken } = await client.listTenants({ pageSize: 1 })
  return nextPageToken ? undefined : tenants[0]
}

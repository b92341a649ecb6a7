import { useQuery } from '@tanstack/react-query'
import { useTenant } from '../session/use-tenant.ts'

/** The OAuth apps of the tenant, and the address that providers are to send browsers back to. */
export function useApps() {
  const { tenantId, client } = useTenant()
  return useQuery({
    queryKey: [tenantId, 'oauth-apps'],
    queryFn: async ({ signal }) => await client.listOAuthApps({ signal }),
  })
}

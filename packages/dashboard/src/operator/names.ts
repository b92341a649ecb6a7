/** Names for ids that operations over all tenants answer: of tenants, and of people. */
import { useQuery } from '@tanstack/react-query'
import { clientOf } from '../session/client.ts'

const namesMax = 500
const staleMs = 60_000

/** Of the newest tenants: of others the id is shown. */
export function useTenantNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['operator', 'tenant-names'],
    queryFn: async ({ signal }) => {
      const { tenants } = await clientOf().listTenants({ pageSize: namesMax }, { signal })
      return new Map(tenants.map(({ tenant_id, name }) => [tenant_id, name]))
    },
    staleTime: staleMs,
  })
  return data ?? none
}

export function useUserNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['operator', 'user-names'],
    queryFn: async ({ signal }) => {
      const { users } = await clientOf().listUsers({ pageSize: namesMax }, { signal })
      return new Map(users.map(({ user_id, name }) => [user_id, name]))
    },
    staleTime: staleMs,
  })
  return data ?? none
}

const none: ReadonlyMap<string, string> = new Map()

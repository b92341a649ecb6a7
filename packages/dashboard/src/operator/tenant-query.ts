/** One tenant with its usage. The frame asks by the same key when an operator looks into a tenant. */
import { queryOptions } from '@tanstack/react-query'
import { queryClient } from '../api/query-client.ts'
import { clientOf } from '../session/client.ts'

export function tenantQuery(tenantId: string) {
  return queryOptions({
    queryKey: ['operator', 'tenant', tenantId],
    queryFn: ({ signal }) => clientOf().getTenant(tenantId, { signal }),
    staleTime: 30_000,
  })
}

/** After a change of a tenant: its page, the list and the names. */
export async function refreshTenants(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['operator'] })
}

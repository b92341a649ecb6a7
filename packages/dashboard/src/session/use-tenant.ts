/** The tenant of the page: its client, and what the reader may do there. Also of pages that are of no tenant. */
import type { OperationId, Postrider, UserRole } from '@postrider/client'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useActingFor } from './acting.ts'
import { clientOf } from './client.ts'
import { mayCall } from './may.ts'
import { isOperator, useSession } from './session.ts'

export interface Tenant {
  /** Empty on pages of no tenant. */
  readonly tenantId: string
  readonly name: string
  readonly role: UserRole
  readonly client: Postrider
  /** An operator looks into a tenant, and has not pressed "act for". */
  readonly isLooking: boolean
  /** Whether the reader may call it now. */
  readonly may: (operation: OperationId) => boolean
}

export function useTenant(): Tenant {
  const { tenantId = '' } = useParams({ strict: false })
  const session = useSession()
  const actingFor = useActingFor()
  const own = session.tenants.find((tenant) => tenant.tenant_id === tenantId)
  const { data: looked } = useQuery({
    queryKey: ['operator', 'tenant', tenantId],
    queryFn: ({ signal }) => clientOf().getTenant(tenantId, { signal }),
    enabled: tenantId !== '' && own === undefined && isOperator(session),
    staleTime: 60_000,
  })
  const role = own?.role ?? session.role ?? 'viewer'
  const content = own?.content ?? session.user.content
  const isLooking = tenantId !== '' && role === 'operator' && actingFor !== tenantId
  return {
    tenantId,
    name: own?.name ?? looked?.tenant.name ?? tenantId,
    role,
    client: clientOf(tenantId),
    isLooking,
    may: (operation) => mayCall({ role: isLooking ? 'operator_viewer' : role, content }, operation),
  }
}

/** A tenant by its name, or by its id where the name is not known. */
import { Link } from '@tanstack/react-router'
import { useTenantNames } from './names.ts'

export function TenantLink({ tenantId }: { readonly tenantId: string }) {
  const name = useTenantNames().get(tenantId)
  return (
    <Link to="/operator/tenants/$id" params={{ id: tenantId }} title={tenantId}>
      {name ?? <code>{tenantId}</code>}
    </Link>
  )
}

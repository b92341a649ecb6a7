/** What the navigation leads the reader to: what their role may read, of the page's tenant and of the service. */
import { useTenant } from '../session/use-tenant.ts'
import { type NavGroup, operatorNav, tenantNav } from './nav.ts'

export function useNavGroups(): readonly NavGroup[] {
  const { tenantId, may } = useTenant()
  return [...(tenantId === '' ? [] : tenantNav), ...operatorNav]
    .map((group) => ({
      ...group,
      entries: group.entries.filter(({ reads }) => reads === undefined || may(reads)),
    }))
    .filter(({ entries }) => entries.length > 0)
}

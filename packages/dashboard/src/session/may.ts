/** What a role may call, by the table that the service's own definitions make. */
import type { OperationId, UserRole } from '@postrider/client'
import { permissions } from './permissions.ts'

/** What the table does not name is for everybody with a session. */
export function mayCall(
  standing: { readonly role: UserRole; readonly content: boolean },
  operation: OperationId,
): boolean {
  const rule = permissions[operation]
  if (rule === undefined) return true
  return rule.roles.includes(standing.role) && (rule.content !== true || standing.content)
}

/**
 * What the role claim of an OIDC provider says (docs/reference/people.md#oidc): a role, or `role:tn_…`, or a list
 * of both. A word that is unknown makes the whole claim worth nothing.
 */
import { type MemberRole, type OperatorRole, userRoles } from '@postrider/contract'

export interface ClaimedRights {
  readonly operatorRole: OperatorRole | undefined
  /** By tenant, the highest. */
  readonly roles: ReadonlyMap<string, MemberRole>
}

const WORDS_MAX = 100
const IN_TENANT = /^(owner|developer|support|viewer):(tn_[0-9A-Z]{26})$/

/**
 * @param own tenants of the user: a role without a tenant is for them
 * @returns why it is refused, or what it gives
 */
export function decideRights(claim: unknown, own: readonly string[]): ClaimedRights | string {
  const words = [claim].flat()
  if (claim === undefined || words.length === 0) return 'the role claim is missing'
  if (words.length > WORDS_MAX) return `the role claim has more than ${WORDS_MAX} roles`
  const operators: OperatorRole[] = []
  const roles = new Map<string, MemberRole>()
  const give = (tenantId: string, role: MemberRole) => {
    const known = roles.get(tenantId)
    const isHigher = known === undefined || userRoles.indexOf(role) < userRoles.indexOf(known)
    if (isHigher) roles.set(tenantId, role)
  }
  for (const word of words) {
    const role = userRoles.find((one) => one === word)
    const [, named, tenantId] = typeof word === 'string' ? (IN_TENANT.exec(word) ?? []) : []
    if (role === 'operator' || role === 'operator_viewer') operators.push(role)
    else if (role !== undefined) for (const one of own) give(one, role)
    else if (named !== undefined && tenantId !== undefined) give(tenantId, named as MemberRole)
    else return 'the role claim has a role that is unknown'
  }
  const operatorRole = operators.includes('operator') ? 'operator' : operators[0]
  if (operatorRole === undefined && roles.size === 0) return 'the role claim names no tenant'
  return { operatorRole, roles: operatorRole === undefined ? roles : new Map() }
}

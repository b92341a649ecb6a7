/** A user as it is stored, and as the API shows it (docs/reference/people.md#users). */
import type { Member, User } from '@postrider/contract'
import { highestOf, type Standing } from '../../platform/http/sessions/decide-permission.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'
import type { Inviter, Rights } from './grants.ts'

export interface StoredUser extends Rights {
  readonly userId: string
  readonly email: string
  readonly name: string
  /** null: nobody else had the link. */
  readonly inviter: Inviter | null
  readonly createdAt: Date
  /** null: invited. */
  readonly activatedAt: Date | null
}

/** The highest of its roles, and whether it reads content everywhere. */
function standingOf(user: StoredUser): Partial<Standing> & { readonly content: boolean } {
  const { operatorRole, memberships } = user
  if (operatorRole !== null) return { role: operatorRole, content: user.content }
  const role = highestOf(memberships.map((one) => one.role))
  const content = memberships.length > 0 && memberships.every((one) => one.content)
  return role === undefined ? { content } : { role, content }
}

function stateOf({ activatedAt }: StoredUser): 'active' | 'invited' {
  return activatedAt === null ? 'invited' : 'active'
}

export function toWireUser(user: StoredUser): User {
  const { role = null, content } = standingOf(user)
  return {
    user_id: user.userId,
    email: user.email,
    name: user.name,
    role,
    tenants: user.memberships.map(({ tenantId }) => tenantId),
    content,
    memberships: user.memberships.map(({ tenantId, ...one }) => ({ tenant_id: tenantId, ...one })),
    state: stateOf(user),
    created_at: user.createdAt.toISOString(),
  }
}

/** Of one tenant, which sees nothing of the others. */
export function toWireMember(user: StoredUser, { role, content }: Membership): Member {
  return {
    user_id: user.userId,
    email: user.email,
    name: user.name,
    role,
    content,
    state: stateOf(user),
    created_at: user.createdAt.toISOString(),
  }
}

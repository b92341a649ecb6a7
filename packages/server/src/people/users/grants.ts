/**
 * Nobody gives a person more than they may do themselves (docs/reference/people.md#members): neither a role
 * above their own, nor the content of mail, nor what the scopes of a key leave out.
 */
import {
  type ApiKeyScope,
  apiKeyScopes,
  type OperatorRole,
  type UserRole,
} from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import {
  hasContentByDefault,
  neededToGive,
  type Standing,
} from '../../platform/http/sessions/decide-permission.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'

/** What the one who gives may do. */
export interface Grantor {
  /** Everything of the tenant, but perhaps the content of mail. */
  readonly isOwner: boolean
  readonly scopes: readonly ApiKeyScope[]
}

export const fullGrantor: Grantor = { isOwner: true, scopes: apiKeyScopes }

/** A key that is bound to networks or a time gives nothing: a person would be free of both. */
export function grantorOfKey(key: {
  readonly scopes: readonly ApiKeyScope[]
  readonly networks: readonly string[]
  readonly expiresAt: Date | null
}): Grantor {
  if (key.networks.length > 0 || key.expiresAt !== null) return { isOwner: false, scopes: [] }
  return key.scopes.length === 0 ? fullGrantor : { isOwner: false, scopes: key.scopes }
}

/** Of a user, in all tenants. */
export interface Rights {
  readonly operatorRole: OperatorRole | null
  /** Of an operator. */
  readonly content: boolean
  readonly memberships: readonly Membership[]
}

/** The inviter of a user had the link, and so may have set the password. */
export interface Inviter extends Grantor {
  /** The only one for which roles could be given. null: all tenants. */
  readonly tenantId: string | null
}

/** Whether somebody may give all of it. */
export function mayGiveAll(
  inviter: Inviter,
  { operatorRole, content, memberships }: Rights,
): boolean {
  if (operatorRole !== null)
    return inviter.tenantId === null && mayGive(inviter, { role: operatorRole, content })
  return memberships.every(
    ({ tenantId, ...standing }) =>
      (inviter.tenantId ?? tenantId) === tenantId && mayGive(inviter, standing),
  )
}

function mayGive(grantor: Grantor, standing: Standing): boolean {
  const isWithin = neededToGive(standing).every((scope) => grantor.scopes.includes(scope))
  const { role } = standing
  const isOwners = role === 'owner' || role === 'operator' || role === 'operator_viewer'
  return isWithin && (grantor.isOwner || !isOwners)
}

/** With the content of mail by default, as far as the grantor has it. */
export function decideStanding<Role extends UserRole>(
  grantor: Grantor,
  role: Role,
  content: boolean | undefined,
): Standing & { readonly role: Role } {
  const isReader = grantor.scopes.includes('content')
  const standing = { role, content: content ?? (hasContentByDefault(role) && isReader) }
  if (mayGive(grantor, standing)) return standing
  if (grantor.scopes.length === 0)
    throw new ApiError('forbidden', {
      message:
        'An API key with networks or an expiry gives no role: use a key without both, or ask an owner',
    })
  throw new ApiError('forbidden', {
    message: 'Nobody gives a person more than they may do themselves: see the role and `content`',
  })
}

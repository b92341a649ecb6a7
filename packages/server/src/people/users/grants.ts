/**
 * Nobody gives a person more than they may do themselves (docs/reference/people.md#members): neither a role
 * above their own, nor the content of mail, nor what the scopes of a key leave out.
 */
import { type ApiKeyScope, apiKeyScopes, type UserRole } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import {
  hasContentByDefault,
  neededToGive,
  type Standing,
} from '../../platform/http/sessions/decide-permission.ts'

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

/** With the content of mail by default, as far as the grantor has it. */
export function decideStanding<Role extends UserRole>(
  grantor: Grantor,
  role: Role,
  content: boolean | undefined,
): Standing & { readonly role: Role } {
  const isReader = grantor.scopes.includes('content')
  const standing = { role, content: content ?? (hasContentByDefault(role) && isReader) }
  const isWithin = neededToGive(standing).every((scope) => grantor.scopes.includes(scope))
  const isOwners = role === 'owner' || role === 'operator' || role === 'operator_viewer'
  if (isWithin && (grantor.isOwner || !isOwners)) return standing
  throw new ApiError('forbidden', {
    message: 'Nobody gives a person more than they may do themselves: see the role and `content`',
  })
}

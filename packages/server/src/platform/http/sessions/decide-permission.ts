/**
 * What a person may call (docs/reference/people.md#roles): decided by the role, and by what the operation's one
 * definition says.
 *
 * A role stands for scopes of keys. The content of mail is a permission of its own, whatever the role is.
 */
import {
  type ApiKeyScope,
  apiKeyScopes,
  type MemberRole,
  operatorRoles,
  type UserRole,
  userRoles,
} from '@postrider/contract'

/** What a person is to one call: over all tenants, or in the tenant that the call names. */
export interface Standing {
  readonly role: UserRole
  readonly content: boolean
}

/** What an operation's definition says. */
export interface PermissionRule {
  readonly auth: 'tenant' | 'admin'
  readonly isRead: boolean
  readonly scopes: readonly ApiKeyScope[]
  /** The role `support` may call it, too. */
  readonly isForSupport: boolean
}

const SCOPES_OF_ROLE: Readonly<Record<UserRole, readonly ApiKeyScope[]>> = {
  operator: apiKeyScopes,
  operator_viewer: ['read'],
  owner: apiKeyScopes,
  developer: ['send', 'webhooks', 'mailers', 'read'],
  support: ['read'],
  viewer: ['read'],
}

/** Never empty: a list without scopes would mean everything. */
export function scopesOf({ role, content }: Standing): readonly ApiKeyScope[] {
  const others = SCOPES_OF_ROLE[role].filter((scope) => scope !== 'content')
  return content ? [...others, 'content'] : others
}

/** What `support` does beyond its scopes (`isForSupport`) needs `send` of a key. */
export function neededToGive(standing: Standing): readonly ApiKeyScope[] {
  const scopes = scopesOf(standing)
  return standing.role === 'support' ? [...scopes, 'send'] : scopes
}

export function isOperatorRole(role: UserRole): boolean {
  return operatorRoles.some((one) => one === role)
}

/** Whether the content of mail is read without being asked for, when the role is given. */
export function hasContentByDefault(role: UserRole): boolean {
  return role === 'operator' || role === 'owner' || role === 'support'
}

/** With the content of mail. */
export function rolesThatMayCall(rule: PermissionRule): UserRole[] {
  return userRoles.filter((role) => mayCall({ role, content: true }, rule))
}

export function mayCall(standing: Standing, rule: PermissionRule): boolean {
  const { role } = standing
  if (rule.auth === 'admin') return isOperatorRole(role) && (role === 'operator' || rule.isRead)
  const isContent = rule.scopes.length > 0 && rule.scopes.every((scope) => scope === 'content')
  if (isContent) return standing.content
  if (role === 'operator' || role === 'owner') return true
  // What needs `mailers` even to be read shows secrets of providers.
  if (role === 'operator_viewer' && rule.isRead && rule.scopes.includes('keys')) return true
  if (role === 'support' && rule.isForSupport) return true
  return rule.scopes.some((scope) => scopesOf(standing).includes(scope))
}

const RANK: Readonly<Record<MemberRole, number>> = { owner: 3, developer: 2, support: 1, viewer: 0 }

/** The highest of them; undefined: there is none. */
export function highestOf(roles: readonly MemberRole[]): MemberRole | undefined {
  return roles.toSorted((a, b) => RANK[b] - RANK[a])[0]
}

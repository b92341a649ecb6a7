/** What an operation's one definition says of who may call it. */
import type { ApiKeyScope } from '@postrider/contract'
import { isRead } from '../is-read.ts'
import type { PermissionRule } from './decide-permission.ts'

export function ruleOf(
  { auth, method }: { readonly auth: 'tenant' | 'admin'; readonly method: string },
  details: { readonly scopes?: readonly ApiKeyScope[]; readonly isForSupport?: boolean },
): PermissionRule {
  const { scopes = [], isForSupport = false } = details
  return { auth, isRead: isRead(method), scopes, isForSupport }
}

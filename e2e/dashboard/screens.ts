/** The screens of which pictures are made. `{name}` in a path stands for an id of the story. */
import type { Story } from './story.ts'

export interface Screen {
  readonly name: string
  readonly path: string
  /** Who looks at it; the owner of the tenant, unless named. Nobody has logged in for `nobody`. */
  readonly as?: keyof Story['people'] | 'nobody'
}

export const screens: readonly Screen[] = [
  { name: 'login', path: '/app/login', as: 'nobody' },
  { name: 'overview', path: '/app/t/{tenant}' },
  { name: 'emails', path: '/app/t/{tenant}/emails' },
  { name: 'emails-failed', path: '/app/t/{tenant}/emails?status=failed' },
  { name: 'email', path: '/app/t/{tenant}/emails/{email}' },
  { name: 'email-preview', path: '/app/t/{tenant}/emails/{email}?tab=preview' },
  { name: 'account', path: '/app/account' },
  { name: 'operator-tenants', path: '/app/operator/tenants', as: 'operator' },
  { name: 'operator-tenant', path: '/app/operator/tenants/{tenant}', as: 'operator' },
  { name: 'operator-health', path: '/app/operator/health', as: 'operator' },
  { name: 'operator-queues', path: '/app/operator/queues', as: 'operator' },
  { name: 'operator-search', path: '/app/operator/search?q={mailer}', as: 'operator' },
  { name: 'operator-system', path: '/app/operator/system', as: 'operator' },
  { name: 'operator-users', path: '/app/operator/users', as: 'operator' },
  { name: 'operator-oidc', path: '/app/operator/oidc', as: 'operator' },
  { name: 'operator-audit', path: '/app/operator/audit', as: 'operator' },
]

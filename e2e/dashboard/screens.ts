/** The screens of which pictures are made. `{name}` in a path stands for an id of the story. */
import type { Story } from './story.ts'

export interface Screen {
  readonly name: string
  readonly path: string
  /** The height of its picture in the documents; without it they have none. */
  readonly pictured?: number
  /** Who looks at it; the owner of the tenant, unless named. Nobody has logged in for `nobody`. */
  readonly as?: keyof Story['people'] | 'nobody'
}

export const screens: readonly Screen[] = [
  { name: 'login', path: '/app/login', as: 'nobody' },
  { name: 'overview', path: '/app/t/{tenant}', pictured: 1000 },
  { name: 'emails', path: '/app/t/{tenant}/emails' },
  { name: 'emails-failed', path: '/app/t/{tenant}/emails?status=failed' },
  { name: 'email', path: '/app/t/{tenant}/emails/{pictured}', pictured: 1000 },
  { name: 'email-to-many', path: '/app/t/{tenant}/emails/{email}' },
  { name: 'email-preview', path: '/app/t/{tenant}/emails/{email}?tab=preview' },
  { name: 'live', path: '/app/t/{tenant}/live' },
  { name: 'mailers', path: '/app/t/{tenant}/mailers' },
  { name: 'mailer', path: '/app/t/{tenant}/mailers/{mailer}' },
  { name: 'mailer-failing', path: '/app/t/{tenant}/mailers/{failing}', pictured: 1000 },
  { name: 'mailer-oauth', path: '/app/t/{tenant}/mailers/{oauth}' },
  { name: 'mailer-mailbox', path: '/app/t/{tenant}/mailers/{mailbox}' },
  { name: 'oauth-apps', path: '/app/t/{tenant}/mailers/oauth-apps' },
  {
    name: 'oauth-connected',
    path: '/app/t/{tenant}/mailers/connected?success=true&mailer_id={mailbox}',
  },
  {
    name: 'oauth-refused',
    path: '/app/t/{tenant}/mailers/connected?success=false&error=address_mismatch',
  },
  { name: 'domains', path: '/app/t/{tenant}/domains' },
  { name: 'templates', path: '/app/t/{tenant}/templates' },
  { name: 'template', path: '/app/t/{tenant}/templates/{template}' },
  { name: 'template-new', path: '/app/t/{tenant}/templates/new' },
  { name: 'suppressions', path: '/app/t/{tenant}/suppressions' },
  { name: 'protection', path: '/app/t/{tenant}/protection' },
  { name: 'webhooks', path: '/app/t/{tenant}/webhooks' },
  { name: 'deliveries', path: '/app/t/{tenant}/deliveries', pictured: 1000 },
  { name: 'inbound', path: '/app/t/{tenant}/inbound' },
  { name: 'inbound-domains', path: '/app/t/{tenant}/inbound?tab=domains' },
  { name: 'inbound-message', path: '/app/t/{tenant}/inbound/messages/{received}' },
  { name: 'mailboxes', path: '/app/t/{tenant}/mailboxes' },
  { name: 'developers', path: '/app/t/{tenant}/developers' },
  { name: 'test-inbox', path: '/app/t/{tenant}/test-inbox' },
  { name: 'email-of-test', path: '/app/t/{tenant}/emails/{tested}' },
  { name: 'inbound-domain', path: '/app/t/{tenant}/inbound/domains/in.asterbooks.test' },
  { name: 'members', path: '/app/t/{tenant}/settings' },
  { name: 'usage', path: '/app/t/{tenant}/settings?tab=usage' },
  { name: 'audit', path: '/app/t/{tenant}/settings?tab=audit' },
  { name: 'alerts', path: '/app/t/{tenant}/settings?tab=alerts' },
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

/** Not every story has an email, a mailer and so on. */
export function isTold(path: string, ids: Story['ids']): boolean {
  return [...path.matchAll(/\{(\w+)\}/g)].every(([, name = '']) => ids[name] !== undefined)
}

/** Ids of the story in place of their names. */
export function fillIn(path: string, ids: Story['ids']): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const id = ids[name]
    if (id === undefined) throw new Error(`the story has no {${name}}`)
    return id
  })
}

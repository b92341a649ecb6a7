/** How the operator's programs do what the empty lists begin with. */
import { snippetsOf } from '../developers/snippets-of.ts'

const key = 'POSTRIDER_ADMIN_TOKEN'

export const tenantSnippets = () =>
  snippetsOf({
    ...{ operation: 'createTenant', path: '/admin/v1/tenants', key },
    result: 'tenant_id, api_key',
    body: { name: 'Shop' },
  })

/** `tenantId`: of the tenant that the person is a member of; without it, an operator. */
export const userSnippets = (tenantId?: string) =>
  snippetsOf({
    ...{ operation: 'createUser', path: '/admin/v1/users', key },
    result: 'invitation_url',
    body: {
      ...{ email: 'grace@example.com', name: 'Grace' },
      ...(tenantId === undefined ? { role: 'operator' } : { role: 'owner', tenants: [tenantId] }),
    },
  })

export const tenantKeySnippets = (tenantId: string) =>
  snippetsOf({
    ...{ operation: 'createApiKey', path: `/admin/v1/tenants/${tenantId}/keys`, key },
    body: { name: 'Shop', scopes: ['send', 'read'] },
    typescript: `const { api_key } = await postrider.createApiKey('${tenantId}', {
  name: 'Shop',
  scopes: ['send', 'read'],
})`,
  })

export const queueSnippets = () =>
  snippetsOf({ operation: 'getQueues', path: '/admin/v1/queues', key })

export const auditSnippets = () =>
  snippetsOf({ operation: 'listAuditOfAllTenants', path: '/admin/v1/audit', key })

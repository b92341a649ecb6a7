import type { SearchKind } from '@postrider/client'
import { expect, it } from 'vitest'
import { pageOfResult } from './find-page.ts'

it.each<[SearchKind, string, string]>([
  ['tenant', 'tn_1', '/operator/tenants/tn_1'],
  ['api_key', 'key_1', '/operator/tenants/tn_1'],
  ['email', '01A', '/t/tn_1/emails/01A'],
  ['recipient', '01A', '/t/tn_1/emails/01A'],
  ['mailer', 'smtp_1', '/t/tn_1/mailers/smtp_1'],
  ['webhook', 'wh_1', '/t/tn_1/webhooks'],
  ['delivery', 'dlv_1', '/t/tn_1/deliveries/dlv_1'],
  ['domain', 'example.com', '/t/tn_1/domains/example.com'],
  ['user', 'user_1', '/operator/users'],
  ['inbound_domain', 'in.example.com', '/t/tn_1/inbound/domains/in.example.com'],
  ['inbound_message', 'in_1', '/t/tn_1/inbound/messages/in_1'],
  ['event', 'evt_1', '/t/tn_1/live'],
  ['domain', 'a/b?c', '/t/tn_1/domains/a%2Fb%3Fc'],
])('leads from a %s to its page in its tenant', (kind, id, page) => {
  expect(pageOfResult({ kind, id, tenant_id: 'tn_1' })).toEqual({ to: page })
})

it('leads from a suppression to the list, which shows that address alone', () => {
  const found = { kind: 'suppression', id: 'a+b@example.com', tenant_id: 'tn_1' } as const
  expect(pageOfResult(found)).toEqual({
    to: '/t/tn_1/suppressions',
    search: { email: 'a+b@example.com' },
  })
})

import type { SearchKind } from '@postrider/client'
import { expect, it } from 'vitest'
import { pageOfResult } from './find-page.ts'

it.each<[SearchKind, string, string]>([
  ['tenant', 'tn_1', '/operator/tenants/tn_1'],
  ['api_key', 'key_1', '/operator/tenants/tn_1'],
  ['email', '01A', '/t/tn_1/emails/01A'],
  ['recipient', '01A', '/t/tn_1/emails/01A'],
  ['mailer', 'smtp_1', '/t/tn_1/mailers/smtp_1'],
  ['webhook', 'wh_1', '/t/tn_1/webhooks/wh_1'],
  ['delivery', 'dlv_1', '/t/tn_1/deliveries/dlv_1'],
  ['domain', 'example.com', '/t/tn_1/domains/example.com'],
  ['user', 'user_1', '/operator/users'],
  ['suppression', 'a/b?@example.com', '/t/tn_1/suppressions/a%2Fb%3F%40example.com'],
])('leads from a %s to its page in its tenant', (kind, id, page) => {
  expect(pageOfResult({ kind, id, tenant_id: 'tn_1' })).toEqual({ to: page })
})

/**
 * A tenant's first day: every operation is called once with what a newcomer would give it, against a
 * real service, mail servers, a relay provider and webhook receivers. What waits for something waits
 * for that, so that the answers are the same in every run.
 */
import type { createDnsServer, WebhookReceiver } from '@postrider/testkit'
import { sendSmtpTo } from '../send-smtp.ts'
import { certificate, eventsOf, type World } from '../world.ts'
import type { Recorder } from './recorder.ts'

type Call = Recorder['call']
type Dns = Awaited<ReturnType<typeof createDnsServer>>

export interface Scene {
  readonly world: World
  readonly dns: Dns
  readonly call: Call
  readonly receiver: WebhookReceiver
  useKey(apiKey: string): void
  /** What an example shows in place of what is there on this machine. */
  readonly texts: Map<string, string>
  readonly servers: Map<number, { readonly host: string; readonly port: number }>
}

const password = 'correct horse battery staple'
export const LETTER = [
  'From: Ada Lovelace <ada@example.com>',
  'To: support@inbound.example.com',
  'Subject: My order 1234',
  'Message-ID: <order-1234@example.com>',
  'Date: Fri, 20 Nov 2026 13:01:02 +0000',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/plain; charset=utf-8',
  '',
  'Where is it?',
  '--b',
  'Content-Type: text/plain; name=order.txt',
  'Content-Disposition: attachment; filename=order.txt',
  '',
  'Order 1234',
  '--b--',
  '',
].join('\r\n')

export async function playOperations(scene: Scene): Promise<void> {
  await tenants(scene)
  await webhooks(scene)
  await mailers(scene)
  const refId = await emails(scene)
  await templates(scene)
  await deliveries(scene, refId)
  await suppressions(scene)
  await keys(scene)
  await relaysAndDomains(scene)
  await oauth(scene)
  await inbound(scene)
  await scene.call('getPhishingSettings')
  await scene.call('updatePhishingSettings', {
    body: { threshold: 70, blocked_domains: ['bad.example.com'] },
  })
  await scene.call('deleteWebhook', { body: { event: 'EMAIL_EVENT' } })
}

async function tenants({ call, useKey }: Scene): Promise<void> {
  const { tenant_id, api_key } = await call('createTenant', { body: { name: 'Example Ltd' } })
  useKey(api_key)
  await call('listTenants')
  const params = { tenant_id }
  await call('getTenant', { params })
  const gone = await call('createTenant', { body: { name: 'Old Ltd' }, isExample: false })
  await call('deleteTenant', {
    params: { tenant_id: gone.tenant_id },
    query: { confirm: 'Old Ltd' },
  })
  await call('updateTenant', {
    params,
    body: { quotas: { emails_per_day: 100_000, queued_max: 500_000 } },
  })
  const { key_id } = await call('createApiKey', {
    params,
    body: { name: 'Shop', scopes: ['send', 'read'] },
  })
  await call('listApiKeys', { params })
  await call('revokeApiKey', { params: { key_id } })
  const email = 'grace@example.com'
  const { user, invitation_url } = await call('createUser', {
    body: { email, name: 'Grace', role: 'support', tenants: [tenant_id] },
  })
  await call('acceptInvitation', { body: { token: invitation_url.split('#')[1], password } })
  await sessions(call, email)
  const ofUser = { user_id: user.user_id }
  await call('listUsers')
  await call('getUser', { params: ofUser })
  await call('updateUser', { params: ofUser, body: { role: 'developer' } })
  await call('inviteUser', { params: ofUser })
  await call('deleteUser', { params: ofUser })
}

async function sessions(call: Call, email: string): Promise<void> {
  const body = { email, password }
  const another = await call('createSession', { body, isExample: false })
  await call('createSession', { body })
  await call('getSession')
  await call('listSessions')
  await call('revokeSession', { params: { session_id: another.session_id } })
  await call('deleteSession')
}

async function webhooks({ call, receiver }: Scene): Promise<void> {
  await call('registerWebhook', {
    body: {
      webhook_url: `${receiver.origin}/postrider`,
      event: 'EMAIL_EVENT',
      method: 'POST',
      headers: { 'X-Webhook-Secret': 'a long random value' },
      webhook_options: { events: { delivery: true, bounce: true, smtp_error: true } },
      signing: true,
    },
  })
  await call('registerWebhook', {
    isExample: false,
    body: {
      webhook_url: `${receiver.origin}/domains`,
      event: 'DOMAIN_VERIFICATION',
      method: 'POST',
    },
  })
  await call('updateWebhook', {
    body: {
      event: 'EMAIL_EVENT',
      webhook_options: { events: { delivery: true, bounce: true, smtp_error: true, open: true } },
    },
  })
  const { webhooks } = await call('listWebhooks')
  const { webhook_id } = webhooks.find(({ event }: { event: string }) => event === 'EMAIL_EVENT')
  const params = { webhook_id }
  await call('sendTestEvent', { params, body: { event: 'MAIL_DELIVERED' } })
  await call('pauseWebhook', { params })
  await call('getWebhookStatus', { params })
  await call('resumeWebhook', { params })
  await call('rotateSigningSecret', { params })
  await alerts({ call, receiver })
}

async function alerts({ call, receiver }: Pick<Scene, 'call' | 'receiver'>): Promise<void> {
  const url = `${receiver.origin}/alerts`
  await call('setAlerts', { body: { url, kinds: ['mailer_deactivated', 'queue_late'] } })
  await call('getAlerts')
  await call('deleteAlerts')
  await call('setOperatorAlerts', { body: { url, kinds: ['queue_late', 'disk_full'] } })
  await call('getOperatorAlerts')
  await call('deleteOperatorAlerts')
}

async function mailers({ call, world, receiver, servers }: Scene): Promise<void> {
  const users = { 'news@example.com': password, 'support@example.com': password }
  const smtp = await world.newSmtpServer({
    tls: { mode: 'starttls', ...certificate },
    auth: { users },
    script: { 'nobody@example.com': ['550 5.1.1 No such user here'] },
  })
  servers.set(smtp.port, { host: 'smtp.example.com', port: 587 })
  const config = {
    host: smtp.host,
    port: smtp.port,
    username: 'news@example.com',
    password,
    secure: 'Auto',
  }
  const { mailer } = await call('configureSMTP', {
    body: {
      name: 'News',
      email: 'news@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      config,
    },
  })
  const params = { mailer_id: mailer.mailer_id }
  await call('updateSMTP', { params, body: { limits: { per_minute: 60 } } })
  await call('getSMTPConfig', { params })
  await call('getMailerActivity', { params })
  await call('testMailer', { params, body: { to: 'ada@example.com' } })
  const imap = await world.newImapServer({
    tls: { mode: 'implicit', ...certificate },
    auth: { users },
  })
  servers.set(imap.port, { host: 'imap.example.com', port: 993 })
  const { mailer: mailbox } = await call('configureIMAP', {
    body: {
      name: 'Support',
      email: 'support@example.com',
      config_type: 'imap',
      connection_type: 'basic',
      config: {
        ...config,
        host: imap.host,
        port: imap.port,
        username: 'support@example.com',
        secure: 'SSL',
      },
      webhook: { webhook_url: `${receiver.origin}/support` },
    },
  })
  const ofMailbox = { mailer_id: mailbox.mailer_id }
  await call('updateIMAP', { params: ofMailbox, body: { name: 'Support desk' } })
  await until(async () => {
    const found = await call('getIMAPConfig', { params: ofMailbox, isExample: false })
    return found.mailer.mailbox.state === 'watched'
  })
  await call('getIMAPConfig', { params: ofMailbox })
  await call('listMailers')
  await call('deleteIMAPConfig', { params: ofMailbox })
  const spare = await call('configureSMTP', {
    isExample: false,
    body: {
      name: 'Spare',
      email: 'spare@example.com',
      config_type: 'smtp',
      connection_type: 'basic',
      config,
    },
  })
  await call('deleteSMTPConfig', { params: { mailer_id: spare.mailer.mailer_id } })
}

async function emails({ call, receiver }: Scene): Promise<string> {
  const letter = {
    from: { email: 'news@example.com', name: 'Example Ltd' },
    to: [{ email: 'ada@example.com', name: 'Ada Lovelace' }],
    subject: 'Your order 1234',
    content: [
      { type: 'text/html', value: '<p>Hello Ada, your order is on its way.</p>' },
      { type: 'text/plain', value: 'Hello Ada, your order is on its way.' },
    ],
    campaign_id: 'orders',
    custom_args: { order_id: 1234 },
  }
  const { ref_id } = await call('sendEmail', {
    headers: { 'Idempotency-Key': 'order-1234' },
    body: letter,
  })
  await call('sendBatch', {
    body: {
      messages: [
        {
          ...letter,
          to: [1235, 1236].map((order_id) => ({
            email: `buyer-${order_id}@example.com`,
            ...{ template_data: { order_id }, custom_args: { order_id } },
          })),
          subject: 'Your order {{ order_id }}',
          idempotency_key: 'orders-1235',
        },
        { ...letter, from: { email: 'nobody@example.net' }, idempotency_key: 'order-1237' },
      ],
    },
  })
  const told = (event: string) =>
    receiver.waitUntil(
      // A test event is one, too, and may come before.
      (requests) => eventsOf(onPath(requests, '/postrider')).filter(isReal).some(isEvent(event)),
      WAIT_MS,
    )
  await told('MAIL_DELIVERED')
  const refused = await call('sendEmail', {
    isExample: false,
    body: { ...letter, to: [{ email: 'nobody@example.com' }] },
  })
  await told('SMTP_ERROR')
  await until(async () => {
    const { email } = await call('getEmail', { params: { ref_id }, isExample: false })
    return email.deliveries.some(isDelivered)
  })
  await call('getEmail', { params: { ref_id } })
  const { logs } = await call('getEmailLogs', { query: { email: 'ada@example.com' } })
  await call('exportEmailLogs', { query: { format: 'csv', email: 'ada@example.com' } })
  await call('listEvents', { query: { ref_id } })
  const { events } = await call('listEvents', { isExample: false })
  // Which of the others comes next is a matter of milliseconds.
  await call('streamEvents', {
    query: { event: 'SMTP_ERROR' },
    headers: { 'Last-Event-ID': events.at(-1).event_id },
    until: /^.*?\ndata: .*?\n\n/s,
  })
  const day = logs[0].created_at.slice(0, 10)
  await call('getStatistics', { query: { start: day, end: day, group_by: 'recipient_domain' } })
  await call('getOverview', { query: { start: day, end: day } })
  await call('getUsage')
  await call('rescueEmails', { body: { ref_ids: [refused.ref_id] } })
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const later = await call('sendEmail', {
    isExample: false,
    body: { ...letter, send_at: inAnHour },
  })
  await call('getEmailContent', { params: { ref_id } })
  await call('getRawEmail', { params: { ref_id }, query: { email: 'ada@example.com' } })
  await call('retryEmails', { body: { filter: { recipientDomain: 'example.com' } } })
  await call('cancelEmails', { body: { ref_ids: [later.ref_id], dry_run: true } })
  await call('cancelScheduledEmail', { params: { ref_id: later.ref_id } })
  return ref_id
}

async function templates({ call }: Scene): Promise<void> {
  const receipt = {
    name: 'Receipt',
    subject: 'Order {{ order_id }}',
    content: [{ type: 'text/html', value: '<p>Thank you, {{ name }}.</p>' }],
    sample_data: { order_id: 1234, name: 'Ada' },
  }
  await call('previewTemplateDraft', { body: receipt })
  const { template } = await call('createTemplate', { body: receipt })
  const params = { template_id: template.template_id }
  await call('updateTemplate', { params, body: { subject: 'Your order {{ order_id }}' } })
  await call('getTemplate', { params })
  await call('listTemplates')
  await call('previewTemplate', {
    params,
    body: { template_data: { order_id: 1235, name: 'Grace' } },
  })
  await call('deleteTemplate', { params })
}

async function deliveries({ call }: Scene, refId: string): Promise<void> {
  const found = await call('listWebhookDeliveries', { query: { ref_id: refId } })
  const params = { delivery_id: found.deliveries[0].delivery_id }
  await call('getWebhookDelivery', { params })
  await call('redeliver', { params })
  await until(async () => {
    const all = await call('listWebhookDeliveries', { query: { ref_id: refId }, isExample: false })
    return all.deliveries.length > 1 && all.deliveries.every(isDelivered)
  })
  await call('replayWebhookEvents', { body: { ref_id: refId } })
}

async function suppressions({ call }: Scene): Promise<void> {
  const email = 'bob@example.com'
  await call('unsubscribeEmail', { body: { email } })
  await call('addSuppression', {
    body: {
      email: 'eve@example.com',
      note: 'Asked by telephone',
      expires_at: '2999-01-01T00:00:00.000Z',
    },
  })
  await call('importSuppressions', {
    query: { format: 'sendgrid' },
    text: 'status,reason,email,created\n5.1.1,550 No such user,joe@example.com,1732107662\n5.1.1,,joe,\n',
  })
  await call('exportSuppressions')
  await call('listSuppressions', { query: { email } })
  await call('getSuppression', { params: { email } })
  await call('subscribeEmail', { body: { email } })
  await call('unsubscribeEmail', { isExample: false, body: { email } })
  await call('deleteSuppression', { params: { email } })
}

async function keys({ call }: Scene): Promise<void> {
  const { key_id } = await call('createKey', {
    body: { name: 'Reports', scopes: ['read'], networks: ['203.0.113.0/24'] },
  })
  await simulate(call)
  await call('listKeys')
  await call('revokeKey', { params: { key_id } })
  const { member } = await call('createMember', {
    body: { email: 'ada@example.com', name: 'Ada', role: 'viewer' },
  })
  const params = { user_id: member.user_id }
  await call('listMembers')
  await call('inviteMember', { params })
  await call('updateMember', { params, body: { role: 'developer' } })
  await call('deleteMember', { params })
  await call('listAudit')
  await call('listAuditOfAllTenants')
  for (const look of ['getHealth', 'getQueues', 'getSystem'] as const) await call(look)
  await call('search', { query: { q: 'nobody@example.com' } })
}

async function simulate(call: Call): Promise<void> {
  const { api_key } = await call('createKey', {
    isExample: false,
    body: { name: 'Tests', mode: 'test' },
  })
  const { ref_id } = await call('sendEmail', {
    isExample: false,
    headers: { authorization: `Bearer ${api_key}` },
    body: {
      from: { email: 'news@example.com' },
      to: [{ email: 'ada@example.com' }],
      subject: 'Your order 1234',
      content: [{ type: 'text/html', value: '<a href="https://example.com/orders">Orders</a>' }],
      settings: { click_tracking: true },
    },
  })
  await until(async () => {
    const { email } = await call('getEmail', { params: { ref_id }, isExample: false })
    return email.recipients[0].status === 'delivered'
  })
  await call('simulateEvent', { params: { ref_id }, body: { event: 'click' } })
}

async function relaysAndDomains({ call, world, dns, receiver, texts }: Scene): Promise<void> {
  const provider = await world.newSparkPost({ dnsServer: dns.address })
  texts.set(provider.apiBase, 'https://api.sparkpost.com/api/v1')
  texts.set(provider.apiKey, 'an API key of the provider')
  const params = { kind: 'sparkpost' }
  await call('configureRelay', {
    params,
    body: {
      api_key: provider.apiKey,
      api_base: provider.apiBase,
      callback_secret: 'a-long-random-value',
    },
  })
  await call('getRelay', { params })
  const name = 'mail.example.com'
  const { domain } = await call('addDomain', {
    body: { domain: name, custom_args: { customer: 17 } },
  })
  dns.publish(domain.records)
  const ofDomain = { domain: name }
  await call('verifyDomain', { params: ofDomain })
  await receiver.waitUntil((requests) => onPath(requests, '/domains').length > 0, WAIT_MS)
  await call('getDomain', { params: ofDomain })
  await call('listDomains')
  const sending = { limits: { per_second: 20, connections: 4 }, uncertain: 'at_most_once' }
  await call('updateDomain', { params: ofDomain, body: sending })
  await call('rotateDomainKey', { params: ofDomain })
  await call('deleteDomain', { params: ofDomain })
  await call('deleteRelay', { params })
}

async function oauth({ call }: Scene): Promise<void> {
  const { app } = await call('createOAuthApp', {
    body: {
      app_id: 'google',
      provider: 'google',
      client_id: '1234.apps.example.com',
      client_secret: 'a-long-random-value',
      redirect_uris: ['https://shop.example.com/connected'],
    },
  })
  await call('listOAuthApps')
  const params = { app_id: app.app_id }
  await call('updateOAuthApp', { params, body: { client_secret: 'another-long-random-value' } })
  await call('oauthLogin', {
    body: { app_id: app.app_id, redirect_uri: 'https://shop.example.com/connected' },
  })
  const { mailer } = await call('configureSMTP', {
    isExample: false,
    body: {
      name: 'Sales',
      email: 'sales@example.com',
      config_type: 'smtp',
      connection_type: 'oauth',
      config: { app_id: app.app_id, refresh_token: 'a-refresh-token' },
      verify: false,
    },
  })
  const ofMailer = { mailer_id: mailer.mailer_id }
  await call('setOAuthActive', { params: ofMailer, body: { active: false } })
  await call('setMailerActive', { params: ofMailer, body: { active: false } })
  await call('deleteSMTPConfig', { isExample: false, params: ofMailer })
  await call('deleteOAuthApp', { params })
}

async function inbound({ call, world, dns, receiver }: Scene): Promise<void> {
  const name = 'inbound.example.com'
  const params = { domain: name }
  const configured = await call('configureInboundRouting', {
    body: { domain: name, url: `${receiver.origin}/inbound`, method: 'POST' },
  })
  dns.publish(configured.inbound_domain.records)
  await call('getInboundDomain', { params })
  await call('listInboundDomains')
  await call('updateInboundDomain', {
    params,
    body: { headers: { 'X-Webhook-Secret': 'a long random value' } },
  })
  const ofUser = { ...params, username: 'sales' }
  await call('createInboundUsername', {
    params,
    body: { username: 'sales', url: `${receiver.origin}/sales` },
  })
  await call('getInboundUsername', { params: ofUser })
  await call('listInboundUsernames', { params })
  await call('updateInboundUsername', { params: ofUser, body: { active: false } })
  await call('deleteInboundUsername', { params: ofUser })
  const sent = await sendSmtpTo(world.service().inboundPort ?? 0, {
    from: 'ada@example.com',
    to: [`support@${name}`],
    raw: LETTER,
  })
  if (sent.message?.startsWith('250') !== true) throw new Error(`refused: ${sent.message}`)
  await receiver.waitUntil((requests) => onPath(requests, '/inbound').length > 0, WAIT_MS)
  const { inbound_messages } = await call('listInboundMessages')
  const ofMessage = { inbound_id: inbound_messages[0].inbound_id }
  await call('getInboundMessage', { params: ofMessage })
  await call('getRawInboundMessage', { params: ofMessage })
  await call('getInboundAttachment', { params: { ...ofMessage, n: '0' } })
  await call('deleteInboundDomain', { params })
}

const isDelivered = ({ status }: { readonly status: string }) => status === 'delivered'

const isReal = ({ details }: { readonly details: { readonly test?: true } }) =>
  details.test !== true

const isEvent =
  (name: string) =>
  ({ event }: { readonly event: string }) =>
    event === name

export function onPath<Request extends { readonly path: string }>(
  requests: readonly Request[],
  path: string,
): Request[] {
  return requests.filter((request) => request.path === path)
}

const LOOK_EVERY_MS = 100
export const WAIT_MS = 60_000

export async function until(isMet: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS
  while (!(await isMet())) {
    if (performance.now() > deadline) throw new Error('it did not come in time')
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}

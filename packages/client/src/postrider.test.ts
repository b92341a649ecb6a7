import { readdirSync, readFileSync } from 'node:fs'
import { operations, type RelayKind } from '@postrider/contract'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { drop, ok, refusal, reply, startScriptedServer } from '../test/scripted-server.ts'
import { userAgent, version } from './core/user-agent.ts'
import {
  Postrider,
  PostriderError,
  type PostriderOptions,
  type SendBatchInput,
  type SendEmailInput,
  type UpdateWebhookInput,
} from './index.ts'

const id = 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const email: SendEmailInput = {
  from: { email: 'news@example.com' },
  to: [{ email: 'ada@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
}
const registration = {
  webhook_url: 'https://hooks.example.com/',
  event: 'EMAIL_EVENT',
  method: 'POST',
  webhook_options: { events: { delivery: true } },
} as const
const smtp = {
  name: 'News',
  email: 'news@example.com',
  config_type: 'smtp',
  connection_type: 'basic',
  config: { host: 'smtp.example.com', port: 587, secure: 'Auto' },
} as const
const routing = { domain: 'in.example.com', url: 'https://hooks.example.com/in' } as const
const imap = {
  name: 'Support',
  email: 'support@example.com',
  config_type: 'imap',
  connection_type: 'basic',
  config: {
    host: 'imap.example.com',
    port: 993,
    username: 'support@example.com',
    password: 'p',
    secure: 'SSL',
  },
  webhook: { webhook_url: 'https://hooks.example.com/support' },
} as const
/** In the place of every parameter of a path. */
const kind = id as RelayKind as 'sparkpost'
const oauthApp = { provider: 'google', client_id: 'c', client_secret: 's' } as const

const template = {
  name: 'Receipt',
  subject: 'Order {{ id }}',
  content: [{ type: 'text/plain' as const, value: 'Thank you' }],
}

const person = { email: 'ada@example.com', name: 'Ada', role: 'owner' } as const

describe('Postrider', () => {
  it('has every operation in the table of its README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const [, table = ''] = readme.split('\n## Operations\n')
    const named =
      table
        .split('\n## ')[0]
        ?.match(/^\|.*?\|/gm)
        ?.join(' ') ?? ''
    const methods = Object.getOwnPropertyNames(Postrider.prototype)
    expect(
      methods.filter((name) => name !== 'constructor' && !named.includes(`\`${name}\``)),
    ).toEqual([])
  })

  it.each<
    [keyof typeof operations, (client: Postrider) => Promise<unknown>, unknown, query?: string]
  >([
    ['sendEmail', (client) => client.sendEmail(email), email],
    [
      'sendBatch',
      (client) =>
        client.sendBatch({ messages: [{ ...email, idempotency_key: 'k' }], atomic: true }),
      { messages: [{ ...email, idempotency_key: 'k' }], atomic: true },
    ],
    ['cancelScheduledEmail', (client) => client.cancelScheduledEmail(id), undefined],
    ['registerWebhook', (client) => client.registerWebhook(registration), registration],
    [
      'updateWebhook',
      (client) => client.updateWebhook({ event: 'EMAIL_EVENT', active: false }),
      { event: 'EMAIL_EVENT', active: false },
    ],
    [
      'deleteWebhook',
      (client) => client.deleteWebhook({ event: 'EMAIL_EVENT' }),
      { event: 'EMAIL_EVENT' },
    ],
    ['listWebhooks', (client) => client.listWebhooks(), undefined],
    ['configureSMTP', (client) => client.configureSMTP(smtp), smtp],
    [
      'updateSMTP',
      (client) => client.updateSMTP({ mailer_id: id, name: 'N', email: 'n@example.com' }),
      { name: 'N', email: 'n@example.com' },
    ],
    ['getSMTPConfig', (client) => client.getSMTPConfig(id), undefined],
    ['deleteSMTPConfig', (client) => client.deleteSMTPConfig(id), undefined],
    ['configureIMAP', (client) => client.configureIMAP(imap), imap],
    [
      'updateIMAP',
      (client) => client.updateIMAP({ mailer_id: id, folders: ['INBOX', 'Sent'] }),
      { folders: ['INBOX', 'Sent'] },
    ],
    ['getIMAPConfig', (client) => client.getIMAPConfig(id), undefined],
    ['deleteIMAPConfig', (client) => client.deleteIMAPConfig(id), undefined],
    [
      'listMailers',
      (client) => client.listMailers({ state: 'deactivated', pageSize: 10 }),
      undefined,
      '?state=deactivated&pageSize=10',
    ],
    [
      'rescueEmails',
      (client) => client.rescueEmails({ ref_ids: ['r'], dry_run: true }),
      { ref_ids: ['r'], dry_run: true },
    ],
    [
      'retryEmails',
      (client) => client.retryEmails({ filter: { status: 'deferred' } }),
      { filter: { status: 'deferred' } },
    ],
    [
      'cancelEmails',
      (client) => client.cancelEmails({ ref_ids: ['r'], dry_run: true }),
      { ref_ids: ['r'], dry_run: true },
    ],
    [
      'getEmailLogs',
      (client) => client.getEmailLogs({ status: 'failed', startDeliveredDate: '2026-11-20' }),
      undefined,
      '?status=failed&startDeliveredDate=2026-11-20',
    ],
    [
      'exportEmailLogs',
      async (client) =>
        await new Response(
          await client.exportEmailLogs({ format: 'csv', status: 'failed' }),
        ).json(),
      undefined,
      '?format=csv&status=failed',
    ],
    [
      'getEmail',
      (client) => client.getEmail(id, { recipient: 'a+b@c.com' }),
      undefined,
      '?recipient=a%2Bb%40c.com',
    ],
    [
      'listInboundMessages',
      (client) => client.listInboundMessages({ pageSize: 5 }),
      undefined,
      '?pageSize=5',
    ],
    ['getInboundMessage', (client) => client.getInboundMessage(id), undefined],
    [
      'getEmailContent',
      (client) => client.getEmailContent(id, { email: 'a@b.com' }),
      undefined,
      '?email=a%40b.com',
    ],
    [
      'getRawEmail',
      async (client) =>
        await new Response(await client.getRawEmail(id, { email: 'a@b.com' })).json(),
      undefined,
      '?email=a%40b.com',
    ],
    [
      'getRawInboundMessage',
      async (client) => await new Response(await client.getRawInboundMessage(id)).json(),
      undefined,
    ],
    [
      'getInboundAttachment',
      async (client) => await new Response(await client.getInboundAttachment(id, 2)).json(),
      undefined,
    ],
    [
      'getOverview',
      (client) => client.getOverview({ start: new Date(0) }),
      undefined,
      '?start=1970-01-01T00%3A00%3A00.000Z',
    ],
    ['getMailerActivity', (client) => client.getMailerActivity(id), undefined],
    [
      'getStatistics',
      (client) => client.getStatistics({ start: new Date(0), interval: 'hour' }),
      undefined,
      '?start=1970-01-01T00%3A00%3A00.000Z&interval=hour',
    ],
    ['subscribeEmail', (client) => client.subscribeEmail('a@b.com'), { email: 'a@b.com' }],
    ['unsubscribeEmail', (client) => client.unsubscribeEmail('a@b.com'), { email: 'a@b.com' }],
    [
      'addSuppression',
      (client) => client.addSuppression({ email: 'a@b.com', expires_at: new Date(0) }),
      { email: 'a@b.com', expires_at: '1970-01-01T00:00:00.000Z' },
    ],
    [
      'importSuppressions',
      (client) => client.importSuppressions('"email"', { format: 'ses' }),
      'email',
      '?format=ses',
    ],
    [
      'exportSuppressions',
      async (client) => await new Response(await client.exportSuppressions()).json(),
      undefined,
    ],
    [
      'listSuppressions',
      (client) => client.listSuppressions({ reason: 'bounced', email: 'a+b@c.com' }),
      undefined,
      '?reason=bounced&email=a%2Bb%40c.com',
    ],
    ['getSuppression', (client) => client.getSuppression(id), undefined],
    ['deleteSuppression', (client) => client.deleteSuppression(id), undefined],
    ['createTemplate', (client) => client.createTemplate(template), template],
    [
      'listTemplates',
      (client) => client.listTemplates({ name: 'Receipt' }),
      undefined,
      '?name=Receipt',
    ],
    ['getTemplate', (client) => client.getTemplate(id, { version: 2 }), undefined, '?version=2'],
    [
      'updateTemplate',
      (client) => client.updateTemplate({ template_id: id, subject: 'New' }),
      { subject: 'New' },
    ],
    [
      'deleteTemplate',
      (client) => client.deleteTemplate(id, { version: 1 }),
      undefined,
      '?version=1',
    ],
    [
      'previewTemplate',
      (client) => client.previewTemplate({ template_id: id, version: 1 }),
      { version: 1 },
    ],
    ['previewTemplateDraft', (client) => client.previewTemplateDraft(template), template],
    ['createOAuthApp', (client) => client.createOAuthApp(oauthApp), oauthApp],
    ['listOAuthApps', (client) => client.listOAuthApps(), undefined],
    [
      'updateOAuthApp',
      (client) => client.updateOAuthApp({ app_id: id, client_secret: 'n' }),
      { client_secret: 'n' },
    ],
    ['deleteOAuthApp', (client) => client.deleteOAuthApp(id), undefined],
    ['oauthLogin', (client) => client.oauthLogin({ app_id: id }), { app_id: id }],
    [
      'testMailer',
      (client) => client.testMailer({ mailer_id: id, to: 'a@b.com' }),
      { to: 'a@b.com' },
    ],
    [
      'setMailerActive',
      (client) => client.setMailerActive({ mailer_id: id, active: false }),
      { active: false },
    ],
    [
      'setOAuthActive',
      (client) => client.setOAuthActive({ mailer_id: id, active: false }),
      { active: false },
    ],
    [
      'configureRelay',
      (client) => client.configureRelay({ kind, api_key: 'k', callback_secret: null }),
      { api_key: 'k', callback_secret: null },
    ],
    ['getRelay', (client) => client.getRelay(kind), undefined],
    ['deleteRelay', (client) => client.deleteRelay(kind), undefined],
    [
      'addDomain',
      (client) => client.addDomain({ domain: 'mail.example.com', ips: [] }),
      { domain: 'mail.example.com', ips: [] },
    ],
    [
      'listDomains',
      (client) => client.listDomains({ state: 'pending', pageSize: 10 }),
      undefined,
      '?state=pending&pageSize=10',
    ],
    ['getDomain', (client) => client.getDomain(id), undefined],
    ['verifyDomain', (client) => client.verifyDomain(id), undefined],
    [
      'updateDomain',
      (client) => client.updateDomain(id, { limits: { per_day: 5 }, uncertain: null }),
      { limits: { per_day: 5 }, uncertain: null },
    ],
    ['rotateDomainKey', (client) => client.rotateDomainKey(id), undefined],
    ['deleteDomain', (client) => client.deleteDomain(id), undefined],
    ['configureInboundRouting', (client) => client.configureInboundRouting(routing), routing],
    [
      'updateInboundDomain',
      (client) => client.updateInboundDomain(id, { active: false }),
      { active: false },
    ],
    ['getInboundDomain', (client) => client.getInboundDomain(id), undefined],
    ['deleteInboundDomain', (client) => client.deleteInboundDomain(id), undefined],
    [
      'listInboundDomains',
      (client) => client.listInboundDomains({ pageSize: 10 }),
      undefined,
      '?pageSize=10',
    ],
    [
      'createInboundUsername',
      (client) => client.createInboundUsername({ domain: id, username: 'support', url: null }),
      { username: 'support', url: null },
    ],
    [
      'updateInboundUsername',
      (client) => client.updateInboundUsername(id, id, { headers: {} }),
      { headers: {} },
    ],
    ['getInboundUsername', (client) => client.getInboundUsername(id, id), undefined],
    ['deleteInboundUsername', (client) => client.deleteInboundUsername(id, id), undefined],
    [
      'listInboundUsernames',
      (client) => client.listInboundUsernames(id, { pageToken: 't' }),
      undefined,
      '?pageToken=t',
    ],
    [
      'deleteTenant',
      (client) => client.deleteTenant(id, { confirm: 'Acme & Co' }),
      undefined,
      '?confirm=Acme%20%26%20Co',
    ],
    ['getTenant', (client) => client.getTenant(id), undefined],
    [
      'updateTenant',
      (client) => client.updateTenant(id, { state: 'suspended', quotas: { queued_max: null } }),
      { state: 'suspended', quotas: { queued_max: null } },
    ],
    ['createTenant', (client) => client.createTenant({ name: 'N' }), { name: 'N' }],
    [
      'createApiKey',
      (client) => client.createApiKey(id, { scopes: ['send'], expires_at: new Date(0) }),
      { scopes: ['send'], expires_at: '1970-01-01T00:00:00.000Z' },
    ],
    ['createApiKey', (client) => client.createApiKey(id), {}],
    ['revokeApiKey', (client) => client.revokeApiKey(id), undefined],
    ['getHealth', (client) => client.getHealth(), undefined],
    [
      'getQueues',
      (client) => client.getQueues({ kind: 'webhook', pageSize: 5 }),
      undefined,
      '?kind=webhook&pageSize=5',
    ],
    ['getSystem', (client) => client.getSystem(), undefined],
    [
      'setAlerts',
      (client) => client.setAlerts({ url: 'https://a.test/', kinds: ['queue_late'] }),
      { url: 'https://a.test/', kinds: ['queue_late'] },
    ],
    [
      'setOperatorAlerts',
      (client) => client.setOperatorAlerts({ url: 'https://a.test/' }),
      { url: 'https://a.test/' },
    ],
    ['getUsage', (client) => client.getUsage(), undefined],
    ['getAlerts', (client) => client.getAlerts(), undefined],
    ['deleteAlerts', (client) => client.deleteAlerts(), undefined],
    ['getOperatorAlerts', (client) => client.getOperatorAlerts(), undefined],
    ['deleteOperatorAlerts', (client) => client.deleteOperatorAlerts(), undefined],
    ['search', (client) => client.search({ q: 'a+b@c.com' }), undefined, '?q=a%2Bb%40c.com'],
    ['getPhishingSettings', (client) => client.getPhishingSettings(), undefined],
    [
      'updatePhishingSettings',
      (client) => client.updatePhishingSettings({ threshold: 80 }),
      { threshold: 80 },
    ],
    [
      'listEvents',
      (client) => client.listEvents({ event: 'MAIL_CLICKED', email: 'a+b@c.com' }),
      undefined,
      '?event=MAIL_CLICKED&email=a%2Bb%40c.com',
    ],
    [
      'listWebhookDeliveries',
      (client) => client.listWebhookDeliveries({ status: 'parked', pageSize: 10 }),
      undefined,
      '?status=parked&pageSize=10',
    ],
    ['createMember', (client) => client.createMember(person), person],
    [
      'updateMember',
      (client) => client.updateMember({ user_id: id, role: 'viewer' }),
      { role: 'viewer' },
    ],
    ['deleteMember', (client) => client.deleteMember(id), undefined],
    ['inviteMember', (client) => client.inviteMember(id), undefined],
    ['inviteUser', (client) => client.inviteUser(id), undefined],
    ['createUser', (client) => client.createUser(person), person],
    ['getUser', (client) => client.getUser(id), undefined],
    ['updateUser', (client) => client.updateUser({ user_id: id, name: 'N' }), { name: 'N' }],
    ['deleteUser', (client) => client.deleteUser(id), undefined],
    ['getWebhookStatus', (client) => client.getWebhookStatus(id), undefined],
    ['pauseWebhook', (client) => client.pauseWebhook(id), undefined],
    ['resumeWebhook', (client) => client.resumeWebhook(id), undefined],
    ['rotateSigningSecret', (client) => client.rotateSigningSecret(id), undefined],
    [
      'sendTestEvent',
      (client) => client.sendTestEvent({ webhook_id: id, event: 'MAIL_BOUNCE' }),
      { event: 'MAIL_BOUNCE' },
    ],
    ['getWebhookDelivery', (client) => client.getWebhookDelivery(id), undefined],
    ['redeliver', (client) => client.redeliver(id), undefined],
    [
      'replayWebhookEvents',
      (client) => client.replayWebhookEvents({ ref_id: 'r', undelivered: true }),
      { ref_id: 'r', undelivered: true },
    ],
  ])(
    '[4] sends %s with the documented method, path and body',
    async (name, run, body, query = '') => {
      const { method, path, status } = operations[name]
      const answer = { success: true, message: 'm', ref_id: 'r' }
      const server = await startScriptedServer(reply(status, answer))
      const client = new Postrider({ apiKey: 'pr_secret', basePath: server.url })
      await expect(run(client)).resolves.toStrictEqual(answer)
      expect(server.requests).toHaveLength(1)
      const request = server.requests[0]
      expect(request).toMatchObject({
        method,
        path: path.replace('{n}', '2').replaceAll(/\{\w+\}/g, id) + query,
      })
      expect(request?.headers.authorization).toBe('Bearer pr_secret')
      expect(request?.body).toBe(body === undefined ? '' : JSON.stringify(body))
    },
  )

  describe('with a session', () => {
    const COOKIE = { 'x-postrider-session': '1' }

    async function sessionClient(tenant?: string) {
      const server = await startScriptedServer(...Array.from({ length: 8 }, () => ok))
      const credentials: unknown[] = []
      const client = new Postrider({
        session: true,
        basePath: server.url,
        tenant,
        fetch: (url, init) => {
          credentials.push(init?.credentials)
          return fetch(url, init)
        },
      })
      return { server, client, credentials }
    }

    it('calls operations under /ui/api, by cookies and for a tenant, without a key', async () => {
      const { server, client, credentials } = await sessionClient('tn_a')
      await client.listWebhooks()
      await client.listUsers()
      await client.deleteMember(id, { headers: { 'X-Postrider-Tenant': 'tn_b' } })
      expect(server.requests).toMatchObject([
        { path: '/ui/api/v1/webhook', headers: { ...COOKIE, 'x-postrider-tenant': 'tn_a' } },
        { path: '/ui/api/admin/v1/users', headers: COOKIE },
        { method: 'DELETE', headers: { ...COOKIE, 'x-postrider-tenant': 'tn_b' } },
      ])
      expect(server.requests.filter(({ headers }) => 'authorization' in headers)).toEqual([])
      expect(credentials).toEqual(['include', 'include', 'include'])
    })

    it('logs in and out at the addresses of the contract', async () => {
      const { server, client } = await sessionClient()
      const login = { email: 'ada@example.com', password: 'correct horse battery' }
      await client.acceptInvitation({ token: 't', password: login.password })
      await client.createSession(login)
      await client.getSession()
      await client.listSessions()
      await client.revokeSession(id)
      await client.deleteSession()
      expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
        'POST /ui/invitation',
        'POST /ui/session',
        'GET /ui/session',
        'GET /ui/sessions',
        `DELETE /ui/sessions/${id}`,
        'DELETE /ui/session',
      ])
      expect(server.requests[1]?.body).toBe(JSON.stringify(login))
    })

    it('takes no key, and a key takes a tenant', async () => {
      expect(() => new Postrider({ session: true, apiKey: 'k' })).toThrow(/exclude each other/)
      expect(() => new Postrider({ apiKey: 'k', tenant: '' })).toThrow(/tenant must be/)
      const server = await startScriptedServer(ok)
      const client = new Postrider({ apiKey: 'k', tenant: 'tn_a', basePath: server.url })
      await client.listWebhooks()
      expect(server.requests[0]).toMatchObject({
        path: '/v1/webhook',
        headers: { authorization: 'Bearer k', 'x-postrider-tenant': 'tn_a' },
      })
    })
  })

  it('has every operation', () => {
    const client = new Postrider({ apiKey: 'k' })
    expect(Object.keys(operations).filter((name) => !(name in client))).toStrictEqual([])
  })

  it('sends a file as it is, with its type', async () => {
    const server = await startScriptedServer(drop, ok, ok)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await client.importSuppressions(new Blob(['email\n', 'ä@b.com']))
    await client.importSuppressions(new TextEncoder().encode('email\nä@b.com'))
    expect(server.requests.map(({ headers, body }) => [headers['content-type'], body])).toEqual(
      Array(3).fill(['text/csv', 'email\nä@b.com']),
    )
    await expect(client.importSuppressions(undefined as unknown as string)).rejects.toMatchObject({
      code: 'invalid_argument',
    })
  })

  it('keeps every operation under the path of basePath, with or without a slash', async () => {
    const server = await startScriptedServer(ok, ok)
    for (const basePath of [`${server.url}/mail`, `${server.url}/mail//`]) {
      await new Postrider({ apiKey: 'k', basePath }).listWebhooks()
    }
    expect(server.requests.map(({ path }) => path)).toStrictEqual(Array(2).fill('/mail/v1/webhook'))
  })

  it('uses a given fetch', async () => {
    const urls: unknown[] = []
    const client = new Postrider({
      apiKey: 'k',
      basePath: 'https://mail.example.com',
      fetch: async (url) => {
        urls.push(url)
        return Response.json({ success: true, message: 'm', webhooks: [] })
      },
    })
    await client.listWebhooks()
    expect(urls).toStrictEqual(['https://mail.example.com/v1/webhook'])
  })

  it('rejects, never throws, on arguments of the wrong shape', async () => {
    const client = new Postrider({ apiKey: 'k', maxRetries: 0 })
    // biome-ignore lint/suspicious/noExplicitAny: what a caller without types may pass
    const wrong = undefined as any
    await expect(client.getSMTPConfig('')).rejects.toBeInstanceOf(PostriderError)
    await expect(client.deleteSMTPConfig('../webhook')).rejects.toBeInstanceOf(PostriderError)
    await expect(client.getSMTPConfig(wrong)).rejects.toBeInstanceOf(PostriderError)
    await expect(client.updateSMTP(wrong)).rejects.toBeInstanceOf(Error)
  })

  it.each<[string, Partial<PostriderOptions>]>([
    ['an empty key', { apiKey: '' }],
    ['a key with a line break', { apiKey: 'pr_secret\r\n' }],
    ['a base that is no URL', { basePath: 'mail.example.com' }],
    ['a base of another scheme', { basePath: 'ftp://example.com' }],
    ['a base with credentials', { basePath: 'https://u:pr_secret@example.com' }],
    ['a base with a query', { basePath: 'https://example.com/?a=b' }],
    ['a time-out of nothing', { timeout: 0 }],
    ['an endless time-out', { timeout: Number.POSITIVE_INFINITY }],
    ['retries that are no count', { maxRetries: -1 }],
    ['half a retry', { maxRetries: 0.5 }],
    ['an idle time-out of nothing', { idleTimeout: 0 }],
    ['a fetch that is none', { fetch: 'fetch' as unknown as typeof fetch }],
    ['an option that there is not', { baseUrl: 'https://example.com' } as object],
  ])('cannot be constructed with %s', (_, options) => {
    const make = () => new Postrider({ apiKey: 'k', ...options })
    expect(make).toThrow(TypeError)
    expect(make).not.toThrow('pr_secret')
  })
})

describe('sendEmail', () => {
  it('has one idempotency key over its attempts, and another for each email', async () => {
    const server = await startScriptedServer(drop, ok, ok)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await client.sendEmail(email)
    await client.sendEmail(email)
    const [first, second, third] = server.requests.map((r) => r.headers['idempotency-key'])
    expect(first).toMatch(/^[0-9a-f]{32}$/)
    expect(second).toBe(first)
    expect(third).toMatch(/^[0-9a-f]{32}$/)
    expect(third).not.toBe(first)
  })

  it('sends the key of the caller', async () => {
    const server = await startScriptedServer(refusal(409, 'idempotency_mismatch'))
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await expect(client.sendEmail(email, { idempotencyKey: 'order-1' })).rejects.toMatchObject({
      status: 409,
      code: 'idempotency_mismatch',
    })
    expect(server.requests[0]?.headers['idempotency-key']).toBe('order-1')
  })
})

describe('sendBatch', () => {
  it('gives each message a key over its attempts, or leaves that of the caller', async () => {
    const server = await startScriptedServer(drop, ok)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await client.sendBatch({ messages: [email, { ...email, idempotency_key: 'order-1' }, email] })
    expect(server.requests[1]?.body).toBe(server.requests[0]?.body)
    const { messages } = JSON.parse(server.requests[0]?.body ?? '')
    const keys = messages.map((one: { idempotency_key: string }) => one.idempotency_key)
    expect(keys[1]).toBe('order-1')
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys[2]).not.toBe(keys[0])
    expect(server.requests[0]?.headers).not.toHaveProperty('idempotency-key')
  })
})

describe.each(['subscribeEmail', 'unsubscribeEmail', 'deleteSuppression'] as const)(
  '%s',
  (operation) => {
    it('retries when its answer was lost, as it is idempotent', async () => {
      const server = await startScriptedServer(drop, ok)
      const client = new Postrider({ apiKey: 'k', basePath: server.url })
      await expect(client[operation]('a@b.com')).resolves.toMatchObject({ success: true })
      expect(server.requests).toHaveLength(2)
      expect(server.requests[1]?.body).toBe(server.requests[0]?.body)
    })
  },
)

describe('listWebhookDeliveries', () => {
  it('lists everything without parameters', async () => {
    const server = await startScriptedServer(ok)
    await new Postrider({ apiKey: 'k', basePath: server.url }).listWebhookDeliveries()
    expect(server.requests[0]?.path).toBe('/v1/webhook/deliveries')
  })
})

describe('parameters that are times', () => {
  const at = new Date('2026-11-20T19:00:00+01:00')
  const text = '2026-11-20T18:00:00.000Z'
  const email = {
    ...{ from: { email: 'a@example.com' }, to: [{ email: 'b@example.com' }], subject: 's' },
    content: [{ type: 'text/plain' as const, value: 'v' }],
  }
  const operations: [string, (client: Postrider, at: Date | string) => Promise<unknown>][] = [
    ['listWebhookDeliveries', (client, start) => client.listWebhookDeliveries({ start, end: at })],
    ['getOverview', (client, start) => client.getOverview({ start })],
    ['getStatistics', (client, start) => client.getStatistics({ start })],
    ['replayWebhookEvents', (client, start) => client.replayWebhookEvents({ start })],
    ['sendEmail', (client, send_at) => client.sendEmail({ ...email, send_at })],
    [
      'sendBatch',
      (client, send_at) =>
        client.sendBatch({ messages: [{ ...email, send_at, idempotency_key: 'k' }] }),
    ],
  ]

  it.each(operations)('accept a Date as well as text in %s', async (_, run) => {
    const answer = reply(200, { success: true, message: 'm', deliveries: [] })
    const server = await startScriptedServer(answer, answer)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await run(client, at)
    await run(client, text)
    const [first, second] = server.requests.map(({ path, body }) => `${path} ${body}`)
    expect(first).toBe(second)
    expect(decodeURIComponent(first ?? '')).toContain(text)
  })

  it.each(operations)('may not be an invalid Date in %s', async (_, run) => {
    const client = new Postrider({ apiKey: 'k', basePath: 'http://127.0.0.1:9' })
    await expect((async () => run(client, new Date('never')))()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/^(start|send_at) is an invalid Date$/),
    })
  })
})

describe('listWebhookDeliveries in a loop', () => {
  const page = (deliveries: string[], nextPageToken?: string) =>
    reply(200, {
      success: true,
      message: 'm',
      deliveries: deliveries.map((delivery_id) => ({ delivery_id })),
      nextPageToken,
    })

  it('goes through every page with the same filter', async () => {
    const pages = [page(['a', 'b'], 't/1+'), page([], 't2'), drop, page(['c'])]
    const server = await startScriptedServer(...pages)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    const ids: string[] = []
    for await (const { delivery_id } of client.listWebhookDeliveries({
      ref_id: 'r',
      pageSize: 2,
    })) {
      ids.push(delivery_id)
    }
    expect(ids).toStrictEqual(['a', 'b', 'c'])
    const first = '/v1/webhook/deliveries?ref_id=r&pageSize=2'
    expect(server.requests.map(({ path }) => path)).toStrictEqual([
      first,
      `${first}&pageToken=t%2F1%2B`,
      `${first}&pageToken=t2`,
      `${first}&pageToken=t2`,
    ])
  })

  it('ends at once when its signal is aborted', async () => {
    const server = await startScriptedServer(page(['a'], 't1'), page(['b']))
    const controller = new AbortController()
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    const { signal } = controller
    const all = client.listWebhookDeliveries({}, { signal })[Symbol.asyncIterator]()
    await all.next()
    controller.abort()
    await expect(all.next()).rejects.toMatchObject({ code: 'aborted' })
    expect(server.requests).toHaveLength(1)
  })
})

describe('getEmailLogs', () => {
  const page = (refIds: string[], nextPageToken?: string) =>
    reply(200, {
      success: true,
      message: 'm',
      logs: refIds.map((ref_id) => ({ ref_id })),
      nextPageToken,
    })

  it('is one page when it is awaited, and all pages in a loop', async () => {
    const server = await startScriptedServer(page(['a'], 't1'), page(['a'], 't1'), page(['b']))
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    const logs = client.getEmailLogs({ campaignId: 'spring', pageSize: 1 })
    expect(server.requests).toHaveLength(0)
    expect(await logs).toBe(await logs)
    expect((await logs.finally(() => undefined)).nextPageToken).toBe('t1')
    expect(server.requests).toHaveLength(1)
    const refIds: string[] = []
    for await (const log of logs) refIds.push(log.ref_id)
    expect(refIds).toStrictEqual(['a', 'b'])
    const first = '/v1/email/logs?campaignId=spring&pageSize=1'
    expect(server.requests.map(({ path }) => path)).toStrictEqual([
      first,
      first,
      `${first}&pageToken=t1`,
    ])
  })

  it('begins a loop at a given page, and rejects with the error of a page', async () => {
    const server = await startScriptedServer(page(['c']), refusal(403, 'forbidden'))
    const client = new Postrider({ apiKey: 'k', basePath: server.url, maxRetries: 0 })
    const from = new Date('2026-11-20T00:00:00Z')
    for await (const log of client.getEmailLogs({ startCreatedAt: from, pageToken: 't9' }))
      expect(log.ref_id).toBe('c')
    expect(server.requests[0]?.path).toContain('startCreatedAt=2026-11-20T00%3A00%3A00.000Z')
    expect(server.requests[0]?.path).toContain('pageToken=t9')
    expect(await client.getEmailLogs().catch((error) => error.code)).toBe('forbidden')
  })
})

describe('exportEmailLogs', () => {
  it('rejects with the error of the service before anything is read', async () => {
    const server = await startScriptedServer(refusal(403, 'forbidden'))
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await expect(client.exportEmailLogs({ format: 'csv' })).rejects.toMatchObject({
      status: 403,
      code: 'forbidden',
    })
    expect(server.requests).toHaveLength(1)
  })

  it('rejects when the connection breaks or its signal is aborted', async () => {
    const server = await startScriptedServer(drop)
    const client = new Postrider({ apiKey: 'k', basePath: server.url, maxRetries: 0 })
    const query = { format: 'ndjson', startCreatedAt: new Date(0) } as const
    await expect(client.exportEmailLogs(query)).rejects.toMatchObject({ code: 'connection_error' })
    expect(server.requests).toHaveLength(1)
    const fetch = (_: unknown, init?: RequestInit) => rejectAtAbort(init)
    const never = new Postrider({ apiKey: 'k', fetch, maxRetries: 0 })
    await expect(never.exportEmailLogs(query, { timeout: 5 })).rejects.toMatchObject({
      code: 'timeout',
    })
    const signal = AbortSignal.abort()
    await expect(client.exportEmailLogs(query, { signal })).rejects.toMatchObject({
      code: 'aborted',
    })
  })
})

function rejectAtAbort(init: RequestInit | undefined): Promise<Response> {
  return new Promise((_, reject) => {
    const { signal } = init ?? {}
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

describe('every list', () => {
  type Listing = (client: Postrider) => AsyncIterable<unknown> & PromiseLike<object>
  const lists: Record<string, readonly [string, Listing]> = {
    getEmailLogs: ['logs', (client) => client.getEmailLogs()],
    listInboundMessages: ['inbound_messages', (client) => client.listInboundMessages()],
    listSuppressions: ['suppressions', (client) => client.listSuppressions()],
    listKeys: ['keys', (client) => client.listKeys()],
    listMembers: ['members', (client) => client.listMembers()],
    listUsers: ['users', (client) => client.listUsers()],
    listAudit: ['entries', (client) => client.listAudit()],
    listTenants: ['tenants', (client) => client.listTenants()],
    listApiKeys: ['keys', (client) => client.listApiKeys(id)],
    listAuditOfAllTenants: ['entries', (client) => client.listAuditOfAllTenants()],
    getQueues: ['queues', (client) => client.getQueues()],
    listWebhooks: ['webhooks', (client) => client.listWebhooks()],
    listEvents: ['events', (client) => client.listEvents()],
    listWebhookDeliveries: ['deliveries', (client) => client.listWebhookDeliveries()],
    listMailers: ['mailers', (client) => client.listMailers()],
    listTemplates: ['templates', (client) => client.listTemplates()],
    listOAuthApps: ['apps', (client) => client.listOAuthApps()],
    listInboundDomains: ['inbound_domains', (client) => client.listInboundDomains()],
    listInboundUsernames: ['inbound_usernames', (client) => client.listInboundUsernames('d')],
    listDomains: ['domains', (client) => client.listDomains()],
  }

  it('is tested here', () => {
    const names = Object.getOwnPropertyNames(Postrider.prototype)
    expect(
      names.filter((name) => /^list(?!Sessions)|^getEmailLogs$|^getQueues$/.test(name)).sort(),
    ).toStrictEqual(Object.keys(lists).sort())
    expect(names.filter((name) => name.startsWith('each'))).toStrictEqual([])
  })

  it.each(Object.entries(lists))(
    '%s returns one page when awaited, and all in a loop',
    async (_, [name, list]) => {
      const page = (entries: string[], nextPageToken?: string) =>
        reply(200, { success: true, message: 'm', [name]: entries, nextPageToken })
      const first = page(['a', 'b'], 't/1')
      const server = await startScriptedServer(first, first, page(['c']))
      const client = new Postrider({ apiKey: 'k', basePath: server.url })
      expect(await list(client)).toMatchObject({ [name]: ['a', 'b'], nextPageToken: 't/1' })
      const all: unknown[] = []
      for await (const entry of list(client)) all.push(entry)
      expect(all).toStrictEqual(['a', 'b', 'c'])
      const [path] = server.requests.map((request) => request.path)
      expect(server.requests.map((request) => request.path)).toStrictEqual([
        ...[path, path, `${path}?pageToken=t%2F1`],
      ])
    },
  )

  it('returns its response as well, and refuses an answer without entries', async () => {
    const server = await startScriptedServer(
      reply(200, { success: true, message: 'm', domains: [] }, { 'x-request-id': 'req_1' }),
      ok,
    )
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    const { data, requestId } = await client.listDomains().withResponse()
    expect([data.domains, requestId]).toStrictEqual([[], 'req_1'])
    const all = client.listDomains()[Symbol.asyncIterator]()
    await expect(all.next()).rejects.toMatchObject({ code: 'unexpected_response' })
  })
})

describe('redeliver and replayWebhookEvents', () => {
  it.each<[string, (client: Postrider) => Promise<unknown>]>([
    ['redeliver', (client) => client.redeliver(id)],
    ['replayWebhookEvents', (client) => client.replayWebhookEvents({ ref_id: 'r' })],
  ])('are not retried when an answer was lost: %s', async (_, run) => {
    const server = await startScriptedServer(drop, ok)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await expect(run(client)).rejects.toMatchObject({ code: 'connection_error' })
    expect(server.requests).toHaveLength(1)
  })
})

describe('the User-Agent of the client', () => {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8')

  it('has the version of the package and the name of the runtime', () => {
    expect(version).toBe(JSON.parse(manifest).version)
    expect(userAgent('Node.js/24')).toBe(`postrider-client/${version} Node.js/24`)
    expect(userAgent({})).toBe(`postrider-client/${version}`)
    expect(userAgent('a\r\nb')).toBe(`postrider-client/${version}`)
    expect(userAgent('Mozilla/5.0 (X11) Firefox/150.0')).toBeUndefined()
  })

  it('is sent unless the caller sets another', async () => {
    const server = await startScriptedServer(ok, ok)
    const client = new Postrider({ apiKey: 'k', basePath: server.url })
    await client.getPhishingSettings()
    await client.getPhishingSettings({ headers: { 'User-Agent': 'shop/1' } })
    expect(server.requests.map(({ headers }) => headers['user-agent'])).toStrictEqual([
      expect.stringMatching(/^postrider-client\/\d/),
      'shop/1',
    ])
  })
})

describe('the types', () => {
  it('[4.2] have `event` optional on update', () => {
    expectTypeOf<{ active: boolean }>().toExtend<UpdateWebhookInput>()
  })

  it('have a subject and content, or a template, in each email', () => {
    const { from, to, subject = '', content = [] } = email
    const templated = { from, to, template_id: 'tpl_1', template_version: 2 }
    expectTypeOf({ from, to, subject, content }).toExtend<SendEmailInput>()
    expectTypeOf(templated).toExtend<SendEmailInput>()
    expectTypeOf({ from, to }).not.toExtend<SendEmailInput>()
    expectTypeOf({ from, to, subject }).not.toExtend<SendEmailInput>()
    expectTypeOf({ from, to, content }).not.toExtend<SendEmailInput>()
    expectTypeOf({ messages: [email, templated] }).toExtend<SendBatchInput>()
    expectTypeOf({ messages: [templated, { from, to }] }).not.toExtend<SendBatchInput>()
  })

  it('have the documented answers', () => {
    expectTypeOf<Awaited<ReturnType<Postrider['sendEmail']>>['ref_id']>().toEqualTypeOf<string>()
  })
})

describe('the source', () => {
  const root = new URL('.', import.meta.url)
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
  )

  it.each(files)('runs in %s without Node and without dependencies', (path) => {
    const text = readFileSync(new URL(path, root), 'utf8')
    for (const [statement, kind, from] of text.matchAll(
      /^(import|export|import type|export type) [^;]*?from '([^']+)'/gm,
    )) {
      const isTypeOnly = kind?.endsWith('type') || /^(im|ex)port type/.test(statement)
      expect(from?.startsWith('.') || (isTypeOnly && from === '@postrider/contract'), from).toBe(
        true,
      )
    }
    expect(text).not.toMatch(/\b(process|Buffer|require)\b[.(]|import\(/)
  })
})

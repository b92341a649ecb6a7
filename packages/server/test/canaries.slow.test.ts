/**
 * Secrets stay where they are (architecture invariant 10): the whole service runs with secrets that
 * are found anywhere, and every operation is called, well and badly. None of them may stand in an
 * answer, a log line, a metric or a table, save the one answer that makes an API key.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { type OperationId, operations } from '@postrider/contract'
import {
  createDnsServer,
  createImapServer,
  createOAuthServer,
  createSmtpServer,
  createSparkPostServer,
  createWebhookReceiver,
  type DnsServer,
  type ImapServer,
  type OAuthServer,
  type SmtpServer,
  type SparkPostServer,
  type WebhookReceiver,
} from '@postrider/testkit'
import { runOnServer } from '@postrider/testkit/database'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { type App, compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { storeMailboxMail } from '../src/inbound/ingest/store-mail.ts'
import { createLogger } from '../src/platform/log.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { mailboxMail } from './inbound.ts'

const pem = (name: string) =>
  readFileSync(new URL(`../../testkit/certs/${name}`, import.meta.url), 'utf8')
const newCanary = (name: string) => `canary-${name}-${randomBytes(9).toString('hex')}`
const canaries = {
  wrongPassword: newCanary('wrong-user'),
  userPassword: newCanary('user'),
  adminToken: newCanary('admin'),
  databasePassword: newCanary('database'),
  secretKey: randomBytes(32).toString('base64'),
  olderSecretKey: randomBytes(32).toString('base64'),
  smtpPassword: newCanary('smtp'),
  wrongSmtpPassword: newCanary('wrong-smtp'),
  imapPassword: newCanary('imap'),
  wrongImapPassword: newCanary('wrong-imap'),
  clientSecret: newCanary('client-secret'),
  newClientSecret: newCanary('new-client-secret'),
  refreshToken: newCanary('refresh-token'),
  accessToken: newCanary('access-token'),
  wrongRefreshToken: newCanary('wrong-refresh-token'),
  relayKey: newCanary('relay-key'),
  newRelayKey: newCanary('new-relay-key'),
  domainRelayKey: newCanary('domain-relay-key'),
  callbackSecret: newCanary('callback-secret'),
  header: newCanary('header'),
  bearer: newCanary('bearer'),
  basic: newCanary('basic'),
  cookie: newCanary('cookie'),
  quoted: `${newCanary('quoted')}"<&>/+`,
  later: newCanary('later'),
  refused: newCanary('refused'),
  wrongKey: `pr_${newCanary('key')}`,
}
const headers = {
  'X-Secret': canaries.header,
  Authorization: `Bearer ${canaries.bearer}`,
  'X-Basic': `Basic ${Buffer.from(`user:${canaries.basic}`).toString('base64')}`,
  Cookie: `a=b; session=${canaries.cookie}`,
  'X-Quoted': canaries.quoted,
}

let database: TestDatabase
let app: App
let base: string
let smtp: SmtpServer
let imap: ImapServer
let receiver: WebhookReceiver
let untrusted: WebhookReceiver
let provider: OAuthServer
let dns: DnsServer
let sparkpost: SparkPostServer
const role = `canary_${randomBytes(6).toString('hex')}`
const lines: string[] = []
let waiting: { readonly msg: string; readonly resolve: () => void }[] = []
const answers: { readonly id: string; readonly status: number; readonly text: string }[] = []

/** Resolves with the next log line of that name. */
const logged = (msg: string) => new Promise<void>((resolve) => waiting.push({ msg, resolve }))

beforeAll(async () => {
  database = await createTestDatabase()
  await runOnServer(
    inject('testDatabase').serverUrl,
    `create role ${role} superuser login password '${canaries.databasePassword}'`,
  )
  const databaseUrl = database.url.replace(
    /\/\/[^@]*@/,
    `//${role}:${encodeURIComponent(canaries.databasePassword)}@`,
  )
  const users = { 'news@example.com': canaries.smtpPassword }
  smtp = await createSmtpServer({ auth: { users } })
  imap = await createImapServer({
    auth: { users: { 'support@example.com': canaries.imapPassword } },
  })
  provider = await createOAuthServer({ clientSecret: canaries.clientSecret })
  dns = await createDnsServer()
  sparkpost = await createSparkPostServer({
    apiKey: canaries.domainRelayKey,
    dnsServer: dns.address,
  })
  receiver = await createWebhookReceiver()
  untrusted = await createWebhookReceiver({
    tls: { key: pem('localhost.key'), cert: pem('localhost.pem') },
  })
  const secretKeys = `new:${canaries.secretKey},old:${canaries.olderSecretKey}`
  const config = loadConfig({
    POSTRIDER_DATABASE_URL: databaseUrl,
    POSTRIDER_SECRET_KEYS: secretKeys,
    POSTRIDER_ADMIN_TOKEN: canaries.adminToken,
    POSTRIDER_PORT: '0',
    POSTRIDER_INBOUND_PORT: '0',
    POSTRIDER_PUBLIC_URL: 'https://mail.example.com',
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
    POSTRIDER_ALLOW_HTTP_WEBHOOKS: 'true',
    POSTRIDER_DNS_SERVERS: dns.address,
    POSTRIDER_WEBHOOK_RETRY_SCHEDULE: '1h',
    POSTRIDER_LOG_LEVEL: 'trace',
  })
  const destination = new PassThrough()
  destination.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().split('\n').filter(Boolean)) {
      lines.push(line)
      const { msg } = JSON.parse(line)
      for (const one of waiting) if (one.msg === msg) one.resolve()
      waiting = waiting.filter((one) => one.msg !== msg)
    }
  })
  app = compose({
    config,
    secrets: { secretKeys, adminToken: canaries.adminToken },
    databaseUrl,
    log: createLogger({ level: 'trace', destination }),
    build: { version: '0.0.0', commit: 'unknown' },
  })
  await app.start()
  const { host, port } = app.address()
  base = `http://${host}:${port}`
})
afterAll(async () => {
  await app.stop()
  await smtp.close()
  await imap.close()
  await provider.close()
  await sparkpost.close()
  await dns.close()
  await receiver.close()
  await untrusted.close()
  await database.close()
  await runOnServer(inject('testDatabase').serverUrl, `drop role if exists ${role}`)
})

interface Call {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  /** In place of it: a file. */
  readonly csv?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly token?: string
}
interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever an operation answers
  readonly body: any
}

async function fetchText(id: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${base}${path}`, init)
  const text = await response.text()
  const all = `${JSON.stringify([...response.headers])} ${text}`
  answers.push({ id, status: response.status, text: all })
  const isJson = response.headers.get('content-type')?.includes('json') === true
  return { status: response.status, body: isJson ? JSON.parse(text) : text }
}

let apiKey = ''
function call(id: OperationId, o: Call = {}): Promise<Answer> {
  const { method, path, auth } = operations[id]
  const token = o.token ?? (auth === 'admin' ? canaries.adminToken : apiKey)
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => o.params?.[name] ?? 'unknown')
  return fetchText(id, `${url}${o.query ?? ''}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      ...(o.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(o.csv === undefined ? {} : { 'content-type': 'text/csv' }),
      ...o.headers,
    },
    ...(o.body === undefined ? {} : { body: JSON.stringify(o.body) }),
    ...(o.csv === undefined ? {} : { body: o.csv }),
  })
}
async function succeed(id: OperationId, o: Call = {}): Promise<Answer['body']> {
  const { status, body } = await call(id, o)
  expect({ id, status, body }).toMatchObject({ id, status: operations[id].status })
  return body
}

const registration = (change: object = {}) => ({
  webhook_url: `${receiver.origin}/hook`,
  event: 'EMAIL_EVENT',
  method: 'POST',
  headers,
  webhook_options: { events: { delivery: true, smtp_error: true } },
  ...change,
})
const mailer = (password: string) => ({
  name: 'News',
  email: 'news@example.com',
  config_type: 'smtp',
  connection_type: 'basic',
  config: {
    host: '127.0.0.1',
    port: smtp.port,
    username: 'news@example.com',
    password,
    secure: 'None',
  },
})
const email = (to: string) => ({
  from: { email: 'news@example.com' },
  to: [{ email: to }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
})

/** All events of the last day, as its id is unknown. */
async function readStream(): Promise<void> {
  const id = 'streamEvents'
  const response = await fetch(base + operations[id].path, {
    headers: { authorization: `Bearer ${apiKey}`, 'last-event-id': 'unknown' },
  })
  let text = JSON.stringify([...response.headers])
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString()
    if (text.includes('event: MAIL_DELIVERED')) break
  }
  answers.push({ id, status: response.status, text })
}

async function failEverywhere(): Promise<void> {
  for (const id of Object.keys(operations) as OperationId[]) {
    const bad = operations[id].method === 'GET' ? {} : { body: { unknown: true } }
    for (const token of ['', canaries.wrongKey]) await call(id, { ...bad, token })
    await call(id, { ...bad, query: '?unknown=1' })
    await fetchText(id, operations[id].path, {
      method: operations[id].method,
      headers: { authorization: `Bearer ${apiKey} ${canaries.refused}` },
    })
  }
}

async function refuseWebhooks(): Promise<void> {
  const value = canaries.refused
  for (const given of [
    { Host: value },
    { 'X-Secret': `${value}\n` },
    { 'X-Secret': value, 'x-secret': value },
    { 'X Y': value },
    { 'X-Long': value.repeat(200) },
  ])
    expect((await call('registerWebhook', { body: registration({ headers: given }) })).status).toBe(
      400,
    )
  for (const [webhook_url, status] of [
    [`${untrusted.origin}/`, 422],
    [`https://user:${value}@127.0.0.1/`, 400],
    ['https://10.0.0.1/', 400],
  ] as const) {
    const body = registration({ webhook_url, headers: { 'X-Secret': value } })
    expect((await call('registerWebhook', { body })).status).toBe(status)
  }
}

/** A server that quotes the login, when it is tried, when it is refused, and when it is watched. */
async function useImap(): Promise<void> {
  const mailbox = (password: string) => ({
    name: 'Support',
    email: 'support@example.com',
    config_type: 'imap',
    connection_type: 'basic',
    config: {
      host: '127.0.0.1',
      port: imap.port,
      username: 'support@example.com',
      password,
      secure: 'None',
    },
    webhook: { webhook_url: `${receiver.origin}/support`, headers },
  })
  imap.setScript(({ command, line, secret }) =>
    command === 'AUTHENTICATE' && secret !== canaries.imapPassword
      ? `NO [AUTHENTICATIONFAILED] ${line} ${secret}`
      : undefined,
  )
  const wrong = await call('configureIMAP', { body: mailbox(canaries.wrongImapPassword) })
  expect(wrong.status).toBe(422)
  const { mailer } = await succeed('configureIMAP', { body: mailbox(canaries.imapPassword) })
  const params = { mailer_id: mailer.mailer_id }
  await succeed('getIMAPConfig', { params })
  const change = { config: { password: canaries.wrongImapPassword } }
  expect((await call('updateIMAP', { params, body: change })).status).toBe(422)
  await succeed('updateIMAP', { params, body: { name: 'Help' } })
  await succeed('deleteIMAPConfig', { params })
}

/** A provider that quotes what it was sent, well and badly. */
async function useOAuth(): Promise<void> {
  const { clientId: client_id, authorizeUrl: authorize_url, tokenUrl: token_url } = provider
  const server = { host: '127.0.0.1', port: smtp.port, secure: 'None' }
  const app = { provider: 'custom', client_id, authorize_url, token_url, smtp: server }
  const body = { ...app, client_secret: canaries.clientSecret }
  const { app_id } = (await succeed('createOAuthApp', { body })).app
  const params = { app_id }
  await succeed('listOAuthApps')
  provider.setScript(({ parameters }) =>
    parameters.refresh_token === canaries.wrongRefreshToken
      ? { status: 400, body: { error: 'invalid_grant', ...parameters } }
      : undefined,
  )
  const wrong = { app_id, token: canaries.wrongRefreshToken }
  expect((await call('oauthLogin', { body: wrong })).status).toBe(422)
  await succeed('oauthLogin', { body: { app_id } })
  provider.setScript(() => ({
    status: 200,
    body: {
      access_token: canaries.accessToken,
      refresh_token: canaries.refreshToken,
      id_token: idToken('oauth@example.com'),
      expires_in: 3600,
    },
  }))
  const { mailer } = await succeed('oauthLogin', { body: { app_id, token: canaries.refreshToken } })
  const mailerId = { mailer_id: mailer.mailer_id }
  await succeed('setOAuthActive', { params: mailerId, body: { active: false } })
  await succeed('setMailerActive', { params: mailerId, body: { active: false } })
  const secret = { client_secret: canaries.newClientSecret }
  await succeed('updateOAuthApp', { params, body: secret })
  expect((await call('deleteOAuthApp', { params })).status).toBe(409)
  await fetchText('callback', `/oauth/callback?state=${canaries.refused}&code=${canaries.refused}`)
  const unused = (await succeed('createOAuthApp', { body })).app
  await succeed('deleteOAuthApp', { params: { app_id: unused.app_id } })
}

/** The callback URL is shown to who may change the account; its token is kept as secrets are. */
async function useRelays(): Promise<void> {
  const params = { kind: 'sparkpost' }
  const body = { api_key: canaries.relayKey, callback_secret: canaries.callbackSecret }
  const { relay } = await succeed('configureRelay', { params, body })
  const token: string = relay.callback_url.split('/').at(-1)
  await succeed('getRelay', { params })
  const elsewhere = { api_key: canaries.relayKey, api_base: 'http://10.0.0.1' }
  expect((await call('configureRelay', { params, body: elsewhere })).status).toBe(400)
  await succeed('configureRelay', { params, body: { api_key: canaries.newRelayKey } })
  const { pathname } = new URL(relay.callback_url)
  const headers = { 'X-Callback-Secret': canaries.callbackSecret }
  const post = (body: string, more = headers) =>
    fetchText('callback', pathname, { method: 'POST', body, headers: more })
  expect((await post('[]')).status).toBe(200)
  expect((await post('[')).status).toBe(400)
  expect((await post('[]', { 'X-Callback-Secret': canaries.refused })).status).toBe(401)
  const { rows } = await database.db.query('select a::text as row from relays_account a')
  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain(token)
  expect(lines.filter((line) => line.includes(token))).toEqual([])
  await succeed('deleteRelay', { params })
  await succeed('configureRelay', { params, body })
}

/** A provider that is given keys, and quotes them when it refuses something. */
async function useDomains(): Promise<void> {
  const account = { api_key: canaries.domainRelayKey, api_base: sparkpost.apiBase }
  await succeed('configureRelay', { params: { kind: 'sparkpost' }, body: account })
  const name = 'mail.example.com'
  const params = { domain: name }
  const { domain } = await succeed('addDomain', { body: { domain: name } })
  keepPrivateKey('dkimKey', name)
  dns.publish(domain.records)
  expect((await succeed('verifyDomain', { params })).domain.verified).toBe(true)
  await succeed('updateDomain', { params, body: { uncertain: 'at_most_once' } })
  const rotated = await succeed('rotateDomainKey', { params })
  const isNext = ({ rotation }: { rotation?: string }) => rotation === 'next'
  dns.publish(rotated.domain.records.filter(isNext))
  sparkpost.setScript(({ method, body }) =>
    method === 'PUT' ? { status: 400, body: body.toString() } : undefined,
  )
  await succeed('verifyDomain', { params })
  sparkpost.setScript(undefined)
  await succeed('verifyDomain', { params })
  keepPrivateKey('nextDkimKey', name)
  await succeed('getDomain', { params })
  await succeed('listDomains')
  await succeed('deleteDomain', { params })
}

/** Its webhooks have headers as all have. */
async function useInbound(): Promise<void> {
  const name = 'in.example.com'
  const url = `${receiver.origin}/inbound`
  const refused = {
    domain: name,
    url: `${untrusted.origin}/`,
    headers: { 'X-A': canaries.refused },
  }
  expect((await call('configureInboundRouting', { body: refused })).status).toBe(422)
  const body = { domain: name, url, headers }
  const { inbound_domain } = await succeed('configureInboundRouting', { body })
  expect((await call('configureInboundRouting', { body })).status).toBe(409)
  dns.publish(inbound_domain.records)
  const params = { domain: name }
  expect((await succeed('getInboundDomain', { params })).inbound_domain.verified).toBe(true)
  const later = { 'X-Later': canaries.later }
  await succeed('updateInboundDomain', { params, body: { headers: later } })
  await succeed('listInboundDomains')
  const username = { username: 'support', headers }
  await succeed('createInboundUsername', { params, body: username })
  const both = { ...params, username: 'support' }
  await succeed('updateInboundUsername', { params: both, body: { headers: later } })
  await succeed('getInboundUsername', { params: both })
  await succeed('listInboundUsernames', { params })
  await succeed('deleteInboundUsername', { params: both })
  await succeed('deleteInboundDomain', { params })
}

/** A line of it as PEM, past what it has in common with the public key. */
function keepPrivateKey(what: string, domain: string): void {
  const line = sparkpost.domains.find(domain)?.dkim.private.slice(640, 704) ?? ''
  expect(line).toHaveLength(64)
  Object.assign(canaries, { [what]: line })
}

function idToken(address: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const claims = { iss: provider.origin, aud: provider.clientId, exp, email: address }
  return `${part({ alg: 'RS256' })}.${part(claims)}.x`
}

/** Echoes what it was sent, once well and then badly. */
function echoTo(status: number): void {
  receiver.setScript((request) => ({
    status,
    body: `${JSON.stringify(request.rawHeaders)} ${request.header('authorization')?.split(' ')[1]} ${canaries.basic}`,
  }))
}

async function useSessions(o: { readonly email: string; readonly invitation: string }) {
  const password = canaries.userPassword
  Object.assign(canaries, { invitation: o.invitation })
  await succeed('acceptInvitation', { body: { token: o.invitation, password }, token: '' })
  const logIn = { body: { email: o.email, password }, token: '' }
  const wrong = { email: o.email, password: canaries.wrongPassword }
  expect((await call('createSession', { body: wrong, token: '' })).status).toBe(401)
  await succeed('createSession', logIn)
  const [, cookie = ''] = /"set-cookie","([^;"]+)/.exec(answers.at(-1)?.text ?? '') ?? []
  Object.assign(canaries, { sessionCookie: cookie.split('=')[1] })
  const headers = { cookie, origin: 'https://mail.example.com', 'x-postrider-session': '1' }
  for (const id of ['getSession', 'listSessions'] as const)
    await succeed(id, { headers, token: '' })
  const ids = ['getSession', 'listSessions', 'revokeSession', 'deleteSession'] as const
  for (const id of ids) await call(id, { headers, token: '', query: '?unknown=1' })
  await succeed('createSession', logIn)
  const { session_id } = (await succeed('listSessions', { headers, token: '' })).sessions.find(
    ({ current }: { current: boolean }) => !current,
  )
  await succeed('revokeSession', { headers, token: '', params: { session_id } })
  await succeed('deleteSession', { headers, token: '' })
}

async function usePeople(params: { readonly tenant_id: string }): Promise<void> {
  await succeed('getTenant', { params })
  await succeed('updateTenant', { params, body: { name: 'Acme' } })
  const { tenant_id } = await succeed('createTenant', { body: { name: 'Gone' } })
  await succeed('deleteTenant', { params: { tenant_id }, query: '?confirm=Gone' })
  const person = { email: 'ada@example.com', name: 'Ada' }
  const { user, invitation_url } = await succeed('createUser', {
    body: { ...person, role: 'operator' },
  })
  await useSessions({ email: person.email, invitation: new URL(invitation_url).hash.slice(1) })
  const ofUser = { params: { user_id: user.user_id } }
  await succeed('listUsers')
  await succeed('getUser', ofUser)
  await succeed('updateUser', { ...ofUser, body: { name: 'Ada L.' } })
  await succeed('inviteUser', ofUser)
  await succeed('deleteUser', ofUser)
  const { member } = await succeed('createMember', { body: { ...person, role: 'viewer' } })
  const ofMember = { params: { user_id: member.user_id } }
  await succeed('listMembers')
  await succeed('inviteMember', ofMember)
  await succeed('updateMember', { ...ofMember, body: { role: 'developer' } })
  await succeed('deleteMember', ofMember)
}

async function useTemplates(): Promise<void> {
  const body = { name: 'Receipt', subject: 'Order {{ id }}', content: email('').content }
  await succeed('previewTemplateDraft', { body })
  const { template } = await succeed('createTemplate', { body })
  const params = { template_id: template.template_id }
  await succeed('updateTemplate', { params, body: { subject: 'Your order {{ id }}' } })
  await succeed('getTemplate', { params })
  await succeed('listTemplates')
  await succeed('previewTemplate', { params, body: {} })
  await succeed('deleteTemplate', { params })
}

/** Each secret is in the answer that makes it, and nowhere else. */
async function useSigning(webhook_id: string): Promise<void> {
  const event = 'EMAIL_EVENT'
  const first = await succeed('updateWebhook', { body: { event, signing: true } })
  const next = await succeed('rotateSigningSecret', { params: { webhook_id } })
  Object.assign(canaries, {
    signingSecret: first.signing_secret,
    nextSigningSecret: next.signing_secret,
  })
  await succeed('listWebhooks')
  await succeed('updateWebhook', { body: { event, signing: false } })
}

async function useAlerts(): Promise<void> {
  const body = { url: `${receiver.origin}/alerts` }
  await succeed('setAlerts', { body })
  await succeed('getAlerts')
  await succeed('deleteAlerts')
  await succeed('setOperatorAlerts', { body })
  await succeed('getOperatorAlerts')
  await succeed('deleteOperatorAlerts')
}

/** By a tenant of its own, so that its events are not among those of the others. */
async function useTestMode(): Promise<void> {
  const { api_key } = await succeed('createTenant', { body: { name: 'Trial' } })
  const server = { ...mailer(canaries.smtpPassword), email: 'trial@example.com' }
  await succeed('configureSMTP', { body: server, token: api_key })
  const made = await succeed('createKey', { body: { name: 'T', mode: 'test' }, token: api_key })
  const token = made.api_key
  const mail = { ...email('ada@example.com'), from: { email: 'trial@example.com' } }
  const { results } = await succeed('sendBatch', { body: { messages: [mail] }, token })
  const params = { ref_id: results[0].ref_id }
  const state = async () =>
    (await succeed('getEmail', { params, token })).email.recipients[0].status
  await expect.poll(state).toBe('delivered')
  await succeed('simulateEvent', { params, body: { event: 'bounce' }, token })
}

async function receivedMail(tenant: { readonly tenant_id: string }): Promise<void> {
  const raw = Buffer.from('Content-Disposition: attachment\r\nContent-Type: a/b\r\n\r\nHello')
  const mail = mailboxMail({ tenantId: tenant.tenant_id, raw })
  const [inbound_id = ''] = await database.db.transaction((tx) => storeMailboxMail(tx, [mail]))
  await succeed('listInboundMessages')
  await succeed('getInboundMessage', { params: { inbound_id } })
  await succeed('getRawInboundMessage', { params: { inbound_id } })
  await succeed('getInboundAttachment', { params: { inbound_id, n: '0' } })
}

describe('secret values', () => {
  it('are used in every operation, and in good and bad deliveries', async () => {
    const made = await succeed('createTenant', { body: { name: 'Acme' } })
    const params = { tenant_id: made.tenant_id }
    apiKey = made.api_key
    Object.assign(canaries, { apiKey })
    const second = await succeed('createApiKey', { params, body: { scopes: ['webhooks'] } })
    Object.assign(canaries, { secondApiKey: second.api_key })
    await succeed('listTenants')
    await succeed('listApiKeys', { params })
    const third = await succeed('createKey', { body: { name: 'Third' } })
    Object.assign(canaries, { thirdApiKey: third.api_key })
    await succeed('listKeys')
    await succeed('revokeKey', { params: { key_id: third.key_id } })
    await succeed('listAudit')
    await succeed('listAuditOfAllTenants')
    for (const id of ['getHealth', 'getQueues', 'getSystem'] as const) await succeed(id)
    await succeed('search', { query: '?q=ada@example.com' })
    await usePeople(params)
    await failEverywhere()

    await call('configureSMTP', { body: mailer(canaries.wrongSmtpPassword) })
    const configured = await succeed('configureSMTP', { body: mailer(canaries.smtpPassword) })
    const mailerId = { mailer_id: configured.mailer.mailer_id }
    await succeed('getSMTPConfig', { params: mailerId })
    await succeed('testMailer', { params: mailerId, body: { to: 'ada@example.com' } })
    await succeed('listMailers')
    const wrong = { config: { password: canaries.wrongSmtpPassword } }
    expect((await call('updateSMTP', { params: mailerId, body: wrong })).status).toBe(422)
    await succeed('updateSMTP', { params: mailerId, body: { name: 'Letters' } })

    const address = { email: 'carol@example.com' }
    await succeed('getMailerActivity', { params: mailerId })
    for (const id of ['rescueEmails', 'retryEmails', 'cancelEmails'] as const)
      await succeed(id, { body: { filter: {} } })
    for (const id of ['getOverview', 'listEvents'] as const) await succeed(id)
    await succeed('unsubscribeEmail', { body: address })
    await succeed('addSuppression', { body: { ...address, note: 'By phone' } })
    await succeed('importSuppressions', { csv: 'email\ndan@example.com\n' })
    expect((await call('importSuppressions', { csv: '' })).status).toBe(400)
    await succeed('exportSuppressions')
    await succeed('listSuppressions')
    await succeed('getSuppression', { params: { email: 'carol%40example.com' } })
    await succeed('deleteSuppression', { params: { email: 'carol%40example.com' } })
    await succeed('subscribeEmail', { body: address })

    await useImap()
    await useOAuth()
    await useRelays()
    await useDomains()
    await useInbound()
    await succeed('updatePhishingSettings', { body: { blocked_domains: ['bad.example'] } })
    await succeed('getPhishingSettings')

    await refuseWebhooks()
    await succeed('registerWebhook', { body: registration() })
    expect((await call('registerWebhook', { body: registration() })).status).toBe(409)
    const { webhooks } = await succeed('listWebhooks')
    await useSigning(webhooks[0].webhook_id)
    await useTemplates()
    await useAlerts()
    await useTestMode()

    echoTo(200)
    const webhook = { params: { webhook_id: webhooks[0].webhook_id } }
    const { test } = await succeed('sendTestEvent', { ...webhook, body: { event: 'MAIL_BOUNCE' } })
    expect(test).toMatchObject({ accepted: true, status: 200 })
    await succeed('pauseWebhook', webhook)
    await succeed('resumeWebhook', webhook)
    await succeed('getWebhookStatus', webhook)
    let finished = logged('webhook_delivery.finished')
    await succeed('sendEmail', { body: email('ada@example.com') })
    await finished
    const laterEmail = { ...email('eve@example.com'), send_at: new Date(Date.now() + 3_600_000) }
    const { ref_id } = await succeed('sendEmail', { body: laterEmail })
    await succeed('cancelScheduledEmail', { params: { ref_id } })
    await succeed('getEmailLogs')
    await succeed('getStatistics')
    await succeed('getOverview')
    await succeed('getUsage')
    await succeed('getMailerActivity', { params: mailerId })
    await succeed('exportEmailLogs', { query: '?format=csv' })
    await succeed('listEvents')
    await readStream()
    await receivedMail(params)
    for (const id of ['getEmail', 'getEmailContent', 'getRawEmail'] as const)
      await succeed(id, { params: { ref_id } })
    echoTo(500)
    finished = logged('webhook_delivery.finished')
    await succeed('sendEmail', { body: email('bob@example.com') })
    await finished
    finished = logged('webhook_delivery.finished')
    const later = { ...headers, 'X-Later': canaries.later }
    await succeed('updateWebhook', { body: { event: 'EMAIL_EVENT', headers: later } })
    await finished
    const listed = await succeed('listWebhookDeliveries')
    const statuses = listed.deliveries.map((delivery: { status: string }) => delivery.status)
    expect(statuses.sort()).toEqual(['delivered', 'retrying'])
    const attempts = []
    for (const { delivery_id } of listed.deliveries) {
      const { delivery } = await succeed('getWebhookDelivery', { params: { delivery_id } })
      attempts.push(...delivery.attempts)
    }
    expect(attempts.map(({ status }: { status: number }) => status).sort()).toEqual([200, 500, 500])
    expect(attempts.every(({ response }) => response.includes('X-Secret'))).toBe(true)

    const delivered = listed.deliveries.find(
      (one: { status: string }) => one.status === 'delivered',
    )
    receiver.setScript(undefined)
    await succeed('redeliver', { params: { delivery_id: delivered.delivery_id } })
    const day = new Date().toISOString().slice(0, 10)
    await succeed('replayWebhookEvents', { body: { start: day, end: day } })
    await succeed('deleteWebhook', { body: { event: 'EMAIL_EVENT' } })
    await succeed('deleteSMTPConfig', { params: mailerId })
    await succeed('revokeApiKey', { params: { key_id: second.key_id } })

    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/nowhere'])
      await fetchText(path, path)

    const ids = Object.keys(operations) as OperationId[]
    const called = (id: OperationId, fits: (status: number) => boolean) =>
      answers.some((answer) => answer.id === id && fits(answer.status))
    expect(ids.filter((id) => !called(id, (status) => status < 300))).toEqual([])
    const guarded = ids.filter((id) => operations[id].auth !== 'public')
    expect(guarded.filter((id) => !called(id, (status) => status === 401))).toEqual([])
    expect(ids.filter((id) => !called(id, (status) => status === 400 || status === 404))).toEqual(
      [],
    )
  })

  it('do not appear in the log of a database outage', async () => {
    await database.db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1`,
      [role],
    )
    for (let i = 0; i < 5; i += 1) await call('listWebhooks')
    expect((await call('listWebhooks')).status).toBe(200)
  })

  it('appear in no answer, except keys, links and cookies in the answer that makes them', () => {
    expect(answers.length).toBeGreaterThan(100)
    for (const [name, canary] of Object.entries(canaries)) {
      const ids = answers.filter(({ text }) => isIn(text, canary)).map(({ id }) => id)
      const expected: Record<string, string> = {
        apiKey: 'createTenant',
        secondApiKey: 'createApiKey',
        thirdApiKey: 'createKey',
        invitation: 'createUser',
        signingSecret: 'updateWebhook',
        nextSigningSecret: 'rotateSigningSecret',
        sessionCookie: 'createSession',
      }
      expect([name, ids]).toEqual([name, expected[name] === undefined ? [] : [expected[name]]])
    }
  })

  it('appear in no log line', () => {
    expect(lines.length).toBeGreaterThan(100)
    for (const canary of Object.values(canaries))
      expect(lines.filter((line) => isIn(line, canary))).toEqual([])
  })

  it('appear in no metric', async () => {
    const { status, body } = await fetchText('metrics', '/metrics')
    expect({ status, body }).toMatchObject({
      status: 200,
      body: expect.stringContaining('webhook'),
    })
    for (const canary of Object.values(canaries)) expect(isIn(body, canary)).toBe(false)
  })

  it('appear in no table in clear', async () => {
    const { rows: tables } = await database.db.query<{ name: string }>(
      `select quote_ident(relname) as name from pg_class
        where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    )
    let seen = 0
    for (const { name } of tables) {
      const { rows } = await database.db.query<{ row: string }>(
        `select to_jsonb(t)::text as row from ${name} t`,
      )
      seen += rows.length
      for (const [what, canary] of Object.entries(canaries))
        expect([name, what, rows.filter(({ row }) => isIn(row, canary)).length]).toEqual([
          name,
          what,
          0,
        ])
    }
    expect(seen).toBeGreaterThan(10)
  })
})

/** As it is, or as JSON, a URL or base64 would write it. */
function isIn(text: string, canary: string): boolean {
  return [
    canary,
    JSON.stringify(canary).slice(1, -1),
    JSON.stringify(JSON.stringify(canary).slice(1, -1)).slice(1, -1),
    encodeURIComponent(canary),
  ].some((spelling) => text.includes(spelling))
}

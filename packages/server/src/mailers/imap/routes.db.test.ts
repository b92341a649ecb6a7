import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { getImapConfigAnswer, type Mailer, operations } from '@postrider/contract'
import {
  createImapServer,
  createWebhookReceiver,
  type ImapServer,
  type ImapServerOptions,
  type WebhookReceiver,
} from '@postrider/testkit'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { testKeyRing, testLimiter, testReceivers } from '../../../test/webhook-api.ts'
import { createClock } from '../../platform/clock.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { createHttpApp } from '../../platform/http/app.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { createLogger } from '../../platform/log.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { createWakeups } from '../../webhooks/index.ts'
import { findMailers } from '../index.ts'
import { registerMailerRoutes } from '../routes.ts'
import { getServerMailer } from '../store.ts'
import { foldersOf } from './mailbox.ts'
import type { MailboxHealth } from './mailbox-health.ts'
import { imapRoutes } from './routes.ts'

const certs = new URL('../../../../testkit/certs/', import.meta.url)
const pem = (name: string) => readFileSync(new URL(name, certs), 'utf8')
const pair = { key: pem('localhost.key'), cert: pem('localhost.pem') }
const PASSWORD = 'hunter2-canary'
const USER = 'ada@example.com'

let database: TestDatabase
let app: FastifyInstance
let receiver: WebhookReceiver
let imap: ImapServer
const servers: ImapServer[] = []
const seen: string[] = []
const woken: string[] = []
const healths = new Map<string, MailboxHealth>()
const egress = createEgress({
  allowNetworks: ['127.0.0.0/8'],
  lookup: async (host) => {
    if (host === 'internal.example') return [{ address: '10.1.2.3', family: 4 }]
    if (host === 'imap.example.test')
      return [
        { address: '127.0.0.2', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ]
    throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  },
})
const limit = createRateLimit({ name: 'checks', usesMax: 1_000, windowS: 60 })

beforeAll(async () => {
  database = await createTestDatabase()
  receiver = await createWebhookReceiver()
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  const log = createLogger({ level: 'trace', destination })
  app = createHttpApp({
    log,
    metrics: createMetrics(),
    authenticateKey: (key) =>
      key === 'a' || key === 'b' ? { tenantId: `tn_${key}`, keyId: key, scopes: [] } : undefined,
  })
  const deps = {
    db: database.db,
    keyRing: testKeyRing,
    egress,
    clock: createClock(),
    wakeMail: ({ mailerId }: { mailerId: string }) => {
      woken.push(mailerId)
    },
    ehloName: 'sender.example.com',
    readMailboxHealth: async () => new Map(healths),
    isInboundDomain: async () => false,
    accessTokens: { get: async () => ({ kind: 'inactive' }) as const },
    checks: { limit, limiter: testLimiter },
  }
  registerMailerRoutes(app, deps)
  imapRoutes(app, { ...deps, receivers: testReceivers(egress), wakeups: createWakeups() })
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await receiver.close()
  await egress.close()
  await database.close()
})
beforeEach(async () => {
  await database.db.query('delete from mailers_mailer')
  await database.db.query('delete from webhooks_subscription')
  imap = await serve()
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

async function serve(o: ImapServerOptions = {}): Promise<ImapServer> {
  const server = await createImapServer({ auth: { users: { [USER]: PASSWORD } }, ...o })
  servers.push(server)
  return server
}

const config = (change: object = {}) => ({
  host: '127.0.0.1',
  port: imap.port,
  username: USER,
  password: PASSWORD,
  secure: 'None',
  ...change,
})
const body = (change: object = {}) => ({
  name: 'Support',
  email: 'support@example.com',
  config_type: 'imap',
  connection_type: 'basic',
  config: config(),
  ...change,
})
async function call(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
  key = 'a',
) {
  const response = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}` },
    ...(payload === undefined ? {} : { payload }),
  })
  seen.push(response.payload)
  return { status: response.statusCode, body: response.json() }
}
const configure = (change: object = {}) => call('POST', '/v1/imap', body(change))
const update = (id: string, payload: object) => call('PUT', `/v1/imap/${id}`, payload)
async function configured(change: object = {}): Promise<Mailer> {
  const answer = await configure(change)
  expect(answer).toMatchObject({ status: 201 })
  return answer.body.mailer
}
const stored = async ({ mailer_id }: Pick<Mailer, 'mailer_id'>) => {
  const mailer = await getServerMailer(database.db, 'tn_a', mailer_id)
  if (mailer === undefined) throw new Error('no such mailer')
  return mailer
}
const refused = (path: string) => ({ status: 400, body: { errors: [{ path }] } })
const webhook = (change: object = {}) => ({
  webhook_url: `${receiver.origin}/support`,
  headers: { 'X-Secret': 'header-canary' },
  ...change,
})
const mail = (n: number) => `Message-ID: <${n}@x.test>\r\nSubject: ${n}\r\n\r\nbody\r\n`

describe('configureIMAP: 201', () => {
  it('[contract 3.3] logs in once, and answers the mailer without secrets', async () => {
    const { status, body: answer } = await configure()
    expect(status).toBe(201)
    expect(Check(getImapConfigAnswer, answer)).toBe(true)
    const { mailer } = answer
    expect(mailer).toMatchObject({
      config_type: 'imap',
      connection_type: 'basic',
      email: 'support@example.com',
      config: { host: '127.0.0.1', port: imap.port, username: USER, secure: 'None' },
      webhook: null,
      folders: ['INBOX'],
      since: expect.any(String),
      state: 'active',
    })
    expect(mailer.mailer_id).toMatch(/^imap_/)
    expect(imap.logins).toBe(1)
    expect(woken).toContain(mailer.mailer_id)
    await imap.waitFor(({ openConnections }) => openConnections === 0)
  })

  it('[contract 3.3] accepts basic_imap for imap', async () => {
    expect(await configured({ config_type: 'basic_imap' })).toMatchObject({ config_type: 'imap' })
  })

  it('[contract 3.5] records what each folder holds already, and changes nothing in it', async () => {
    imap.deliver('INBOX', mail(1))
    imap.deliver('INBOX', mail(2))
    imap.account().addFolder('Archive')
    const mailer = await configured({ folders: ['inbox', 'Archive'] })
    expect(mailer.folders).toEqual(['INBOX', 'Archive'])
    expect(foldersOf(await stored(mailer)).map(({ baseline }) => baseline?.lastUid)).toEqual([2, 0])
    expect(imap.count('SELECT')).toBe(0)
    expect(imap.count('EXAMINE')).toBe(2)
  })

  it('[contract 3.5] records nothing of a folder whose last message was just deleted', async () => {
    imap.deliver('INBOX', mail(1))
    imap.deliver('INBOX', mail(2))
    imap.setScript(({ command }) => (command === 'FETCH' ? 'OK none' : undefined))
    const mailer = await configured()
    expect(foldersOf(await stored(mailer)).map(({ baseline }) => baseline)).toEqual([undefined])
  })

  it('[contract 3.5] includes messages since the time `since`', async () => {
    imap.deliver('INBOX', mail(1))
    const mailer = await configured({ since: '2026-01-02T03:04:05+01:00' })
    expect(mailer.since).toBe('2026-01-02T02:04:05.000Z')
    expect(foldersOf(await stored(mailer))[0]?.baseline).toBeUndefined()
  })

  it('[contract 3.3] connects to nothing with verify: false', async () => {
    const mailer = await configured({ verify: false, config: config({ port: 1 }) })
    expect(mailer).toMatchObject({ state: 'active', config: { port: 1 } })
    expect(imap.connections).toBe(0)
  })

  it('[contract 5] makes its webhook, and answers only the names of its headers', async () => {
    const mailer = await configured({ webhook: webhook() })
    const shown = {
      webhook_id: expect.stringMatching(/^wh_/),
      webhook_url: `${receiver.origin}/support`,
      method: 'POST',
      headers_present: ['X-Secret'],
    }
    expect(mailer.webhook).toEqual(shown)
    const { rows } = await database.db.query(
      'select event, owner from webhooks_subscription where tenant_id = $1',
      ['tn_a'],
    )
    expect(rows).toEqual([{ event: 'INCOMING', owner: mailer.mailer_id }])
    const listed = await call('GET', '/v1/mailers')
    expect(listed.body.mailers).toMatchObject([{ webhook: shown, folders: ['INBOX'] }])
    expect((await call('GET', `/v1/imap/${mailer.mailer_id}`)).body.mailer.webhook).toEqual(shown)
  })

  it.each([
    ['Tls', 'starttls'],
    ['Auto', 'starttls'],
    ['SSL', 'implicit'],
  ] as const)('[contract 3.3] secure %s uses TLS by %s', async (secure, mode) => {
    const server = await serve({ tls: { mode, ...pair } })
    const change = { port: server.port, secure, tls_verify: false }
    await configured({ config: config(change) })
    expect(server.logins).toBe(1)
    const strict = await configure({ config: config({ ...change, tls_verify: true }) })
    expect(strict).toMatchObject({ status: 422, body: { code: 'mailer_unreachable' } })
    expect(strict.body.message).toContain('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
  })

  it('[7.4] is made beside an SMTP mailer for the address; a second IMAP mailer needs allow_duplicate', async () => {
    const smtp = { ...body(), config_type: 'smtp', verify: false }
    const config = { host: '127.0.0.1', port: 25, secure: 'None' }
    expect((await call('POST', '/v1/smtp', { ...smtp, config })).status).toBe(201)
    const first = await configured()
    const second = await configure({ email: 'Support@example.com' })
    expect(second).toMatchObject({ status: 409, body: { code: 'mailer_exists' } })
    expect(second.body.message).toContain(first.mailer_id)
    await configured({ allow_duplicate: true })
  })

  it('[7.4] cannot take the address of another mailbox in an update without allow_duplicate', async () => {
    const smtp = { ...body(), email: 'b@example.com', config_type: 'smtp', verify: false }
    const config = { host: '127.0.0.1', port: 25, secure: 'None' }
    expect((await call('POST', '/v1/smtp', { ...smtp, config })).status).toBe(201)
    const first = await configured()
    const { mailer_id: id } = await configured({ email: 'other@example.com' })
    const refused = await update(id, { email: 'Support@example.com' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'mailer_exists' } })
    expect(refused.body.message).toContain(first.mailer_id)
    expect((await update(id, { email: 'b@example.com' })).status).toBe(200)
    const allowed = await update(id, { email: 'Support@example.com', allow_duplicate: true })
    expect([allowed.status, allowed.body.mailer?.email]).toEqual([200, 'Support@example.com'])
  })

  it('[7.4] makes one mailer for many concurrent requests', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => configure({ verify: false })))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect((await database.db.query('select 1 from mailers_mailer')).rows).toHaveLength(1)
  })

  it('tries the addresses of a host until one answers', async () => {
    await configured({ config: config({ host: 'imap.example.test' }) })
    expect(imap.logins).toBe(1)
  })
})

describe('configureIMAP: 400', () => {
  it.each<[string, object, object?]>([
    ['/config/host', { host: 'internal.example' }],
    ['/config/host', { host: 'a b' }],
    ['/config/username', { username: 'a\r\nb' }],
    ['/config/username', { username: undefined, password: undefined }],
    ['/config/password', { password: undefined }],
    ['/config/app_id', { app_id: 'app' }],
    ['/config/password', { app_id: 'x', refresh_token: 'y' }, { connection_type: 'oauth' }],
    ['/folders/1', {}, { folders: ['INBOX', 'inbox'] }],
    ['/folders/0', {}, { folders: ['a\r\nb'] }],
    ['/folders/0', {}, { folders: ['*'] }],
    ['/folders/1', {}, { folders: ['INBOX', 'Nowhere'] }],
    ['/since', {}, { since: 'yesterday' }],
    ['/since', {}, { since: '2999-01-01T00:00:00Z' }],
    ['/webhook/webhook_url', {}, { webhook: { webhook_url: 'nonsense' } }],
    [
      '/webhook/headers/Host',
      {},
      { webhook: { webhook_url: 'https://x.test/', headers: { Host: 'x' } } },
    ],
    ['/config_type', {}, { config_type: 'smtp' }],
    ['/email', {}, { email: 'nobody' }],
  ])('refuses %s of %j %j', async (path, configChange, change = {}) => {
    const answer = await configure({ config: config(configChange), ...change })
    expect(answer.status).toBe(400)
    expect(answer.body.errors.map((error: { path: string }) => error.path)).toContain(path)
    expect(await database.db.query('select 1 from mailers_mailer')).toMatchObject({ rowCount: 0 })
  })

  it.each([
    ['/config/app_id', { app_id: 'x', refresh_token: 'y' }],
    ['/config/refresh_token', { app_id: 'x' }],
  ])('refuses %s of %j by OAuth', async (path, given) => {
    const answer = await configure({ connection_type: 'oauth', config: given })
    expect(answer).toMatchObject(refused(path))
  })

  it('refuses a webhook at an address that is not allowed', async () => {
    const answer = await configure({ webhook: { webhook_url: 'https://10.0.0.1/' } })
    expect(answer).toMatchObject({ status: 400, body: { code: 'url_not_allowed' } })
  })
})

describe('configureIMAP: 422', () => {
  it.each([
    ['NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)', 'mailer_auth_failed'],
    ['NO [ALERT] Too many simultaneous connections. (Failure)', 'mailer_unreachable'],
    ['NO [UNAVAILABLE] Temporary authentication failure', 'mailer_unreachable'],
    ['BYE Overloaded', 'mailer_unreachable'],
  ])('[contract 3.3] answers the login reply %s with %s', async (reply, code) => {
    imap.setScript(({ command }) => (command === 'AUTHENTICATE' ? reply : undefined))
    const answer = await configure()
    expect(answer).toMatchObject({ status: 422, body: { code } })
    expect(answer.body.message).toContain(reply)
  })

  it('[contract 3.3] names a wrong password without quoting it', async () => {
    const wrong = 'wrong-canary'
    imap.setScript(({ command, secret }) =>
      command === 'AUTHENTICATE'
        ? `NO [AUTHENTICATIONFAILED] not ${secret} nor ${Buffer.from(`\0${USER}\0${secret}`).toString('base64')}\u202e`
        : undefined,
    )
    const answer = await configure({ config: config({ password: wrong }) })
    expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_auth_failed' } })
    expect(answer.body.message).toContain('not [redacted] nor [redacted]\\u202e')
  })

  it.each([
    ['nothing listens there', { port: 1 }, 'Could not connect to the mail server'],
    ['no such host', { host: 'nowhere.example' }, "The mail server's host name could not be found"],
    [
      'no STARTTLS where it is required',
      { secure: 'Tls' },
      'The mail server could not start an encrypted connection',
    ],
  ])('[contract 3.3] answers mailer_unreachable: %s', async (_, change, message) => {
    const answer = await configure({ config: config({ ...change }) })
    expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_unreachable', message } })
    const faults = 'host' in change ? [{ path: '/config/host', message }] : undefined
    expect(answer.body.errors).toEqual(faults)
  })

  it.each([
    ['rst', 'GREETING'],
    ['fin', 'AUTHENTICATE'],
    ['garbage', 'AUTHENTICATE'],
  ])('answers mailer_unreachable to a server that answers with %s to %s', async (how, at) => {
    imap.setScript(({ command }) =>
      command === at ? (how === 'garbage' ? { raw: 'x\r\n', ending: 'fin' } : how) : undefined,
    )
    const answer = await configure()
    expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_unreachable' } })
  })

  it('[B5] answers mailer_unreachable to a line without an end', async () => {
    imap.setScript(({ command }) =>
      command === 'AUTHENTICATE' ? { raw: `* X ${'x'.repeat(2_000_000)}` } : undefined,
    )
    expect(await configure()).toMatchObject({ status: 422, body: { code: 'mailer_unreachable' } })
  })

  it('[B12] names the bound that a server breaks', async () => {
    imap.setScript(({ command }) =>
      command === 'GREETING' ? { raw: `* OK ${'['.repeat(30_000)}\r\n` } : undefined,
    )
    expect(await configure()).toMatchObject({
      status: 422,
      body: {
        code: 'mailer_unreachable',
        message: expect.stringMatching(/^The mail server broke the bound imap_line: /),
      },
    })
  })

  it('refuses a webhook that nothing listens at', async () => {
    const answer = await configure({ webhook: { webhook_url: 'https://127.0.0.1:65533/' } })
    expect(answer).toMatchObject({ status: 422, body: { code: 'url_unreachable' } })
  })
})

describe('updateIMAP', () => {
  it('keeps fields that were left out', async () => {
    const mailer = await configured({ webhook: webhook() })
    const answer = await update(mailer.mailer_id, { name: 'Help' })
    expect(answer).toMatchObject({
      status: 200,
      body: { mailer: { name: 'Help', email: mailer.email, webhook: mailer.webhook } },
    })
    expect(imap.logins).toBe(1)
    expect(foldersOf(await stored(mailer))).toHaveLength(1)
  })

  it('keeps the position of folders that stay, and starts others with new mail', async () => {
    imap.account().addFolder('Archive')
    const mailer = await configured()
    const [before] = foldersOf(await stored(mailer))
    await update(mailer.mailer_id, { config: {}, folders: ['Archive', 'INBOX'] })
    const [archive, inbox] = foldersOf(await stored(mailer))
    expect(inbox).toEqual(before)
    expect(archive).toMatchObject({ path: 'Archive', baseline: { lastUid: 0 } })
  })

  it('[7.3] removes with null: folders become the inbox, and certificates are verified', async () => {
    imap.account().addFolder('Archive')
    const { mailer_id } = await configured({
      folders: ['Archive'],
      webhook: webhook(),
      config: config({ tls_verify: false }),
    })
    const answer = await update(mailer_id, {
      folders: null,
      since: null,
      mailer_id: null,
      webhook: { headers: null, method: null },
      config: { tls_verify: null },
    })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        mailer: {
          folders: ['INBOX'],
          webhook: { headers_present: [] },
          config: { tls_verify: true },
        },
      },
    })
  })

  it('accepts `since` for added folders only', async () => {
    imap.account().addFolder('Archive')
    const { mailer_id, since } = await configured()
    const [before] = foldersOf(await stored({ mailer_id }))
    for (const change of [{}, { folders: ['inbox'] }])
      expect(await update(mailer_id, { since: '2026-11-01T00:00:00Z', ...change })).toMatchObject(
        refused('/since'),
      )
    const folders = ['Archive', 'INBOX']
    const later = new Date(Date.parse(since ?? '') + 60_000).toISOString()
    const added = await update(mailer_id, { folders, since: later })
    expect(added).toMatchObject({ status: 200, body: { mailer: { folders, since } } })
    expect(foldersOf(await stored({ mailer_id }))).toMatchObject([{ since: later }, before])
  })

  it('applies `since` to all folders of another account', async () => {
    const server = await serve({ auth: { users: { [USER]: PASSWORD, bob: PASSWORD } } })
    const { mailer_id } = await configured({ config: config({ port: server.port }) })
    const since = '2026-11-01T00:00:00.000Z'
    const change = { username: 'bob', password: PASSWORD }
    const moved = await update(mailer_id, { config: change, since })
    expect(moved).toMatchObject({ status: 200, body: { mailer: { since } } })
  })

  it('starts anew with another account', async () => {
    const server = await serve({ auth: { users: { [USER]: PASSWORD, bob: PASSWORD } } })
    const mailer = await configured({ config: config({ port: server.port }) })
    const [before] = foldersOf(await stored(mailer))
    const change = { username: 'bob', password: PASSWORD }
    expect((await update(mailer.mailer_id, { config: change })).status).toBe(200)
    const [after] = foldersOf(await stored(mailer))
    expect(after?.start).not.toBe(before?.start)
  })

  it.each([{ host: 'imap.example.test' }, { port: 1993 }, { username: 'bob' }])(
    'needs the password again for %j',
    async (change) => {
      const mailer = await configured()
      expect(await update(mailer.mailer_id, { config: change })).toMatchObject(
        refused('/config/password'),
      )
    },
  )

  it('[interface 3] activates a deactivated mailer after a login', async () => {
    const mailer = await configured()
    await database.db.query(`update mailers_mailer set state = 'deactivated'`)
    const untried = await update(mailer.mailer_id, { name: 'x', verify: false })
    expect(untried.body.mailer.state).toBe('deactivated')
    expect((await update(mailer.mailer_id, { config: {} })).body.mailer.state).toBe('active')
  })

  it('sets, changes and deletes the webhook', async () => {
    const { mailer_id } = await configured()
    expect(await update(mailer_id, { webhook: { headers: {} } })).toMatchObject(
      refused('/webhook/webhook_url'),
    )
    const made = await update(mailer_id, { webhook: webhook() })
    expect(made.body.mailer.webhook).toMatchObject({ headers_present: ['X-Secret'] })
    const moved = await update(mailer_id, { webhook: { webhook_url: `${receiver.origin}/2` } })
    expect(moved.body.mailer.webhook).toMatchObject({
      webhook_url: `${receiver.origin}/2`,
      headers_present: ['X-Secret'],
    })
    const gone = await update(mailer_id, { webhook: null })
    expect(gone.body.mailer.webhook).toBeNull()
  })

  it('[contract 10] shows the signing secret of the webhook once, in the answer that makes it', async () => {
    const secret = /^whsec_/
    const first = await configure({ webhook: webhook({ signing: true }) })
    expect(first.body.signing_secret).toMatch(secret)
    const { mailer_id } = first.body.mailer
    expect(first.body.mailer.webhook).toMatchObject({ signing: true })
    const kept = await update(mailer_id, { webhook: { signing: true } })
    expect(kept.body).not.toHaveProperty('signing_secret')
    const headers = { 'Webhook-Id': 'mine' }
    expect(await update(mailer_id, { webhook: { headers } })).toMatchObject(
      refused('/webhook/headers/Webhook-Id'),
    )
    const off = await update(mailer_id, { webhook: { signing: false, headers } })
    expect(off.body.mailer.webhook).not.toHaveProperty('signing')
    expect(await update(mailer_id, { webhook: { signing: true } })).toMatchObject(
      refused('/webhook/signing'),
    )
    await update(mailer_id, { webhook: null })
    const made = await update(mailer_id, { webhook: webhook({ signing: true }) })
    expect(made.body.signing_secret).toMatch(secret)
    expect(made.body.signing_secret).not.toBe(first.body.signing_secret)
  })
})

describe('setMailerActive', () => {
  const setActive = (id: string, active: boolean) =>
    call('PUT', `/v1/mailers/${id}/active`, { active })

  it('[7.3] disables a mailbox, and activates it again unless its login is rejected', async () => {
    const { mailer_id } = await configured({ webhook: webhook() })
    woken.splice(0)
    const disabled = await setActive(mailer_id, false)
    expect(disabled.body.mailer).toMatchObject({
      state: 'disabled',
      webhook: { headers_present: ['X-Secret'] },
    })
    expect((await setActive(mailer_id, true)).body.mailer.state).toBe('active')
    expect(woken).toEqual([mailer_id, mailer_id])
    await update(mailer_id, { verify: false, config: { password: 'wrong' } })
    await setActive(mailer_id, false)
    expect(await setActive(mailer_id, true)).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed' },
    })
    for (const server of servers.splice(0)) await server.close()
    expect((await setActive(mailer_id, true)).body.mailer.state).toBe('active')
  })
})

describe('getIMAPConfig', () => {
  const at = new Date('2026-11-20T10:00:00.000Z')
  const lastFailure = { at, failedReason: 'F', providerError: 'BYE' }
  const good = { isReadOfLate: true, readAt: at, failingSince: null, lastFailure: null }
  it.each([
    ['waiting', undefined, {}],
    ['watched', good, { last_read_at: at.toISOString() }],
    ['waiting', { ...good, isReadOfLate: false }, { last_read_at: at.toISOString() }],
    [
      'failing',
      { ...good, failingSince: at, lastFailure },
      {
        failing_since: at.toISOString(),
        last_read_at: at.toISOString(),
        last_error: { at: at.toISOString(), failed_reason: 'F', provider_error: 'BYE' },
      },
    ],
  ] as const)('says that its mailbox is %s', async (state, health, shown) => {
    const { mailer_id } = await configured()
    if (health !== undefined) healths.set(mailer_id, health)
    const none = { failing_since: null, last_read_at: null, last_error: null }
    const { body: found } = await call('GET', `/v1/imap/${mailer_id}`)
    expect(Check(getImapConfigAnswer, found)).toBe(true)
    expect(found.mailer.mailbox).toEqual({ state, ...none, ...shown })
    await database.db.query(`update mailers_mailer set state = 'deactivated'`)
    const { body: stopped } = await call('GET', `/v1/imap/${mailer_id}`)
    expect(stopped.mailer.mailbox).toEqual({ ...found.mailer.mailbox, state: 'stopped' })
  })
})

describe('IMAP mailers: 404', () => {
  it('does not find a mailer of another tenant, an SMTP mailer or an unknown mailer', async () => {
    const { mailer_id } = await configured()
    expect((await call('GET', `/v1/imap/${mailer_id}`, undefined, 'b')).status).toBe(404)
    expect((await call('DELETE', `/v1/imap/${mailer_id}`, undefined, 'b')).status).toBe(404)
    expect((await call('GET', `/v1/smtp/${mailer_id}`)).status).toBe(404)
    expect((await call('PUT', `/v1/smtp/${mailer_id}`, { name: 'x' })).status).toBe(404)
    expect((await update('imap_unknown', { name: 'x' })).status).toBe(404)
  })
})

it('deleteIMAPConfig deletes the webhook as well', async () => {
  const { mailer_id } = await configured({ webhook: webhook() })
  expect((await call('DELETE', `/v1/imap/${mailer_id}`)).status).toBe(200)
  expect((await call('GET', `/v1/imap/${mailer_id}`)).status).toBe(404)
  expect((await call('DELETE', `/v1/imap/${mailer_id}`)).status).toBe(404)
  const { rowCount } = await database.db.query('select 1 from webhooks_subscription')
  expect(rowCount).toBe(0)
  expect(operations.deleteIMAPConfig.method).toBe('DELETE')
})

it('does not send mail by a mailbox', async () => {
  const { mailer_id: mailerId, email } = await configured()
  const wanted = [
    { tenantId: 'tn_a', mailerId },
    { tenantId: 'tn_a', from: email },
  ]
  expect(await findMailers(database.db, wanted)).toEqual([undefined, undefined])
})

it('writes no password and no header value into any answer or log line', () => {
  expect(seen.join('\n')).not.toMatch(/-canary|v1\.k\./)
})

import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import {
  getSmtpConfigAnswer,
  type Mailer,
  operations,
  setMailerActiveAnswer,
} from '@postrider/contract'
import { createSmtpServer, type SmtpServer } from '@postrider/testkit'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { addDomainMailer } from '../../test/sending.ts'
import { testLimiter } from '../../test/webhook-api.ts'
import { createClock } from '../platform/clock.ts'
import { createEgress } from '../platform/egress/index.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createKeyRing } from '../platform/secrets/index.ts'
import { findMailers, loadMailerForSend } from './index.ts'
import { registerMailerRoutes } from './routes.ts'
import { changeState } from './state/change-state.ts'

const certs = new URL('../../../testkit/certs/', import.meta.url)
const pem = (name: string) => readFileSync(new URL(name, certs), 'utf8')
const keyRing = createKeyRing(
  `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`,
)
const PASSWORD = 'hunter2-canary'
const users = { 'news@example.com': PASSWORD, other: 'other-canary' }
const KEYS: Readonly<
  Record<string, { tenantId: string; keyId: string; scopes: ('read' | 'send')[] }>
> = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] },
  sender: { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send'] },
}

let database: TestDatabase
let app: FastifyInstance
let smtp: SmtpServer
const seen: string[] = []
const limitOf = (usesMax: number) => createRateLimit({ name: 'checks', usesMax, windowS: 60 })
let limit = limitOf(1_000)
const lookedUp: string[] = []
/** At which question its inbound domain is gone. */
let domainGoneAt = 0
let domainQuestions = 0
const domainAsked = () => ++domainQuestions
/** Mailers whose mail was woken. */
const woken: string[] = []
const egress = createEgress({
  allowNetworks: ['127.0.0.0/8'],
  lookup: async (host) => {
    lookedUp.push(host)
    if (host === 'internal.example') return [{ address: '10.1.2.3', family: 4 }]
    if (host === 'mail.example.test') return [{ address: '127.0.0.1', family: 4 }]
    throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
  },
})

beforeAll(async () => {
  database = await createTestDatabase()
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  const log = createLogger({ level: 'trace', destination })
  app = createHttpApp({ log, metrics: createMetrics(), authenticateKey: (key) => KEYS[key] })
  registerMailerRoutes(app, {
    db: database.db,
    keyRing,
    egress,
    clock: createClock(),
    wakeMail: ({ mailerId }) => {
      woken.push(mailerId)
    },
    ehloName: 'sender.example.com',
    readMailboxHealth: async () => new Map(),
    isInboundDomain: async ({ tenantId, domain }) =>
      tenantId === 'tn_a' && domain === 'in.example.com' && domainAsked() !== domainGoneAt,
    accessTokens: { get: async () => ({ kind: 'inactive' }) },
    checks: {
      limit: { use: (...o) => limit.use(...o), useUnlessDone: (...o) => limit.useUnlessDone(...o) },
      limiter: testLimiter,
    },
  })
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await egress.close()
  await database.close()
})
beforeEach(async () => {
  await database.db.query('delete from mailers_mailer')
  smtp = await createSmtpServer({ auth: { users } })
})
afterEach(() => smtp.close())
afterEach(() => {
  limit = limitOf(1_000)
})

const config = (change: object = {}) => ({
  host: '127.0.0.1',
  port: smtp.port,
  username: 'news@example.com',
  password: PASSWORD,
  secure: 'Auto',
  ...change,
})
const body = (change: object = {}) => ({
  name: 'News',
  email: 'news@example.com',
  config_type: 'smtp',
  connection_type: 'basic',
  config: config(),
  ...change,
})

async function call(
  method: 'GET' | 'POST' | 'PUT' | 'DELETE',
  url: string,
  o: { readonly key?: string | undefined; readonly payload?: object } = {},
) {
  const { key = 'a', payload } = o
  const response = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}` },
    ...(payload === undefined ? {} : { payload }),
  })
  seen.push(response.payload, JSON.stringify(response.headers))
  return { status: response.statusCode, headers: response.headers, body: response.json() }
}
const configure = (change: object = {}, key?: string) =>
  call('POST', '/v1/smtp', { key, payload: body(change) })
const update = (id: string, payload: object, key?: string) =>
  call('PUT', `/v1/smtp/${id}`, { key, payload })
const get = (id: string, key?: string) => call('GET', `/v1/smtp/${id}`, { key })

/** A mailer to work on; configuring it has its own tests. */
async function configured(change: object = {}, key?: string): Promise<Mailer> {
  const answer = await configure(change, key)
  expect(answer).toMatchObject({ status: 201 })
  return answer.body.mailer
}

const CHANGED = { state_changed_at: expect.any(String), updated_at: expect.any(String) }
const load = (id: string, tenantId = 'tn_a') =>
  loadMailerForSend(database.db, keyRing, tenantId, id)
const logins = () => smtp.connections.map((connection) => connection.username)

describe('the rate limit of failed checks', () => {
  const unknown = () => ({ config: config({ host: 'nowhere.example.test' }) })

  it('[contract 2] is one for each tenant over all operations, and is checked before a name lookup', async () => {
    const { mailer_id: id } = await configured()
    limit = limitOf(1)
    expect((await configure(unknown())).status).toBe(422)
    lookedUp.length = 0
    const refused = await configure(unknown())
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(refused.headers['ratelimit-policy']).toBe('"checks";q=1;w=60')
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect((await update(id, unknown())).status).toBe(429)
    expect((await configure({ ...unknown(), verify: false })).status).toBe(429)
    expect(lookedUp).toEqual([])
    expect((await update(id, { name: 'Other' })).status).toBe(200)
    expect((await configure(unknown(), 'b')).status).toBe(422)
  })

  it('does not count successful checks', async () => {
    limit = limitOf(1)
    const { mailer_id: id } = await configured()
    for (let i = 0; i < 3; i += 1) expect((await update(id, { config: config() })).status).toBe(200)
  })
})

describe('configureSMTP', () => {
  describe('201', () => {
    it('stores the mailer, and answers it without its password', async () => {
      const answer = await configure()
      expect(answer).toEqual({
        status: 201,
        headers: expect.anything(),
        body: {
          success: true,
          message: 'Mailer configured',
          mailer: {
            mailer_id: expect.stringMatching(/^smtp_[0-9A-Z]{26}$/),
            name: 'News',
            email: 'news@example.com',
            config_type: 'smtp',
            connection_type: 'basic',
            config: {
              host: '127.0.0.1',
              port: smtp.port,
              username: 'news@example.com',
              secure: 'Auto',
              tls_verify: true,
            },
            limits: {},
            effective_limits: { connections: 5, messages_per_connection: 100 },
            uncertain: 'at_least_once',
            return_path: null,
            state: 'active',
            state_reason: null,
            state_evidence: null,
            state_changed_at: expect.any(String),
            created_at: expect.any(String),
            updated_at: expect.any(String),
          },
        },
      })
      expect(Check(getSmtpConfigAnswer, answer.body)).toBe(true)
    })

    it('logs in once before it answers, and sends QUIT', async () => {
      await configure()
      await smtp.waitFor(() => smtp.openConnections === 0)
      expect(logins()).toEqual(['news@example.com'])
      expect(smtp.connections[0]?.commands.at(-1)).toBe('QUIT')
    })

    it('stores the password sealed, bound to its row', async () => {
      const { mailer_id: id } = await configured()
      const { rows } = await database.db.query<{ secret: string }>(
        'select secret from mailers_mailer where mailer_id = $1',
        [id],
      )
      const sealed = rows[0]?.secret ?? ''
      expect(sealed).toMatch(/^v1\.k\./)
      expect(sealed).not.toContain(PASSWORD)
      expect(keyRing.decrypt(sealed, `mailers|tn_a|${id}|config`)).toContain(PASSWORD)
    })

    it('connects to nothing with verify: false', async () => {
      await configured({ verify: false, config: config({ password: 'wrong', port: 1 }) })
      const elsewhere = { email: 'other@example.com', config: config({ host: 'nowhere.example' }) }
      await configured({ verify: false, ...elsewhere })
      expect(smtp.connections).toEqual([])
    })

    it('accepts a server without a login', async () => {
      const open = await createSmtpServer()
      const { host, port, secure } = { ...config(), port: open.port }
      const mailer = await configured({ config: { host, port, secure } })
      expect(mailer.config.username).toBeNull()
      expect(await load(mailer.mailer_id)).not.toHaveProperty('password')
      await open.close()
    })

    it.each([
      ['SSL', 'implicit'],
      ['Tls', 'starttls'],
      ['Auto', 'starttls'],
    ] as const)('logs in over TLS with secure %s (%s)', async (secure, mode) => {
      const tls = { mode, key: pem('localhost.key'), cert: pem('localhost.pem') }
      const server = await createSmtpServer({ auth: { users, tlsOnly: true }, tls })
      const secured = config({ port: server.port, secure, tls_verify: false })
      const mailer = await configured({ config: secured })
      expect(mailer.config).toMatchObject({ secure, tls_verify: false })
      expect(server.connections).toMatchObject([{ secure: true, username: 'news@example.com' }])
      await server.close()
    })

    it('logs in in plain text with secure None, also where STARTTLS is offered', async () => {
      const tls = {
        mode: 'starttls',
        key: pem('localhost.key'),
        cert: pem('localhost.pem'),
      } as const
      const server = await createSmtpServer({ auth: { users }, tls })
      await configured({ config: config({ port: server.port, secure: 'None' }) })
      expect(server.connections).toMatchObject([{ secure: false }])
      await server.close()
    })

    it('normalises host and address, and accepts basic_smtp for smtp', async () => {
      const mailer = await configured({
        config_type: 'basic_smtp',
        email: 'News@EXAMPLE.com',
        config: config({ host: 'MAIL.example.test.' }),
      })
      expect(mailer).toMatchObject({
        config_type: 'smtp',
        email: 'News@example.com',
        config: { host: 'mail.example.test' },
      })
    })

    it('stores limits and the policy for uncertain attempts', async () => {
      const change = {
        limits: { per_minute: 30, connections: 2, messages_per_connection: 10 },
        uncertain: 'at_most_once',
      }
      const mailer = await configured(change)
      expect(mailer).toMatchObject(change)
      expect(await load(mailer.mailer_id)).toMatchObject({
        connectionsMax: 2,
        messagesMax: 10,
        rates: { per_minute: 30 },
      })
    })

    it('[7.4] makes a second mailer for an address with allow_duplicate only', async () => {
      const first = await configured()
      const again = { email: 'News@Example.com', allow_duplicate: true }
      expect((await configured(again)).mailer_id).not.toBe(first.mailer_id)
      expect((await configured({}, 'b')).email).toBe('news@example.com')
    })
  })

  describe('400', () => {
    it.each([
      ['/name', { name: 'News\r\nBcc: x@example.com' }],
      ['/name', { name: '  ' }],
      ['/email', { email: 'not an address' }],
      ['/email', { email: 'a@example.com, b@example.com' }],
      ['/connection_type', { connection_type: 'token' }],
      ['/config_type', { config_type: 'imap' }],
      ['/config', { config: undefined }],
      ['/limits/per_second', { limits: { per_second: 0 } }],
      ['/limits/per_day', { limits: { connections: 1, per_day: 1.5 } }],
      ['/limits/connections', { limits: { connections: 0 } }],
      ['/colour', { colour: 'red' }],
    ])('refuses %s of %j', async (path, change) => {
      expect(await configure(change)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path }] },
      })
      expect(smtp.connections).toEqual([])
    })

    it.each([
      ['/config/host', { host: 'a b' }],
      ['/config/host', { host: 'mail.example.test:25' }],
      ['/config/host', { host: 'mail.example.test\r\nEHLO x' }],
      ['/config/host', { host: 'https://mail.example.test' }],
      ['/config/port', { port: 0 }],
      ['/config/port', { port: '25' }],
      ['/config/secure', { secure: 'tls' }],
      ['/config/username', { username: 'a\r\nb' }],
      ['/config/username', { username: undefined }],
      ['/config/password', { password: 'a\nb' }],
      ['/config/password', { password: undefined }],
      ['/config/passwd', { passwd: 'x' }],
    ])('refuses %s of config %j', async (path, change) => {
      expect(await configure({ config: config(change) })).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path }] },
      })
      expect(smtp.connections).toEqual([])
    })

    it.each(['internal.example', '10.0.0.1', '0x0a000001', '[::1]', '169.254.169.254'])(
      'refuses the host %s, which is not publicly reachable, verified or not',
      async (host) => {
        for (const verify of [true, false]) {
          expect(await configure({ verify, config: config({ host }) })).toMatchObject({
            status: 400,
            body: {
              code: 'validation_failed',
              errors: [
                {
                  path: '/config/host',
                  message: expect.stringContaining('POSTRIDER_ALLOW_NETWORKS'),
                },
              ],
            },
          })
        }
      },
    )

    it('stores nothing', async () => {
      const before = await countMailers()
      await configure({ name: '' })
      await configure({ config: config({ host: '10.0.0.1' }) })
      expect(await countMailers()).toBe(before)
    })
  })

  describe('409 mailer_exists', () => {
    it('[7.4] names the first mailer for the address', async () => {
      const first = await configured()
      await configured({ allow_duplicate: true })
      for (const change of [{}, { email: 'NEWS@example.com' }, { allow_duplicate: false }]) {
        const { status, body: answer } = await configure(change)
        expect([status, answer.code]).toEqual([409, 'mailer_exists'])
        expect(answer.message).toContain(`${first.mailer_id}.`)
        expect(answer.message).toContain('allow_duplicate')
      }
    })

    it('[7.4] is answered to all but one of many concurrent requests', async () => {
      const answers = await Promise.all(Array.from({ length: 8 }, () => configure()))
      const made = answers.filter(({ status }) => status === 201)
      expect(made).toHaveLength(1)
      const id = made[0]?.body.mailer.mailer_id
      for (const { status, body: answer } of answers)
        if (status !== 201) expect([status, answer.message.includes(id)]).toEqual([409, true])
      const { rows } = await database.db.query('select 1 from mailers_mailer')
      expect(rows).toHaveLength(1)
    })

    it('[7.4] is answered to an update to the address of another mailer', async () => {
      const first = await configured()
      const { mailer_id: id } = await configured({ email: 'other@example.com' })
      for (const change of [{}, { allow_duplicate: false }, { allow_duplicate: null }]) {
        const { status, body: answer } = await update(id, { email: 'NEWS@example.com', ...change })
        expect([status, answer.code]).toEqual([409, 'mailer_exists'])
        expect(answer.message).toContain(`${first.mailer_id}.`)
        expect(answer.message).toContain('allow_duplicate')
      }
      expect((await call('GET', `/v1/smtp/${id}`)).body.mailer.email).toBe('other@example.com')
      expect((await update(id, { email: 'third@example.com' })).status).toBe(200)
      const allowed = await update(id, { email: 'NEWS@example.com', allow_duplicate: true })
      expect([allowed.status, allowed.body.mailer?.email]).toEqual([200, 'NEWS@example.com'])
      // What it has already is its own.
      for (const change of [{ name: 'x' }, { email: 'news@example.com' }, { config: {} }])
        expect((await update(id, change)).status).toBe(200)
    })

    it('[7.4] is answered to all but one of many concurrent updates', async () => {
      const ids: string[] = []
      for (const n of [1, 2, 3, 4])
        ids.push((await configured({ email: `a${n}@example.com` })).mailer_id)
      const answers = await Promise.all(ids.map((id) => update(id, { email: 'b@example.com' })))
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    })

    it('is no longer answered once the first mailer is deleted', async () => {
      const { mailer_id: id } = await configured()
      expect((await call('DELETE', `/v1/smtp/${id}`)).status).toBe(200)
      await configured()
    })
  })

  describe('422 mailer_auth_failed', () => {
    it('quotes the reply of the server, and stores nothing', async () => {
      const before = await countMailers()
      smtp.setScript(({ phase }) =>
        phase === 'auth' ? '535 5.7.8 \u001b[31mno\u202e such login' : undefined,
      )
      expect(await configure()).toMatchObject({
        status: 422,
        body: {
          code: 'mailer_auth_failed',
          message: 'The mail server rejected the login: 535 5.7.8 \\u001b[31mno\\u202e such login',
        },
      })
      expect(await countMailers()).toBe(before)
    })

    it('is answered when credentials were given and the server offers no login', async () => {
      const open = await createSmtpServer()
      const before = await countMailers()
      expect(await configure({ config: config({ port: open.port }) })).toMatchObject({
        status: 422,
        body: {
          code: 'mailer_auth_failed',
          message: expect.stringMatching(/^The mail server offers no login /),
        },
      })
      expect(await countMailers()).toBe(before)
      await open.close()
    })

    it('hides a password that the server quotes', async () => {
      const plain = Buffer.from(`\0news@example.com\0${PASSWORD}`).toString('base64')
      smtp.setScript(({ phase, line }) =>
        phase === 'auth' ? `454 4.7.0 "${line}" with ${PASSWORD}` : undefined,
      )
      const { body: answer } = await configure()
      expect(answer.message).toContain('454 4.7.0 "AUTH PLAIN [redacted]" with [redacted]')
      expect(answer.message).not.toContain(plain.slice(-8))
    })

    it('shortens a long reply', async () => {
      smtp.setScript(({ phase }) => (phase === 'auth' ? `535 ${'a'.repeat(5_000)}` : undefined))
      const { body: answer } = await configure()
      expect(answer.message.length).toBeLessThan(600)
    })
  })

  describe('422 mailer_unreachable', () => {
    it.each([
      ['a port that nobody listens on', { port: 1 }],
      ['a name that does not resolve', { host: 'nowhere.example' }],
      ['a server without STARTTLS where TLS is required', { secure: 'Tls' }],
      ['a server without TLS where implicit TLS is expected', { secure: 'SSL' }],
    ])('is answered for %s', async (_what, change) => {
      expect(await configure({ config: config(change) })).toMatchObject({
        status: 422,
        body: { code: 'mailer_unreachable' },
      })
    })

    it('is answered for a certificate that cannot be verified', async () => {
      const tls = { mode: 'implicit', key: pem('expired.key'), cert: pem('expired.pem') } as const
      const server = await createSmtpServer({ auth: { users }, tls })
      const answer = await configure({ config: config({ port: server.port, secure: 'SSL' }) })
      expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_unreachable' } })
      await server.close()
    })

    it.each(['554 5.7.1 go away', '421 4.3.2 too busy'])(
      'is answered for the greeting %s',
      async (reply) => {
        smtp.setScript(({ phase }) => (phase === 'connect' ? reply : undefined))
        const answer = await configure()
        expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_unreachable' } })
        expect(answer.body.message).toContain(reply)
      },
    )
  })

  it.each([
    ['401', undefined, 'unauthorized'],
    ['403', 'reader', 'forbidden'],
    ['403', 'sender', 'forbidden'],
  ])('answers %s to the key %s', async (status, key, code) => {
    const answer = await configure({}, key ?? 'unknown')
    expect(answer).toMatchObject({ status: Number(status), body: { code } })
  })
})

describe('getSMTPConfig', () => {
  it('answers the mailer, also to a read-only key', async () => {
    const mailer = await configured()
    expect(await get(mailer.mailer_id, 'reader')).toMatchObject({ status: 200, body: { mailer } })
  })
})

describe('updateSMTP', () => {
  describe('200', () => {
    it('changes given fields and keeps the others, without a new login', async () => {
      const before = await configured({ limits: { connections: 3 } })
      const answer = await update(before.mailer_id, {
        mailer_id: before.mailer_id,
        name: 'Other',
        email: 'other@example.com',
      })
      const { mailer } = answer.body
      expect(answer.status).toBe(200)
      expect(mailer).toEqual({
        ...before,
        name: 'Other',
        email: 'other@example.com',
        updated_at: expect.any(String),
      })
      expect(await load(before.mailer_id)).toMatchObject({ password: PASSWORD })
      expect(logins()).toHaveLength(1)
    })

    it('logs in with a changed configuration, and keeps the password of the same login', async () => {
      const { mailer_id: id } = await configured({ config: config({ secure: 'None' }) })
      const answer = await update(id, { config: { secure: 'Auto' } })
      expect(answer).toMatchObject({
        status: 200,
        body: { mailer: { config: { secure: 'Auto' } } },
      })
      expect(logins()).toEqual(['news@example.com', 'news@example.com'])
      expect(await load(id)).toMatchObject({ password: PASSWORD, secure: 'Auto' })
    })

    it('accepts a new login', async () => {
      const { mailer_id: id } = await configured()
      const change = { username: 'other', password: 'other-canary' }
      expect(await update(id, { config: change })).toMatchObject({ status: 200 })
      expect(await load(id)).toMatchObject(change)
    })

    it('raises the version that connections are bound to', async () => {
      const { mailer_id: id } = await configured()
      await update(id, { limits: { connections: 1 } })
      expect(await load(id)).toMatchObject({ configVersion: 2, connectionsMax: 1 })
    })

    it('replaces all limits', async () => {
      const { mailer_id: id } = await configured({ limits: { connections: 3 } })
      expect(await update(id, { limits: {} })).toMatchObject({ body: { mailer: { limits: {} } } })
    })

    it('[7.3] removes with null: a login, limits, and fields with a default', async () => {
      const before = await configured({
        limits: { per_day: 5 },
        uncertain: 'at_most_once',
        config: config({ tls_verify: false, secure: 'None' }),
      })
      const { mailer_id: id } = before
      const nulls = { mailer_id: null, verify: null, limits: null, uncertain: null }
      const first = await update(id, { ...nulls, config: { tls_verify: null } })
      expect(first.body.mailer).toMatchObject({
        limits: {},
        uncertain: 'at_least_once',
        config: { tls_verify: true, username: 'news@example.com' },
      })
      const without = await update(id, { verify: false, config: { username: null } })
      expect(without.body.mailer.config).toEqual({ ...first.body.mailer.config, username: null })
      expect(await load(id)).not.toHaveProperty('password')
      expect(await load(id)).not.toHaveProperty('username')
      const login = { username: 'other', password: 'other-canary' }
      expect((await update(id, { config: login })).status).toBe(200)
    })

    it('activates a deactivated mailer once it has logged in', async () => {
      const { mailer_id: id } = await configured()
      await deactivate(id)
      expect((await get(id)).body.mailer).toMatchObject({
        state: 'deactivated',
        state_reason: 'provider_auth_error',
        state_evidence: '535 5.7.8 no',
      })
      const renamed = await update(id, { name: 'Other' })
      expect(renamed.body.mailer).toMatchObject({ state: 'deactivated' })
      woken.splice(0)
      const again = await update(id, { config: { password: PASSWORD } })
      expect(again.body.mailer).toMatchObject({
        state: 'active',
        state_reason: null,
        state_evidence: null,
      })
      expect(woken).toEqual([id])
    })

    it('keeps a mailer deactivated when its login is not tried or fails', async () => {
      const { mailer_id: id } = await configured()
      await deactivate(id)
      const untried = await update(id, { verify: false, config: { password: 'wrong' } })
      expect(untried.body.mailer).toMatchObject({
        state: 'deactivated',
        state_reason: 'provider_auth_error',
      })
      expect(await update(id, { config: {} })).toMatchObject({ status: 422 })
      await update(id, { verify: false, config: { password: PASSWORD } })
      expect((await get(id)).body.mailer).toMatchObject({ state: 'deactivated' })
      // What is stored logs in.
      const tried = await update(id, { config: {} })
      expect(tried.body.mailer).toMatchObject({ state: 'active' })
    })

    it('keeps a disabled mailer disabled', async () => {
      const { mailer_id: id } = await configured()
      await database.db.query(
        "update mailers_mailer set state = 'disabled' where tenant_id = 'tn_a' and mailer_id = $1",
        [id],
      )
      const answer = await update(id, { config: { password: PASSWORD } })
      expect(answer.body.mailer).toMatchObject({ state: 'disabled' })
    })
  })

  describe('400', () => {
    it.each([{ host: 'mail.example.test' }, { port: 26 }, { username: 'other' }])(
      'needs the password again for %j',
      async (change) => {
        const { mailer_id: id } = await configured()
        const answer = await update(id, { verify: false, config: change })
        expect(answer).toMatchObject({
          status: 400,
          body: { errors: [{ path: '/config/password' }] },
        })
        expect(await load(id)).toMatchObject({ configVersion: 1, password: PASSWORD })
      },
    )

    it.each([
      ['SSL', true, { secure: 'None' }],
      ['Tls', true, { secure: 'None' }],
      ['Auto', true, { secure: 'None' }],
      ['SSL', true, { secure: 'Auto' }],
      ['Tls', true, { secure: 'Auto' }],
      ['Tls', true, { tls_verify: false }],
      ['Tls', true, { secure: 'SSL', tls_verify: false }],
      ['None', true, { secure: 'Tls', tls_verify: false }],
    ])(
      'needs the password again when %s (verified: %s) becomes weaker by %j',
      async (secure, tls_verify, change) => {
        const before = config({ secure, tls_verify })
        const { mailer_id: id } = await configured({ verify: false, config: before })
        expect(await update(id, { config: change })).toMatchObject({
          status: 400,
          body: { code: 'validation_failed', errors: [{ path: '/config/password' }] },
        })
        expect(smtp.connections).toEqual([])
        expect(await load(id)).toMatchObject({ configVersion: 1, secure, tlsVerify: tls_verify })
        const again = { verify: false, config: { ...change, password: PASSWORD } }
        expect(await update(id, again)).toMatchObject({ status: 200 })
      },
    )

    it.each([
      ['None', false, { secure: 'Auto' }],
      ['Auto', false, { secure: 'SSL', tls_verify: true }],
      ['SSL', false, { secure: 'Tls' }],
      ['Tls', true, { secure: 'SSL', tls_verify: true }],
      ['None', false, { tls_verify: false }],
    ])(
      'keeps the password when %s (verified: %s) becomes no weaker by %j',
      async (secure, tls_verify, change) => {
        const before = config({ secure, tls_verify })
        const { mailer_id: id } = await configured({ verify: false, config: before })
        expect(await update(id, { verify: false, config: change })).toMatchObject({ status: 200 })
        expect(await load(id)).toMatchObject({ configVersion: 2, password: PASSWORD })
      },
    )

    it.each([
      [{ name: null }, '/name'],
      [{ email: null }, '/email'],
      [{ config: null }, '/config'],
      [{ config: { host: null } }, '/config/host'],
      [{ config: { port: null } }, '/config/port'],
      [{ config: { secure: null } }, '/config/secure'],
      [{ config: { password: null } }, '/config/password'],
      [{ config: { username: null, password: 'x' } }, '/config/username'],
    ])('[7.3] refuses to remove a required field: %j', async (change, path) => {
      const { mailer_id: id } = await configured()
      expect(await update(id, change)).toMatchObject({ status: 400, body: { errors: [{ path }] } })
      expect(await load(id)).toMatchObject({ configVersion: 1, password: PASSWORD })
    })

    it('needs a password that cannot be decrypted again, for changes of the login only', async () => {
      const { mailer_id: id } = await configured()
      await database.db.query(
        "update mailers_mailer set secret = replace(secret, 'v1.k.', 'v1.gone.') where mailer_id = $1",
        [id],
      )
      await expect(load(id)).rejects.toThrow('cannot be opened')
      expect(await update(id, { name: 'Other' })).toMatchObject({ status: 200 })
      const answer = await update(id, { config: { secure: 'Auto' } })
      expect(answer).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/config/password' }] },
      })
      expect(await update(id, { config: { password: PASSWORD } })).toMatchObject({ status: 200 })
      expect(await load(id)).toMatchObject({ password: PASSWORD })
    })

    it.each([
      ['/mailer_id', { mailer_id: 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8' }],
      ['/name', { name: 'a\nb' }],
      ['/email', { email: '@' }],
      ['/config/host', { config: { host: '10.0.0.1', password: 'x' } }],
      ['/config/host', { verify: false, config: { host: '10.0.0.1', password: 'x' } }],
      ['/limits/per_minute', { limits: { per_minute: 0 } }],
      ['/connection_type', { connection_type: 'basic' }],
    ])('refuses %s of %j', async (path, change) => {
      const { mailer_id: id } = await configured()
      const answer = await update(id, change)
      expect(answer).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path }] },
      })
      expect(await load(id)).toMatchObject({ configVersion: 1 })
    })
  })

  it('answers 422 and keeps the old configuration when the new one cannot log in', async () => {
    const { mailer_id: id } = await configured()
    const answer = await update(id, { config: { password: 'wrong' } })
    expect(answer).toMatchObject({ status: 422, body: { code: 'mailer_auth_failed' } })
    expect(await load(id)).toMatchObject({ configVersion: 1, password: PASSWORD })
  })

  it('answers 409 to an update that was overtaken by another', async () => {
    const { mailer_id: id } = await configured()
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    smtp.setScript(({ phase }) => {
      if (phase !== 'connect') return undefined
      reached.resolve()
      return { after: gate.promise }
    })
    const slow = update(id, { name: 'Slow', config: { password: PASSWORD } })
    await reached.promise
    expect(await update(id, { name: 'Quick' })).toMatchObject({ status: 200 })
    gate.resolve()
    expect(await slow).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect((await get(id)).body.mailer.name).toBe('Quick')
  })
})

describe('setMailerActive', () => {
  const setActive = (id: string, active: unknown = true, key?: string) =>
    call('PUT', `/v1/mailers/${id}/active`, { key, payload: { active } })

  it('[7.3] disables a mailer and activates it again, without an event', async () => {
    const mailer = await configured()
    woken.splice(0)
    const disabled = await setActive(mailer.mailer_id, false)
    expect(disabled).toMatchObject({
      status: 200,
      body: { message: 'Mailer disabled', mailer: { ...mailer, ...CHANGED, state: 'disabled' } },
    })
    expect(Check(setMailerActiveAnswer, disabled.body)).toBe(true)
    expect((await setActive(mailer.mailer_id)).body.mailer).toMatchObject({ state: 'active' })
    expect(woken).toEqual([mailer.mailer_id, mailer.mailer_id])
    expect((await database.db.query('select 1 from webhooks_event')).rows).toEqual([])
  })

  it('changes a sending domain, and a server without a login', async () => {
    const { mailerId } = await addDomainMailer(database.db)
    const domain = await setActive(mailerId, false)
    expect(Check(setMailerActiveAnswer, domain.body)).toBe(true)
    expect(domain.body.mailer).toMatchObject({ config_type: 'domain', state: 'disabled' })
    expect((await setActive(mailerId)).body.mailer.state).toBe('active')
    const open = { host: '127.0.0.1', port: 1, secure: 'None' }
    const { mailer_id: id } = await configured({ verify: false, config: open })
    await setActive(id, false)
    expect((await setActive(id)).body.mailer.state).toBe('active')
  })

  it('answers 422 when the login is rejected, also of a mailer that was disabled meanwhile', async () => {
    const { mailer_id: id } = await configured({
      verify: false,
      config: config({ password: 'wrong' }),
    })
    await database.db.query(`update mailers_mailer set state = 'deactivated'`)
    await setActive(id, false)
    expect(await setActive(id)).toMatchObject({
      status: 422,
      body: { code: 'mailer_auth_failed' },
    })
    expect((await get(id)).body.mailer.state).toBe('disabled')
    expect((await update(id, { config: { password: PASSWORD } })).status).toBe(200)
    expect((await setActive(id)).body.mailer.state).toBe('active')
  })

  it('activates a mailer whose server cannot be reached', async () => {
    const { mailer_id: id } = await configured()
    await database.db.query(`update mailers_mailer set state = 'deactivated'`)
    await smtp.close()
    expect((await setActive(id)).body.mailer.state).toBe('active')
    smtp = await createSmtpServer()
  })

  it('answers 400, 403 and 404', async () => {
    const { mailer_id: id } = await configured()
    for (const active of [null, 'no', 1])
      expect(await setActive(id, active)).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/active' }] },
      })
    expect((await setActive(id, false, 'reader')).status).toBe(403)
    expect((await setActive(id, false, 'b')).status).toBe(404)
    expect((await setActive('smtp_x', false)).status).toBe(404)
  })
})

describe('deleteSMTPConfig', () => {
  it('deletes the mailer once', async () => {
    const { mailer_id: id } = await configured()
    const remove = () => call('DELETE', `/v1/smtp/${id}`)
    woken.splice(0)
    expect(await remove()).toMatchObject({ status: 200, body: { success: true } })
    expect(woken).toEqual([id])
    expect(await remove()).toMatchObject({ status: 404 })
    expect(await load(id)).toBeUndefined()
  })
})

describe('SMTP mailers: 404', () => {
  it('answers the same for a mailer of another tenant and an unknown one', async () => {
    const { mailer_id: id } = await configured()
    const unknown = 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
    for (const one of [
      (target: string) => get(target, 'b'),
      (target: string) => update(target, { name: 'Taken' }, 'b'),
      (target: string) => call('DELETE', `/v1/smtp/${target}`, { key: 'b' }),
    ]) {
      const [theirs, nobodys] = [await one(id), await one(unknown)]
      expect(theirs.status).toBe(404)
      expect({ ...theirs.body, request_id: '' }).toEqual({ ...nobodys.body, request_id: '' })
    }
    expect((await get(id)).body.mailer.name).toBe('News')
    expect(await load(id, 'tn_b')).toBeUndefined()
    const found = await findMailers(database.db, [
      { tenantId: 'tn_b', mailerId: id },
      { tenantId: 'tn_b', from: 'news@example.com' },
    ])
    expect(found).toEqual([undefined, undefined])
  })

  it('does not find a sending domain', async () => {
    const { mailerId } = await addDomainMailer(database.db)
    expect(await get(mailerId)).toMatchObject({ status: 404 })
    expect(await update(mailerId, { name: 'Taken' })).toMatchObject({ status: 404 })
    expect(await call('DELETE', `/v1/smtp/${mailerId}`)).toMatchObject({ status: 404 })
    expect(await load(mailerId)).toMatchObject({ kind: 'relay', domain: 'example.com' })
  })

  it.each(['x', '%00', '..%2f', 'a'.repeat(200)])('does not find the id %s', async (id) => {
    expect(await get(id)).toMatchObject({ status: 404 })
  })
})

describe('secrets', () => {
  it('are in no answer and no log line', async () => {
    await configure({ config: config({ password: 'wrong-canary' }) })
    expect(seen.length).toBeGreaterThan(0)
    expect(seen.join('\n')).not.toMatch(/canary|v1\.k\./)
  })
})

it('has every operation on mailers in its table', () => {
  const ids = ['configureSMTP', 'updateSMTP', 'getSMTPConfig', 'deleteSMTPConfig'] as const
  for (const id of ids) expect(operations[id].auth).toBe('tenant')
})

async function countMailers(): Promise<number> {
  const { rows } = await database.db.query('select 1 from mailers_mailer')
  return rows.length
}

async function deactivate(mailerId: string): Promise<void> {
  const mailer = { tenantId: 'tn_a', mailerId }
  const cause = {
    kind: 'rejected',
    reason: 'provider_auth_error',
    evidence: '535 5.7.8 no',
    configVersion: 1,
  } as const
  const results = await database.db.transaction(async (tx) => [
    await changeState(tx, createClock(), mailer, { ...cause, configVersion: 2 }),
    await changeState(tx, createClock(), mailer, cause),
    await changeState(tx, createClock(), mailer, cause),
  ])
  expect(results.map((one) => one?.isChanged)).toEqual([false, true, false])
  expect(results.map((one) => one?.event?.event)).toEqual([
    undefined,
    'MAILER_DEACTIVATED',
    undefined,
  ])
}

describe('return_path', () => {
  const own = 'bounces@in.example.com'

  it('[7.4] is shown, kept when it is left out, and removed with null', async () => {
    const { mailer_id: id, return_path: shown } = await configured({ return_path: own })
    expect(shown).toBe(own)
    expect((await update(id, { name: 'Other' })).body.mailer.return_path).toBe(own)
    expect(await loadMailerForSend(database.db, keyRing, 'tn_a', id)).toMatchObject({
      returnPath: own,
    })
    expect((await update(id, { return_path: null })).body.mailer.return_path).toBeNull()
    const loaded = await loadMailerForSend(database.db, keyRing, 'tn_a', id)
    expect(loaded).not.toHaveProperty('returnPath')
  })

  it('is empty when its domain is deleted while the mailer is stored', async () => {
    const { mailer_id: id } = await configured()
    domainQuestions = 0
    domainGoneAt = 2
    const { body } = await update(id, { return_path: own })
    expect(body.mailer.return_path).toBeNull()
    const loaded = await loadMailerForSend(database.db, keyRing, 'tn_a', id)
    expect(loaded).not.toHaveProperty('returnPath')
    domainGoneAt = 0
  })

  it('is stored in one spelling', async () => {
    const { return_path: shown } = await configured({ return_path: 'Bounces@IN.example.com' })
    expect(shown).toBe(own)
  })

  it.each([
    ['a domain that is not an inbound domain', 'bounces@example.com'],
    ['a domain below one', 'bounces@a.in.example.com'],
    ['another local part', 'news@in.example.com'],
    ['a tag', 'bounces+x@in.example.com'],
    ['no address', 'in.example.com'],
    ['nothing', ''],
    ['a line break', 'bounces@in.example.com\r\nRCPT TO:<x@y.test>'],
    ['a number', 7],
  ])('[7.4] answers 400 and names /return_path: %s', async (_what, returnPath) => {
    const { mailer_id: id } = await configured()
    for (const { status, body } of [
      await configure({ return_path: returnPath }),
      await update(id, { return_path: returnPath }),
    ]) {
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'validation_failed' })
      expect(body.errors.map((error: { path: string }) => error.path)).toEqual(['/return_path'])
    }
  })

  it('[7.4] answers 400 for an inbound domain of another tenant', async () => {
    const { status, body } = await configure({ return_path: own }, 'b')
    expect([status, body.errors[0].path]).toEqual([400, '/return_path'])
  })
})

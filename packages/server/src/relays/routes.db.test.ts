/** The operations on accounts at relay providers, with what they do to the account as it is used. */
import { generateKeyPairSync } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { configureRelayAnswer, deleteRelayAnswer, getRelayAnswer } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { createTestEgress, testKeyRing, testLimiter } from '../../test/webhook-api.ts'
import type { Egress } from '../platform/egress/index.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { createRateLimit } from '../platform/limits/rate-limit.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import type { AccountKey } from './accounts/account.ts'
import { findAccountByToken, loadAccount } from './accounts/load-account.ts'
import { adapterOf } from './adapters.ts'
import { relayRoutes } from './routes.ts'

const PUBLIC_URL = 'https://mail.example.com'
const CALLBACK_URL = /^https:\/\/mail\.example\.com\/callbacks\/sparkpost\/([0-9A-Za-z]{43})$/
const KEYS: Readonly<
  Record<string, { tenantId: string; scopes: ('mailers' | 'read' | 'send')[] }>
> = {
  a: { tenantId: 'tn_a', scopes: [] },
  b: { tenantId: 'tn_b', scopes: [] },
  mailers: { tenantId: 'tn_a', scopes: ['mailers'] },
  reader: { tenantId: 'tn_a', scopes: ['read', 'send'] },
}

let database: TestDatabase
let egress: Egress
let app: FastifyInstance
const lookedUp: string[] = []
const seen: string[] = []
/** Changes that were told, and that were followed up after the commit. */
const changes: string[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  egress = createTestEgress(lookedUp)
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  app = createHttpApp({
    log: createLogger({ level: 'trace', destination }),
    metrics: createMetrics(),
    authenticateKey: (key) => {
      const found = KEYS[key]
      return found === undefined ? undefined : { ...found, keyId: `key_${key}` }
    },
  })
  relayRoutes(app, {
    db: database.db,
    keyRing: testKeyRing,
    egress,
    adapterOf,
    publicUrl: PUBLIC_URL,
    checks: {
      limit: createRateLimit({ name: 'relay-checks', usesMax: 30, windowS: 60 }),
      limiter: testLimiter,
    },
    domainsOf: async (_key, limit) =>
      ['a.example', 'b.example', 'c.example', 'd.example'].slice(0, limit),
    async onChanged(tx, { tenantId, kind }: AccountKey) {
      await tx.query('select 1')
      changes.push(`${tenantId} ${kind}`)
      return () => changes.push('afterwards')
    },
  })
  // The account's last user.
  await database.db.query(
    `create table relays_test_user (tenant_id text collate "C", kind text collate "C",
       foreign key (tenant_id, kind) references relays_account)`,
  )
  await app.ready()
})
afterAll(async () => {
  await app.close()
  await egress.close()
  await database.close()
})
beforeEach(async () => {
  await emptyTables(database.db, 'relays_test_user', 'mailers_mailer', 'relays_account')
  changes.length = lookedUp.length = 0
})

type Kind = 'sparkpost' | 'sendgrid' | 'simulator' | 'mailgun'
const answers = { PUT: configureRelayAnswer, GET: getRelayAnswer, DELETE: deleteRelayAnswer }

async function call(method: keyof typeof answers, kind: Kind, payload?: object, key = 'a') {
  const response = await app.inject({
    method,
    url: `/v1/relay/${kind}`,
    headers: { authorization: `Bearer ${key}` },
    ...(payload === undefined ? {} : { payload }),
  })
  const body = response.json()
  if (response.statusCode < 300) expect(Check(answers[method], body)).toBe(true)
  seen.push(response.payload, JSON.stringify(response.headers))
  return { status: response.statusCode, body }
}
const put = (kind: Kind, payload: object, key?: string) => call('PUT', kind, payload, key)
const get = (kind: Kind, key?: string) => call('GET', kind, undefined, key)
const load = (kind: 'sparkpost' | 'sendgrid' | 'simulator', tenantId = 'tn_a') =>
  loadAccount(database.db, testKeyRing, { tenantId, kind })
const tokenOf = (url: string) => url.split('/').at(-1) ?? ''
const find = (kind: string, url: string) =>
  findAccountByToken(database.db, testKeyRing, { kind, token: tokenOf(url) })

const API_KEY = 'spark-key-0123456789'
const spki = (namedCurve: string) =>
  generateKeyPairSync('ec', { namedCurve })
    .publicKey.export({ type: 'spki', format: 'der' })
    .toString('base64')
const VERIFICATION_KEY = spki('prime256v1')

describe('configureRelay: 200', () => {
  it('[contract 3.4] makes an account at the public address of the provider, and answers its callback URL', async () => {
    const { status, body } = await put('sparkpost', { api_key: API_KEY })
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        success: true,
        message: 'Relay configured',
        relay: {
          kind: 'sparkpost',
          api_base: 'https://api.sparkpost.com/api',
          callback_url: expect.stringMatching(CALLBACK_URL),
          created_at: expect.any(String),
          updated_at: body.relay.created_at,
        },
      },
    })
    expect(await load('sparkpost')).toEqual({
      tenantId: 'tn_a',
      kind: 'sparkpost',
      apiKey: API_KEY,
      apiBase: 'https://api.sparkpost.com/api',
      configVersion: 1,
    })
    expect(changes).toEqual(['tn_a sparkpost', 'afterwards'])
    expect(lookedUp).toEqual([])
  })

  it('stores key, callback secret and callback token sealed, bound to row and column', async () => {
    await put('sparkpost', { api_key: API_KEY, callback_secret: 's3cret-callback' })
    const { rows } = await database.db.query<Record<string, string>>(
      'select api_key, callback_token, callback_secret from relays_account',
    )
    for (const sealed of Object.values(rows[0] ?? {})) expect(sealed).toMatch(/^v1\.k\./)
    await database.db.query('update relays_account set api_key = callback_secret')
    await expect(load('sparkpost')).rejects.toMatchObject({ reason: 'not_authentic' })
  })

  it.each([
    ['https://api.eu.sparkpost.com/api', 'https://api.eu.sparkpost.com/api'],
    ['https://api.eu.sparkpost.com/api//', 'https://api.eu.sparkpost.com/api'],
    ['HTTPS://API.Example.com:443', 'https://api.example.com'],
    ['http://127.0.0.1:8080/fake/', 'http://127.0.0.1:8080/fake'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['https://nowhere.example.test/', 'https://nowhere.example.test'],
  ])('[contract 5] stores the address %s as %s', async (api_base, stored) => {
    const { status, body } = await put('sparkpost', { api_key: API_KEY, api_base })
    expect({ status, api_base: body.relay?.api_base }).toEqual({ status: 200, api_base: stored })
  })

  it('keeps the callback URL with a new key or another address', async () => {
    const urls = []
    for (const change of [
      { api_key: API_KEY },
      { api_key: 'another-key' },
      { api_key: API_KEY, api_base: 'https://api.eu.sparkpost.com/api' },
      {},
    ])
      urls.push((await put('sparkpost', change)).body.relay.callback_url)
    expect(new Set(urls).size).toBe(1)
    expect(await load('sparkpost')).toMatchObject({ apiKey: API_KEY, configVersion: 3 })
  })

  it('keeps fields that were left out', async () => {
    const api_base = 'https://api.eu.sparkpost.com/api'
    const { body } = await put('sparkpost', { api_key: API_KEY, api_base, callback_secret: 'cs' })
    changes.length = 0
    const { callback_url } = body.relay
    const secrets = async () => (await find('sparkpost', callback_url))?.secrets

    expect((await put('sparkpost', {})).body.relay).toMatchObject({ api_base, callback_url })
    expect(await secrets()).toEqual({ callbackSecret: 'cs' })
    // The same address is no change, however it is written.
    await put('sparkpost', { api_base: `${api_base}/`, callback_secret: 'new' })
    expect(await secrets()).toEqual({ callbackSecret: 'new' })
    expect(await load('sparkpost')).toMatchObject({ apiKey: API_KEY, configVersion: 1 })
    expect(changes).toEqual([])

    await put('sparkpost', { api_key: 'k2' })
    expect(await load('sparkpost')).toMatchObject({ apiKey: 'k2', apiBase: api_base })
    expect(changes).toEqual(['tn_a sparkpost', 'afterwards'])
    await put('sparkpost', { callback_secret: null })
    expect(await secrets()).toEqual({})
  })

  it('[7.3] restores the public address with null, which needs the key as well', async () => {
    const api_base = 'https://api.eu.sparkpost.com/api'
    await put('sparkpost', { api_key: API_KEY, api_base, verification_key: null })
    expect(await put('sparkpost', { api_base: null })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/api_key' }] },
    })
    const { body } = await put('sparkpost', { api_key: API_KEY, api_base: null })
    expect(body.relay.api_base).toBe('https://api.sparkpost.com/api')
    expect(await put('sparkpost', { api_key: null })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/api_key' }] },
    })
    expect((await put('simulator', { api_base: null, callback_secret: null })).status).toBe(200)
  })

  it('treats the same key as a change, which clears earlier rejections', async () => {
    await put('sparkpost', { api_key: API_KEY })
    await put('sparkpost', { api_key: API_KEY })
    expect(changes).toHaveLength(4)
    expect(await load('sparkpost')).toMatchObject({ configVersion: 2 })
  })

  it('accepts the verification key in the form in which SendGrid shows it', async () => {
    const { status, body } = await put('sendgrid', {
      api_key: 'SG.key',
      verification_key: VERIFICATION_KEY,
    })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { relay: { kind: 'sendgrid', api_base: 'https://api.sendgrid.com' } },
    })
    expect(await find('sendgrid', body.relay.callback_url)).toEqual({
      tenantId: 'tn_a',
      kind: 'sendgrid',
      secrets: { verificationKey: VERIFICATION_KEY },
    })
    await put('sendgrid', { verification_key: null })
    expect((await find('sendgrid', body.relay.callback_url))?.secrets).toEqual({})
  })

  it('makes the simulator without a key and an address', async () => {
    const { status, body } = await put('simulator', {})
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { relay: { kind: 'simulator', api_base: null } },
    })
    expect(await load('simulator')).toMatchObject({ apiKey: '', apiBase: '' })
  })

  it('makes separate accounts for two tenants, with a key of the scope', async () => {
    const mine = await put('sparkpost', { api_key: API_KEY }, 'mailers')
    const theirs = await put('sparkpost', { api_key: 'their-key' }, 'b')
    expect([mine.status, theirs.status]).toEqual([200, 200])
    expect(mine.body.relay.callback_url).not.toBe(theirs.body.relay.callback_url)
    expect(await load('sparkpost')).toMatchObject({ apiKey: API_KEY })
    expect(await load('sparkpost', 'tn_b')).toMatchObject({ apiKey: 'their-key' })
  })

  it('makes one account for concurrent requests', async () => {
    const all = await Promise.all(
      Array.from({ length: 5 }, (_, i) => put('sparkpost', { api_key: `key-${i}` })),
    )
    expect(all.map(({ status }) => status)).toEqual(Array(5).fill(200))
    expect(new Set(all.map(({ body }) => body.relay.callback_url)).size).toBe(1)
    expect(await load('sparkpost')).toMatchObject({ configVersion: 5 })
  })
})

describe('configureRelay: 400', () => {
  it.each<[string, Kind, object]>([
    ['/api_key', 'sparkpost', {}],
    ['/api_key', 'sparkpost', { api_key: '' }],
    ['/api_key', 'sparkpost', { api_key: 'a\r\nb: c' }],
    ['/api_key', 'sendgrid', { api_key: 'clé' }],
    ['/api_key', 'simulator', { api_key: API_KEY }],
    ['/api_base', 'simulator', { api_base: 'https://api.example.com' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'http://api.sparkpost.com/api' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'http://hooks.example.test' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'ftp://api.example.com' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'api.example.com' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://u:p@api.example.com' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://api.example.com?x=1' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://api.example.com/#x' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://api.example.com:25' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://api.sparkpost.com/api/v1' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://10.1.2.3/api' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'http://10.1.2.3/api' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://169.254.169.254/' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://[::1]/' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://internal.example.test' }],
    ['/api_base', 'sparkpost', { api_key: API_KEY, api_base: 'https://both.example.test' }],
    ['/callback_secret', 'sparkpost', { api_key: API_KEY, callback_secret: '' }],
    ['/callback_secret', 'sparkpost', { api_key: API_KEY, callback_secret: 'a b' }],
    ['/callback_secret', 'sendgrid', { api_key: API_KEY, callback_secret: 'x' }],
    ['/verification_key', 'sparkpost', { api_key: API_KEY, verification_key: VERIFICATION_KEY }],
    ['/verification_key', 'sendgrid', { api_key: API_KEY, verification_key: 'x' }],
    ['/verification_key', 'sendgrid', { api_key: API_KEY, verification_key: spki('secp384r1') }],
    ['/verification_key', 'sendgrid', { api_key: API_KEY, verification_key: 7 }],
    ['/colour', 'sparkpost', { api_key: API_KEY, colour: 'red' }],
  ])('answers %s of %s %j', async (path, kind, body) => {
    expect(await put(kind, body)).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path }] },
    })
    const { rows } = await database.db.query('select 1 from relays_account')
    expect(rows).toEqual([])
  })

  it('answers 404 to an unknown kind', async () => {
    const { status, body } = await put('mailgun', { api_key: API_KEY })
    expect({ status, message: body.message }).toEqual({
      status: 404,
      message: 'Not Found: kind must be one of sparkpost, sendgrid, simulator',
    })
  })

  it('needs the key again for another address', async () => {
    await put('sparkpost', { api_key: API_KEY })
    expect(await put('sparkpost', { api_base: 'https://hooks.example.test' })).toMatchObject({
      status: 400,
      body: { errors: [{ path: '/api_key' }] },
    })
    expect(await load('sparkpost')).toMatchObject({ apiBase: 'https://api.sparkpost.com/api' })
  })
})

it('configureRelay answers 401 without a key, and 403 without the scope', async () => {
  expect((await put('sparkpost', { api_key: API_KEY }, 'nobody')).status).toBe(401)
  expect((await put('sparkpost', { api_key: API_KEY }, 'reader')).status).toBe(403)
})

it('configureRelay answers 429 after too many refused addresses', async () => {
  const refused = { api_key: API_KEY, api_base: 'https://internal.example.test' }
  let last = await put('sparkpost', refused, 'b')
  for (let i = 0; i < 30 && last.status === 400; i += 1) last = await put('sparkpost', refused, 'b')
  expect(last).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
})

describe('getRelay', () => {
  it('answers the account without its key', async () => {
    const { body } = await put('sparkpost', { api_key: API_KEY })
    expect(await get('sparkpost', 'mailers')).toEqual({
      status: 200,
      body: { success: true, message: 'Relay found', relay: body.relay },
    })
  })

  it('answers 403 to a read-only key, as the callback URL allows false reports', async () => {
    await put('sparkpost', { api_key: API_KEY })
    expect((await get('sparkpost', 'reader')).status).toBe(403)
  })

  it('answers 404 to an unknown account, and to one of another tenant', async () => {
    await put('sparkpost', { api_key: API_KEY })
    const none = await get('sendgrid')
    expect(none.status).toBe(404)
    expect(none.body.message).toBe('Not Found: there is no such relay account')
    expect((await get('sparkpost', 'b')).status).toBe(404)
    expect((await get('mailgun')).status).toBe(404)
  })
})

describe('deleteRelay', () => {
  const remove = (key?: string) => call('DELETE', 'sparkpost', undefined, key)

  it('makes the callback URL unknown; a new account has another one', async () => {
    const before = (await put('sparkpost', { api_key: API_KEY })).body.relay.callback_url
    expect(await remove()).toEqual({
      status: 200,
      body: { success: true, message: 'Relay deleted' },
    })
    expect(await find('sparkpost', before)).toBeUndefined()
    const after = (await put('sparkpost', { api_key: API_KEY })).body.relay.callback_url
    expect(after).not.toBe(before)
  })

  it('answers 404 to an unknown account, and to one of another tenant', async () => {
    await put('sparkpost', { api_key: API_KEY })
    expect((await remove('b')).status).toBe(404)
    expect((await remove()).status).toBe(200)
    expect((await remove()).status).toBe(404)
  })

  it('answers 409 while a domain sends by it', async () => {
    await put('sparkpost', { api_key: API_KEY })
    await database.db.query(`insert into relays_test_user values ('tn_a', 'sparkpost')`)
    expect(await remove()).toMatchObject({
      status: 409,
      body: {
        code: 'conflict',
        message: 'Sending domains use this account: a.example, b.example, c.example and others',
      },
    })
    expect((await get('sparkpost')).status).toBe(200)
  })
})

describe('the account of a callback URL', () => {
  it('[contract 3.4] is found by a token of 256 bits, with tenant and kind', async () => {
    const { callback_url: url } = (await put('sparkpost', { api_key: API_KEY })).body.relay
    expect(await find('sparkpost', url)).toEqual({
      tenantId: 'tn_a',
      kind: 'sparkpost',
      secrets: {},
    })
  })

  it('is not found for another kind, a changed token or none', async () => {
    const { callback_url: url } = (await put('sparkpost', { api_key: API_KEY })).body.relay
    const token = tokenOf(url)
    expect(await find('sendgrid', url)).toBeUndefined()
    expect(await find('mailgun', url)).toBeUndefined()
    expect(await find('__proto__', url)).toBeUndefined()
    for (const other of ['', token.slice(1), `${token}0`, `${token.slice(0, -1)}-`, 'A'.repeat(43)])
      expect(await find('sparkpost', `/${other}`)).toBeUndefined()
  })
})

it('writes no secret into any answer or log line', () => {
  expect(seen.length).toBeGreaterThan(50)
  expect(seen.join('\n')).not.toMatch(/spark-key|another-key|their-key|s3cret|SG\.key|v1\.k\./)
})

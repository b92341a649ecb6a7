/** [contract 7.1] A tenant manages its own keys, and reads its audit log. */
import {
  type ApiKey,
  createKeyAnswer,
  keysMax,
  listApiKeysAnswer,
  listAuditAnswer,
  listAuditOfAllTenantsAnswer,
} from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { createClock } from '../platform/clock.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { newId } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createKeyAuthenticator } from './authenticate-key.ts'
import { createTenant } from './create-tenant.ts'
import { createOperatorAccess } from './operator-access.ts'
import { tenantRoutes } from './routes.ts'

let database: TestDatabase
let app: ReturnType<typeof createHttpApp>
let acme: { tenantId: string; keyId: string; apiKey: string }

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const clock = createClock()
  const log = createLogger({ level: 'silent' })
  const authenticator = createKeyAuthenticator({ db, clock })
  app = createHttpApp({
    log,
    metrics: createMetrics(),
    authenticateKey: authenticator.authenticate,
    adminToken: 'the-operator',
    operatorAccess: createOperatorAccess({ db, log }),
  })
  tenantRoutes(app, {
    db,
    clock,
    authenticator,
    retentionMs: 86_400_000,
    contentRetentionMs: 86_400_000,
    countQueued: async () => new Map(),
    wakeDeletions: () => undefined,
  })
  app.get('/whoami', { config: { auth: 'tenant', scopes: ['read'] } }, (r) => r.tenant.keyId)
})
afterAll(async () => {
  await app.close()
  await database.close()
})
beforeEach(async () => {
  await emptyTables(database.db, 'tenants_audit_entry')
  acme = await createTenant(database, { name: 'Acme' })
})

interface Asked {
  readonly key?: string
  readonly body?: object
  readonly from?: string
  readonly headers?: Record<string, string>
}

async function ask(method: 'GET' | 'POST' | 'DELETE', url: string, o: Asked = {}) {
  const { key = acme.apiKey, body, from = '192.0.2.7', headers } = o
  const response = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}`, ...headers },
    ...(body === undefined ? {} : { payload: body }),
    remoteAddress: from,
  })
  return { status: response.statusCode, body: response.json() }
}

async function newKey(body: object = {}, key = acme.apiKey): Promise<ApiKey & { api_key: string }> {
  const made = await ask('POST', '/v1/keys', { key, body: { name: 'one more', ...body } })
  if (made.status !== 201) throw new Error(JSON.stringify(made.body))
  return { ...made.body.key, api_key: made.body.api_key }
}

const SCOPED = { scopes: ['keys', 'read'] }

describe('createKey', () => {
  it('answers a key that works, and shows it without the key', async () => {
    const made = await ask('POST', '/v1/keys', { body: { name: 'Shop' } })
    expect(made.status).toBe(201)
    expect(Check(createKeyAnswer, made.body)).toBe(true)
    const { key_id, api_key, key } = made.body
    expect(key).toMatchObject({
      key_id,
      name: 'Shop',
      scopes: [],
      networks: [],
      last_used_at: null,
    })
    expect(await ask('GET', '/v1/keys', { key: api_key })).toMatchObject({ status: 200 })
  })

  it('refuses a body without a name, and networks that are none, by name', async () => {
    const nameless = await ask('POST', '/v1/keys', { body: {} })
    expect(nameless).toMatchObject({ status: 400, body: { errors: [{ path: '/name' }] } })
    for (const network of ['10.0.0.0/33', '10.0.0', 'example.com', '::ffff:10.0.0.0/8']) {
      const body = { name: 'a', networks: ['10.0.0.0/8', network] }
      const refused = await ask('POST', '/v1/keys', { body })
      expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: '/networks/1' }] } })
    }
  })

  it('needs a key without scopes, or one with the scope keys', async () => {
    const { api_key: reader } = await newKey({ scopes: ['read', 'send', 'mailers', 'webhooks'] })
    for (const [method, url] of [
      ...([['GET', '/v1/keys'] as const, ['POST', '/v1/keys'] as const] as const),
      ...([['DELETE', `/v1/keys/${acme.keyId}`] as const, ['GET', '/v1/audit'] as const] as const),
    ]) {
      const body = method === 'POST' ? { name: 'more' } : undefined
      const refused = await ask(method, url, { key: reader, ...(body && { body }) })
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
  })

  it('takes over from a bounded key what is left out', async () => {
    const bounds = { ...SCOPED, networks: ['192.0.2.0/24'], expires_at: '2099-01-01T00:00:00Z' }
    const maker = await newKey(bounds)
    const made = await newKey({}, maker.api_key)
    expect(made).toMatchObject({ ...bounds, expires_at: '2099-01-01T00:00:00.000Z' })
  })

  it('lets a bounded key make a narrower one', async () => {
    const bounds = { ...SCOPED, networks: ['192.0.2.0/24'], expires_at: '2099-01-01T00:00:00Z' }
    const maker = await newKey(bounds)
    const narrower = {
      ...{ scopes: ['read'], networks: ['192.0.2.128/25', '192.0.2.1'] },
      expires_at: '2098-01-01T00:00:00.000Z',
    }
    expect(await newKey(narrower, maker.api_key)).toMatchObject({
      ...narrower,
      networks: ['192.0.2.128/25', '192.0.2.1/32'],
    })
  })

  it.each([
    ['/scopes', { scopes: ['keys', 'send'] }],
    ['/networks', { networks: ['192.0.0.0/16'] }],
    ['/networks', { networks: ['192.0.2.0/25', '198.51.100.1'] }],
    ['/networks', { networks: ['0.0.0.0/0'] }],
    ['/networks', { networks: ['::/0'] }],
    ['/networks', { networks: [] }],
    ['/expires_at', { expires_at: '2099-01-01T00:00:00.001Z' }],
  ])('refuses what goes beyond the key that makes it: %s of %j', async (path, body) => {
    const bounds = { ...SCOPED, networks: ['192.0.2.0/24'], expires_at: '2099-01-01T00:00:00Z' }
    const { api_key: key } = await newKey(bounds)
    const refused = await ask('POST', '/v1/keys', { key, body: { name: 'wider', ...body } })
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden', errors: [{ path }] } })
  })
})

it('lets a tenant have so many keys that are neither revoked nor expired, and no more', async () => {
  const { tenantId } = acme
  const fill = (count: number, more: string) =>
    database.db.query(
      `insert into tenants_api_key (key_id, tenant_id, key_hash, scopes, expires_at, revoked_at)
       select 'key_' || $3 || n, $1, sha256(($1 || $3 || n)::bytea), '{}', ${more}
         from generate_series(1, $2::int) n`,
      [tenantId, count, more.length],
    )
  await fill(5, "now() - interval '1 day', null")
  await fill(5, 'null, now()')
  await fill(keysMax - 2, 'null, null')
  await newKey()
  const refused = await ask('POST', '/v1/keys', { body: { name: 'one too many' } })
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } })
  expect(refused.body.message).toContain('1000')
})

it('lets a tenant create 60 keys an hour', async () => {
  for (let i = 0; i < 60; i += 1) await newKey()
  const refused = await ask('POST', '/v1/keys', { body: { name: 'one too many' } })
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
})

describe('a key with networks', () => {
  it('is refused with no scope at all, and with each field at fault named', async () => {
    const paths = async (body: object) => {
      const refused = await ask('POST', '/v1/keys', { body: { name: 'n', ...body } })
      expect(refused.status).toBe(400)
      return refused.body.errors.map((one: { path: string }) => one.path)
    }
    expect(await paths({ scopes: [] })).toEqual(['/scopes'])
    expect(
      await paths({ scopes: [], networks: ['10.0.0.0/33', '::1', 'xx'], expires_at: 'yesterday' }),
    ).toEqual(['/scopes', '/networks/0', '/networks/2', '/expires_at'])
  })

  it('works from within them, and gets 403 from elsewhere, before anything else is looked at', async () => {
    const { api_key: key } = await newKey({ networks: ['192.0.2.0/24', '2001:db8::/32'] })
    for (const from of ['192.0.2.200', '2001:db8::1', '::ffff:192.0.2.1'])
      expect(await ask('GET', '/v1/keys', { key, from })).toMatchObject({ status: 200 })
    for (const from of ['192.0.3.1', '2001:db9::1', '127.0.0.1']) {
      const refused = await ask('POST', '/v1/keys', { key, from, body: { nonsense: true } })
      expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    }
  })
})

describe('listKeys', () => {
  it("lists the tenant's own keys in pages, newest first, without the keys", async () => {
    await createTenant(database, { name: 'Other' })
    const made = [await newKey(), await newKey({ scopes: ['read'] })]
    const all = await ask('GET', '/v1/keys')
    expect(Check(listApiKeysAnswer, all.body)).toBe(true)
    const expected = [...made.map(({ key_id }) => key_id).reverse(), acme.keyId]
    expect(all.body.keys.map((key: ApiKey) => key.key_id)).toEqual(expected)
    expect(JSON.stringify(all.body)).not.toContain('pr_')
    const first = await ask('GET', '/v1/keys?pageSize=1')
    const second = await ask('GET', `/v1/keys?pageSize=2&pageToken=${first.body.nextPageToken}`)
    expect(second.body.keys.map((key: ApiKey) => key.key_id)).toEqual(expected.slice(1))
  })

  it('tells the hour in which a key was last used', async () => {
    const { key_id, api_key } = await newKey()
    await ask('GET', '/v1/keys', { key: api_key })
    await expect
      .poll(async () => {
        const { body } = await ask('GET', '/v1/keys')
        return body.keys.find((key: ApiKey) => key.key_id === key_id)?.last_used_at
      })
      .toMatch(/:00:00\.000Z$/)
  })
})

describe('revokeKey', () => {
  it('ends a key at once, and may be repeated', async () => {
    const { key_id, api_key } = await newKey()
    expect((await ask('GET', '/v1/keys', { key: api_key })).status).toBe(200)
    for (let i = 0; i < 2; i += 1)
      expect((await ask('DELETE', `/v1/keys/${key_id}`)).status).toBe(200)
    expect((await ask('GET', '/v1/keys', { key: api_key })).status).toBe(401)
  })

  it("finds no other tenant's key, and leaves it as it is", async () => {
    const other = await createTenant(database, { name: 'Other' })
    for (const id of [other.keyId, newId('key'), 'nonsense'])
      expect(await ask('DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 404 })
    expect((await ask('GET', '/v1/keys', { key: other.apiKey })).status).toBe(200)
  })
})

describe('listAudit', () => {
  it('tells which key made and revoked a key, from where and how it ended', async () => {
    const { key_id } = await newKey()
    await ask('DELETE', `/v1/keys/${key_id}`)
    await ask('DELETE', '/v1/keys/nonsense')
    const { body } = await ask('GET', '/v1/audit')
    expect(Check(listAuditAnswer, body)).toBe(true)
    const common = { actor: acme.keyId, from: '192.0.2.7' }
    expect(body.entries).toMatchObject([
      { ...common, operation: 'revokeKey', target: 'nonsense', status: 404 },
      { ...common, operation: 'revokeKey', target: key_id, status: 200 },
      { ...common, operation: 'createKey', target: key_id, status: 201 },
    ])
  })

  it('tells what the operator did, to the tenant alone and to the operator', async () => {
    const other = await createTenant(database, { name: 'Other' })
    const headers = { 'x-postrider-tenant': acme.tenantId }
    const body = { name: 'By the operator' }
    await ask('POST', '/v1/keys', { key: 'the-operator', headers, body })
    const own = await ask('GET', '/v1/audit')
    expect(own.body.entries).toMatchObject([{ actor: 'operator', operation: 'createKey' }])
    expect((await ask('GET', '/v1/audit', { key: other.apiKey })).body.entries).toEqual([])
    const all = await ask('GET', '/admin/v1/audit', { key: 'the-operator' })
    expect(Check(listAuditOfAllTenantsAnswer, all.body)).toBe(true)
    expect(all.body.entries).toMatchObject([{ tenant_id: acme.tenantId, actor: 'operator' }])
    expect((await ask('GET', '/admin/v1/audit')).status).toBe(401)
  })

  it('goes on where a page ends, without losing or repeating an entry', async () => {
    for (let i = 0; i < 5; i += 1) await newKey()
    const seen: string[] = []
    let token = ''
    do {
      const { body } = await ask('GET', `/v1/audit?pageSize=2${token}`)
      seen.push(...body.entries.map((entry: { target: string }) => entry.target))
      token = body.nextPageToken === undefined ? '' : `&pageToken=${body.nextPageToken}`
    } while (token !== '')
    expect(new Set(seen).size).toBe(5)
    expect(seen).toEqual([...seen].sort().reverse())
  })
})

import {
  createApiKeyAnswer,
  createTenantAnswer,
  listApiKeysAnswer,
  listTenantsAnswer,
  revokeApiKeyAnswer,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { createClock } from '../platform/clock.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { pageTokenAfter } from '../platform/http/paging.ts'
import { newId } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createKeyAuthenticator } from './authenticate-key.ts'
import { tenantRoutes } from './routes.ts'

let database: TestDatabase
let app: FastifyInstance

beforeAll(async () => {
  database = await createTestDatabase()
  const clock = createClock()
  const authenticator = createKeyAuthenticator({ db: database.db, clock })
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: authenticator.authenticate,
    adminToken: 'operator-token',
  })
  tenantRoutes(app, {
    db: database.db,
    clock,
    authenticator,
    retentionMs: 86_400_000,
    contentRetentionMs: 86_400_000,
    countQueued: async () => new Map(),
    wakeDeletions: () => undefined,
  })
  app.get('/whoami', { config: { auth: 'tenant', scopes: ['read'] } }, (r) => ({ ...r.tenant }))
})
afterAll(async () => {
  await app.close()
  await database.close()
})

function admin(method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) {
  return app.inject({
    method,
    url: `/admin/v1${path}`,
    headers: { authorization: 'Bearer operator-token' },
    ...(payload === undefined ? {} : { payload }),
  })
}

function whoami(apiKey: string) {
  return app.inject({ url: '/whoami', headers: { authorization: `Bearer ${apiKey}` } })
}

async function newTenant(name = 'Acme') {
  const { tenant_id, key_id, api_key } = (await admin('POST', '/tenants', { name })).json()
  return { tenantId: String(tenant_id), keyId: String(key_id), apiKey: String(api_key) }
}

describe('createTenant', () => {
  it('answers the tenant, its key id and a key that works', async () => {
    const response = await admin('POST', '/tenants', { name: 'Acme' })
    expect(response.statusCode).toBe(201)
    expect(Check(createTenantAnswer, response.json())).toBe(true)
    const { tenant_id, key_id, api_key } = response.json()
    expect((await whoami(api_key)).json()).toEqual({
      tenantId: tenant_id,
      keyId: key_id,
      scopes: [],
    })
  })

  it.each([
    ...[{}, { name: '' }, { name: '  ' }, { name: 'x'.repeat(201) }, { name: 1 }],
    ...['a\u001b[2J', 'a\nb', 'a\u0085', 'a\u2028b', '\u007f'].map((name) => ({ name })),
  ])('answers 400 to %j', async (body) => {
    const response = await admin('POST', '/tenants', body)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toMatchObject([{ path: '/name' }])
  })

  it('answers 400 to an unknown field', async () => {
    const response = await admin('POST', '/tenants', { name: 'Acme', plan: 'gold' })
    expect(response.json().errors).toMatchObject([{ path: '/plan' }])
  })

  it('answers 401 without the operator token, also with a key of a tenant', async () => {
    const { apiKey } = await newTenant()
    for (const authorization of ['Bearer wrong', `Bearer ${apiKey}`]) {
      const response = await app.inject({
        method: 'POST',
        url: '/admin/v1/tenants',
        headers: { authorization },
        payload: { name: 'Acme' },
      })
      expect(response.statusCode).toBe(401)
    }
  })
})

describe('listTenants', () => {
  it('answers newest first, in pages, without losing or repeating one', async () => {
    const created = []
    for (const name of ['A', 'B', 'C']) created.unshift((await newTenant(name)).tenantId)
    const seen: string[] = []
    let token = ''
    do {
      const response = await admin('GET', `/tenants?pageSize=2${token}`)
      expect(Check(listTenantsAnswer, response.json())).toBe(true)
      const { tenants, nextPageToken } = response.json()
      seen.push(...tenants.map((tenant: { tenant_id: string }) => tenant.tenant_id))
      token = nextPageToken === undefined ? '' : `&pageToken=${nextPageToken}`
    } while (token !== '')
    expect(seen.slice(0, 3)).toEqual(created)
    expect(new Set(seen).size).toBe(seen.length)
  })

  it('finds by a part of the name, whatever the case, and takes nothing in it for a pattern', async () => {
    const names = ['Quince 50%', 'QUINCE_50', 'Quinces']
    for (const name of names) await newTenant(name)
    const named = async (part: string) => {
      const response = await admin('GET', `/tenants?name=${encodeURIComponent(part)}`)
      return response.json().tenants.map(({ name }: { name: string }) => name)
    }
    expect(await named('quince')).toEqual(names.toReversed())
    expect(await named('quince_5')).toEqual(['QUINCE_50'])
    expect(await named('0%')).toEqual(['Quince 50%'])
    expect((await admin('GET', '/tenants?name=')).json().errors).toMatchObject([{ path: '/name' }])
  })

  it('answers 400 to a page token of listApiKeys', async () => {
    const pageToken = pageTokenAfter({ mark: 'keys' }, newId('key'))
    expect((await admin('GET', `/tenants?pageToken=${pageToken}`)).statusCode).toBe(400)
  })
})

describe('createApiKey', () => {
  it('makes a key with its own scopes and expiry', async () => {
    const { tenantId } = await newTenant()
    const expires_at = '2999-01-01T00:00:00Z'
    const response = await admin('POST', `/tenants/${tenantId}/keys`, {
      name: 'Reporting',
      scopes: ['read'],
      expires_at,
    })
    expect(response.statusCode).toBe(201)
    expect(Check(createApiKeyAnswer, response.json())).toBe(true)
    expect((await whoami(response.json().api_key)).json()).toMatchObject({
      tenantId,
      scopes: ['read'],
    })
  })

  it('makes a key for everything without any field', async () => {
    const { tenantId } = await newTenant()
    const { api_key } = (await admin('POST', `/tenants/${tenantId}/keys`, {})).json()
    expect((await whoami(api_key)).json().scopes).toEqual([])
  })

  it('makes a key that gets 403 outside of its scopes', async () => {
    const { tenantId } = await newTenant()
    const body = { scopes: ['send', 'webhooks'] }
    const { api_key } = (await admin('POST', `/tenants/${tenantId}/keys`, body)).json()
    expect((await whoami(api_key)).statusCode).toBe(403)
  })

  it.each([
    [{ expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ expires_at: '2999-02-30T00:00:00Z' }, '/expires_at'],
    [{ scopes: ['everything'] }, '/scopes/0'],
    [{ scopes: ['read', 'read'] }, '/scopes/1'],
    [{ scopes: 'read' }, '/scopes'],
    [{ name: '' }, '/name'],
    [{ name: 'a\u001b[2J' }, '/name'],
    [{ key: 'mine' }, '/key'],
  ])('answers 400 to %j', async (body, path) => {
    const { tenantId } = await newTenant()
    const response = await admin('POST', `/tenants/${tenantId}/keys`, body)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toMatchObject([{ path }])
  })

  it('answers 404 to an unknown tenant', async () => {
    for (const id of [newId('tn'), 'x', "tn_'; drop table tenants_tenant", 'x'.repeat(200)])
      expect((await admin('POST', `/tenants/${encodeURIComponent(id)}/keys`, {})).statusCode).toBe(
        404,
      )
  })
})

describe('listApiKeys', () => {
  it('answers every key with its state, and never the key or its hash', async () => {
    const { tenantId, keyId, apiKey } = await newTenant()
    const second = (await admin('POST', `/tenants/${tenantId}/keys`, { name: 'Two' })).json()
    await admin('DELETE', `/keys/${keyId}`)
    const response = await admin('GET', `/tenants/${tenantId}/keys`)
    expect(response.statusCode).toBe(200)
    expect(Check(listApiKeysAnswer, response.json())).toBe(true)
    expect(response.json().keys).toMatchObject([
      { key_id: second.key_id, name: 'Two', scopes: [], expires_at: null, revoked_at: null },
      { key_id: keyId, name: null, revoked_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) },
    ])
    for (const secret of [apiKey, second.api_key]) expect(response.body).not.toContain(secret)
  })

  it('answers none of the keys of another tenant', async () => {
    const [one, other] = [await newTenant(), await newTenant()]
    const { keys } = (await admin('GET', `/tenants/${one.tenantId}/keys`)).json()
    expect(keys.map((key: { key_id: string }) => key.key_id)).toEqual([one.keyId])
    expect(JSON.stringify(keys)).not.toContain(other.keyId)
  })

  it('answers 404 to an unknown tenant', async () => {
    expect((await admin('GET', `/tenants/${newId('tn')}/keys`)).statusCode).toBe(404)
  })
})

describe('revokeApiKey', () => {
  it('disables the key at once, and may be repeated', async () => {
    const { tenantId, keyId, apiKey } = await newTenant()
    expect((await whoami(apiKey)).statusCode).toBe(200)
    const response = await admin('DELETE', `/keys/${keyId}`)
    expect(response.statusCode).toBe(200)
    expect(Check(revokeApiKeyAnswer, response.json())).toBe(true)
    expect((await whoami(apiKey)).statusCode).toBe(401)
    const revokedAt = async () =>
      (await admin('GET', `/tenants/${tenantId}/keys`)).json().keys[0].revoked_at
    const first = await revokedAt()
    expect((await admin('DELETE', `/keys/${keyId}`)).statusCode).toBe(200)
    expect(await revokedAt()).toBe(first)
  })

  it('answers 404 to an unknown key', async () => {
    expect((await admin('DELETE', `/keys/${newId('key')}`)).statusCode).toBe(404)
  })
})

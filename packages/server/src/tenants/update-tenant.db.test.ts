/** docs/reference/operator.md#suspension, #usage. */
import {
  getTenantAnswer,
  listAuditOfAllTenantsAnswer,
  listTenantsAnswer,
  type Quotas,
} from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { createClock } from '../platform/clock.ts'
import { addCounterChanges } from '../platform/counters/counter-store.ts'
import { createHttpApp, type HttpApp } from '../platform/http/app.ts'
import { newId } from '../platform/ids.ts'
import { createLogger } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { createTenants } from './create.ts'
import { RECIPIENT_BYTES, usageNames, usageSubject } from './quotas/recount-usage.ts'

const dayMs = 86_400_000
const log = createLogger({ level: 'silent' })
const none: Quotas = {
  emails_per_second: null,
  emails_per_day: null,
  queued_max: null,
  storage_bytes_max: null,
}

let database: TestDatabase
let app: HttpApp
let tenantId: string
let apiKey: string

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const tenants = createTenants({
    ...{
      db,
      log,
      clock: createClock(),
      countQueued: async (_q: unknown, ids: readonly string[]) => new Map(ids.map((id) => [id, 7])),
    },
    ...{ tables: [], removeMembers: async () => 0 },
    config: { auditRetentionMs: dayMs, retentionMs: 3 * dayMs, contentRetentionMs: 2 * dayMs },
  })
  app = createHttpApp({
    ...{ log, metrics: createMetrics(), adminToken: 'operator' },
    authenticateKey: tenants.authenticateKey,
    operatorAccess: tenants.operatorAccess,
  })
  tenants.routes(app)
})
afterAll(async () => {
  await app.close()
  await database.close()
})
beforeEach(async () => {
  const made = (await admin('POST', '/tenants', { name: 'Acme' })).body
  tenantId = made.tenant_id
  apiKey = made.api_key
})

async function admin(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const response = await app.inject({
    ...{ method, url: `/admin/v1${path}`, headers: { authorization: 'Bearer operator' } },
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: response.statusCode, body: response.json() }
}

const get = () => admin('GET', `/tenants/${tenantId}`)
const put = (change: object) => admin('PUT', `/tenants/${tenantId}`, change)

describe('getTenant', () => {
  it('answers a new tenant: active, without quotas', async () => {
    const { status, body } = await get()
    expect(status).toBe(200)
    expect(Check(getTenantAnswer, body)).toBe(true)
    expect(body.tenant).toEqual({
      ...{ tenant_id: tenantId, name: 'Acme', state: 'active', quotas: none },
      created_at: expect.stringMatching(/Z$/),
      usage: { emails_today: 0, queued: 7, storage_bytes: 0 },
    })
  })

  it('answers the usage of today and of the days that are kept, of this tenant alone', async () => {
    const at = (daysAgo: number) => new Date(Date.now() - daysAgo * dayMs)
    const count = (of: string, name: string, daysAgo: number, n: number) => ({
      ...{ tenantId: of, subject: usageSubject, name, at: at(daysAgo), n },
    })
    const { emails, bytes } = usageNames
    await database.db.transaction((tx) =>
      addCounterChanges(tx, [
        ...[count(tenantId, emails, 0, 5), count(tenantId, bytes, 0, 100)],
        ...[count(tenantId, emails, 1, 50), count(tenantId, bytes, 2, 1_000)],
        ...[count(tenantId, bytes, 3, 10_000), count(newId('tn'), bytes, 0, 3)],
        // The content of the day before has left, and the record of two recipients is kept.
        ...[count(tenantId, emails, 3, 2), count(tenantId, emails, 4, 9)],
      ]),
    )
    expect((await get()).body.tenant.usage).toEqual({
      ...{ emails_today: 5, queued: 7, storage_bytes: 1_100 + 2 * RECIPIENT_BYTES },
    })
  })

  it('is as listTenants has it, which has each tenant with its own', async () => {
    const other = (await admin('POST', '/tenants', { name: 'Other' })).body.tenant_id
    const { emails, bytes } = usageNames
    const of = { subject: usageSubject, at: new Date() }
    await database.db.transaction((tx) =>
      addCounterChanges(tx, [
        ...[
          { ...of, tenantId, name: emails, n: 5 },
          { ...of, tenantId, name: bytes, n: 100 },
        ],
        { ...of, tenantId: other, name: bytes, n: 3 },
      ]),
    )
    const { body } = await admin('GET', '/tenants?pageSize=2')
    expect(Check(listTenantsAnswer, body)).toBe(true)
    expect(body.tenants).toMatchObject([
      { tenant_id: other, usage: { emails_today: 0, queued: 7, storage_bytes: 3 } },
      { tenant_id: tenantId, usage: { emails_today: 5, queued: 7, storage_bytes: 100 } },
    ])
    expect(body.tenants[1]).toEqual((await get()).body.tenant)
  })

  it.each(['tn_unknown', newId('tn'), '%27'])('answers 404 to the tenant %s', async (id) => {
    expect((await admin('GET', `/tenants/${id}`)).status).toBe(404)
    expect((await admin('PUT', `/tenants/${id}`, {})).status).toBe(404)
  })

  it("is the operator's alone", async () => {
    for (const method of ['GET', 'PUT'] as const) {
      const headers = { authorization: `Bearer ${apiKey}` }
      const response = await app.inject({ method, headers, url: `/admin/v1/tenants/${tenantId}` })
      expect(response.statusCode).toBe(401)
    }
  })
})

describe('updateTenant', () => {
  it('changes the name, and nothing that is left out', async () => {
    await put({ state: 'suspended', quotas: { queued_max: 5 } })
    const { status, body } = await put({ name: 'Acme Ltd' })
    expect(status).toBe(200)
    expect(Check(getTenantAnswer, body)).toBe(true)
    expect(body.tenant).toMatchObject({ name: 'Acme Ltd', state: 'suspended' })
    expect(body.tenant.quotas).toEqual({ ...none, queued_max: 5 })
    expect((await put({})).body.tenant).toEqual(body.tenant)
  })

  it('sets, changes and removes single quotas, and all of them', async () => {
    await put({ quotas: { emails_per_day: 9_007_199_254_740_991, emails_per_second: 0 } })
    await put({ quotas: { emails_per_second: null, storage_bytes_max: 1 } })
    const { quotas } = (await get()).body.tenant
    expect(quotas).toEqual({
      ...{ ...none, emails_per_day: 9_007_199_254_740_991, storage_bytes_max: 1 },
    })
    expect((await put({ quotas: null })).body.tenant.quotas).toEqual(none)
  })

  it('is in the list of tenants', async () => {
    await put({ state: 'suspended', quotas: { emails_per_day: 3 } })
    const { tenants } = (await admin('GET', '/tenants?pageSize=1')).body
    expect(tenants).toMatchObject([
      { tenant_id: tenantId, state: 'suspended', quotas: { emails_per_day: 3 } },
    ])
  })

  it.each([
    [{ state: 'deleting' }, '/state'],
    [{ state: null }, '/state'],
    [{ name: ' ' }, '/name'],
    [{ name: null }, '/name'],
    [{ quotas: { emails_per_day: -1 } }, '/quotas/emails_per_day'],
    [{ quotas: { emails_per_second: 1.5 } }, '/quotas/emails_per_second'],
    [{ quotas: { queued_max: '5' } }, '/quotas/queued_max'],
    [{ quotas: { storage_bytes_max: 2 ** 53 } }, '/quotas/storage_bytes_max'],
    [{ quotas: { emails: 5 } }, '/quotas/emails'],
    [{ plan: 'gold' }, '/plan'],
  ])('answers 400 to %j', async (change, path) => {
    const { status, body } = await put(change)
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ path }])
    expect((await get()).body.tenant).toMatchObject({ name: 'Acme', state: 'active', quotas: none })
  })

  it('is in the audit log', async () => {
    await put({ state: 'suspended' })
    const { entries } = (await admin('GET', '/audit?pageSize=1')).body
    expect(entries).toMatchObject([
      { actor: 'operator', operation: 'updateTenant', target: tenantId, status: 200 },
    ])
  })

  it('says in the audit log what has changed, with the values before and after', async () => {
    const changesOf = async (change: object) => {
      await put(change)
      const { body } = await admin('GET', '/audit?pageSize=1')
      expect(Check(listAuditOfAllTenantsAnswer, body)).toBe(true)
      return body.entries[0].changes
    }
    expect(await changesOf({ name: 'New', state: 'suspended', quotas: { queued_max: 5 } })).toEqual(
      [
        { path: '/name', before: 'Acme', after: 'New' },
        { path: '/state', before: 'active', after: 'suspended' },
        { path: '/quotas/queued_max', before: null, after: 5 },
      ],
    )
    expect(await changesOf({ quotas: { queued_max: 6, emails_per_day: 9 } })).toEqual([
      { path: '/quotas/queued_max', before: 5, after: 6 },
      { path: '/quotas/emails_per_day', before: null, after: 9 },
    ])
    expect(await changesOf({ quotas: null })).toEqual([
      { path: '/quotas/queued_max', before: 6, after: null },
      { path: '/quotas/emails_per_day', before: 9, after: null },
    ])
    expect(await changesOf({ name: 'New' })).toEqual([])
    expect(await changesOf({ name: ' ' })).toBeNull()
  })

  it('leaves the keys of a suspended tenant as they are', async () => {
    await put({ state: 'suspended' })
    const headers = { authorization: `Bearer ${apiKey}` }
    expect((await app.inject({ url: '/v1/keys', headers })).statusCode).toBe(200)
  })
})

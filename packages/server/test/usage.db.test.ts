/** getUsage (docs/reference/limits.md#usage-of-quotas): a tenant's own quotas, and what it uses of them. */
import { getUsageAnswer, type Quotas } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createActivity } from '../src/activity/create.ts'
import { createClock } from '../src/platform/clock.ts'
import { addCounterChanges } from '../src/platform/counters/counter-store.ts'
import { createHttpApp, type HttpApp } from '../src/platform/http/app.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { countQueued } from '../src/sending/index.ts'
import { createTenants } from '../src/tenants/create.ts'
import { usageNames, usageSubject } from '../src/tenants/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const DAY_MS = 86_400_000
const LONG_QUEUE = 100_050
const none: Quotas = {
  ...{ emails_per_second: null, emails_per_day: null },
  ...{ queued_max: null, storage_bytes_max: null },
}
const log = createLogger({ level: 'silent' })

let database: TestDatabase
let app: HttpApp
beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  app = serve()
})
afterAll(async () => {
  await app.close()
  await database.close()
})

function serve(): HttpApp {
  const { db } = database
  const clock = createClock()
  const config = {
    auditRetentionMs: DAY_MS,
    retentionMs: 30 * DAY_MS,
    contentRetentionMs: 30 * DAY_MS,
  }
  const removeMembers = async () => 0
  const tenants = createTenants({ db, log, clock, config, countQueued, removeMembers, tables: [] })
  const recordReads = createConcurrencyLimiter({
    ...{ name: 'reads', atOnceMax: 2, atOncePerCallerMax: 1, waitingPerCallerMax: 1 },
  })
  const served = createHttpApp({
    ...{ log, metrics: createMetrics(), adminToken: 'operator' },
    authenticateKey: tenants.authenticateKey,
    operatorAccess: tenants.operatorAccess,
  })
  tenants.routes(served)
  createActivity({ db, clock, config, recordReads }).routes(served)
  return served
}

async function call(token: string, method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await app.inject({ method, url, headers, ...(payload && { payload }) })
  return { status: answer.statusCode, body: answer.json() }
}

async function newTenant(): Promise<{ readonly id: string; readonly key: string }> {
  const { body } = await call('operator', 'POST', '/admin/v1/tenants', { name: 'Acme' })
  return { id: body.tenant_id, key: body.api_key }
}

const setQuotas = (id: string, quotas: Partial<Quotas>) =>
  call('operator', 'PUT', `/admin/v1/tenants/${id}`, { quotas })

async function usageFor(key: string) {
  const { status, body } = await call(key, 'GET', '/v1/usage')
  expect({ status, isRight: Check(getUsageAnswer, body) || body }).toEqual({
    ...{ status: 200, isRight: true },
  })
  return { quotas: body.quotas, usage: body.usage }
}

async function enqueue(tenantId: string, recipients: number): Promise<void> {
  await database.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at, max_attempts, expires_at,
                                content_bytes)
     select $1, 'r' || n, 0, 'smtp_1', 1, false, now(), 5, now(), 1 from generate_series(1, $2::int) n`,
    [tenantId, recipients],
  )
}

it('answers the quotas of the tenant and what it uses, as the operator sees them', async () => {
  const [acme, other] = [await newTenant(), await newTenant()]
  const count = (tenantId: string, name: string, n: number) => ({
    ...{ tenantId, subject: usageSubject, name, at: new Date(), n },
  })
  await database.db.transaction((tx) =>
    addCounterChanges(tx, [
      ...[count(acme.id, usageNames.emails, 5), count(acme.id, usageNames.bytes, 100)],
      ...[count(other.id, usageNames.emails, 7_000), count(other.id, usageNames.bytes, 9_000)],
    ]),
  )
  await enqueue(acme.id, 3)
  await enqueue(other.id, 11)
  await setQuotas(acme.id, { emails_per_day: 10, emails_per_second: 2 })
  await setQuotas(other.id, { storage_bytes_max: 10_000 })
  const found = await usageFor(acme.key)
  expect(found).toEqual({
    quotas: { ...none, emails_per_day: 10, emails_per_second: 2 },
    usage: { emails_today: 5, queued: 3, storage_bytes: 100 },
  })
  const { body } = await call('operator', 'GET', `/admin/v1/tenants/${acme.id}`)
  expect(body.tenant).toMatchObject(found)
})

it('answers a new tenant: no quotas, and nothing used', async () => {
  const { key } = await newTenant()
  expect(await usageFor(key)).toEqual({
    ...{ quotas: none, usage: { emails_today: 0, queued: 0, storage_bytes: 0 } },
  })
})

it('is read with a key that may read, and refused to one that may only send', async () => {
  const { key } = await newTenant()
  const keyWith = async (body: object) =>
    (await call(key, 'POST', '/v1/keys', { name: 'K', ...body })).body.api_key
  await usageFor(await keyWith({ scopes: ['read'] }))
  await usageFor(await keyWith({ mode: 'test' }))
  const refused = await call(await keyWith({ scopes: ['send'] }), 'GET', '/v1/usage')
  expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect((await call('nobody', 'GET', '/v1/usage')).status).toBe(401)
  expect((await call(key, 'GET', '/v1/usage?tenant_id=tn_other')).status).toBe(400)
})

it('counts beyond 100,000 recipients that wait where the quota is larger', async () => {
  const { id, key } = await newTenant()
  await enqueue(id, LONG_QUEUE)
  expect((await usageFor(key)).usage.queued).toBe(100_000)
  await setQuotas(id, { queued_max: 99_000 })
  expect((await usageFor(key)).usage.queued).toBe(100_000)
  await setQuotas(id, { queued_max: 120_000 })
  expect((await usageFor(key)).usage.queued).toBe(LONG_QUEUE)
  await database.db.query(`delete from sending_queue where tenant_id = $1 and ref_id = 'r1'`, [id])
  // Another process, which has not counted a moment ago.
  const before = app
  app = serve()
  await before.close()
  expect((await usageFor(key)).usage.queued).toBe(LONG_QUEUE - 1)
})

/** [contract 7.1] The operator's token acts for the tenant that a header names, and it is recorded. */
import { cancelScheduledEmailAnswer, emailParams, operations } from '@postrider/contract'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createClock } from '../src/platform/clock.ts'
import { DatabaseUnavailableError } from '../src/platform/db/index.ts'
import { ApiError } from '../src/platform/errors.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { addOperation } from '../src/platform/http/operation.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createFileLimits } from '../src/suppressions/create.ts'
import { suppressionRoutes } from '../src/suppressions/routes.ts'
import { createKeyAuthenticator, createOperatorAccess, createTenant } from '../src/tenants/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'

let database: TestDatabase
let app: ReturnType<typeof createHttpApp>
let lines: Record<string, unknown>[]
let tenant: { tenantId: string; apiKey: string }
let isAway = false

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  const log = createLogger({
    level: 'info',
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  })
  const access = createOperatorAccess({ db, log })
  app = createHttpApp({
    log,
    metrics: createMetrics(),
    authenticateKey: createKeyAuthenticator({ db, clock: createClock() }).authenticate,
    adminToken: 'the-operator',
    operatorAccess: {
      ...access,
      begin: (call) =>
        isAway ? Promise.reject(new DatabaseUnavailableError('away')) : access.begin(call),
    },
  })
  suppressionRoutes(app, { db, log, clock: createClock(), ...createFileLimits() })
  addOperation(app, 'cancelScheduledEmail', {
    ...{ summary: 'Refuses keys', tag: 'Email', scopes: ['send'] },
    ...{ params: emailParams, answer: cancelScheduledEmailAnswer },
    refuseEarly: () => new ApiError('quota_exceeded', { retryAfterS: 1 }),
    handle: async ({ params }) => ({
      ...{ message: 'Cancelled', ref_id: params.ref_id, cancelled: 0, recipients: [] },
    }),
  })
  tenant = await createTenant({ db }, { name: 'Acme' })
})
afterAll(async () => {
  await app.close()
  await database.close()
})
beforeEach(async () => {
  lines = []
  isAway = false
  await emptyTables(database.db, 'tenants_audit_entry')
})

interface Asked {
  readonly token?: string
  readonly tenantId?: string
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly url?: string
  readonly payload?: object
}

async function ask(o: Asked = {}) {
  const { token = 'the-operator', tenantId, method = 'GET', url = '/v1/suppressions' } = o
  const response = await app.inject({
    method,
    url,
    headers: {
      authorization: `Bearer ${token}`,
      ...(tenantId === undefined ? {} : { 'x-postrider-tenant': tenantId }),
    },
    ...(o.payload === undefined ? {} : { payload: o.payload }),
    remoteAddress: '192.0.2.7',
  })
  return { status: response.statusCode, body: response.json() }
}

async function entries() {
  const { rows } = await database.db.query(
    `select tenant_id, actor, operation, target, from_address, status
       from tenants_audit_entry order by entry_id`,
  )
  return rows
}

const unsubscribe = { method: 'POST', url: operations.unsubscribeEmail.path } as const

describe('an API key', () => {
  it('takes the header of its own tenant, and is refused with that of another one', async () => {
    const other = await createTenant({ db: database.db }, { name: 'Other' })
    const own = await ask({ token: other.apiKey, tenantId: other.tenantId })
    expect(own).toMatchObject({ status: 200 })
    const o = { ...unsubscribe, payload: { email: 'ada@example.com' } }
    const refused = await ask({ ...o, token: other.apiKey, tenantId: tenant.tenantId })
    expect(refused).toMatchObject({ status: 403, body: { code: 'forbidden' } })
    expect(refused.body.message).toContain('X-Postrider-Tenant')
    expect(await ask({ token: other.apiKey })).toMatchObject({
      status: 200,
      body: { suppressions: [] },
    })
  })
})

describe('the operator token', () => {
  it('opens the routes of the tenant that the header names', async () => {
    expect(await ask({ tenantId: tenant.tenantId })).toMatchObject({ status: 200 })
  })

  it('goes on where a key is refused early, and is recorded', async () => {
    const url = '/v1/email/01ARZ3NDEKTSV4RRFFQ69G5FAV/schedule'
    const o = { method: 'DELETE', url } as const
    expect(await ask({ ...o, token: tenant.apiKey })).toMatchObject({
      status: 429,
      body: { code: 'quota_exceeded' },
    })
    expect(await entries()).toEqual([])
    expect(await ask({ ...o, tenantId: tenant.tenantId })).toMatchObject({ status: 200 })
    expect(await entries()).toMatchObject([{ operation: 'cancelScheduledEmail', status: 200 }])
  })

  it('opens nothing without the header: 401', async () => {
    const { status, body } = await ask()
    expect({ status, code: body.code }).toEqual({ status: 401, code: 'unauthorized' })
    expect(body.message).toContain('X-Postrider-Tenant')
    // Only who has the token is told so.
    const guessed = await ask({ token: 'another' })
    expect(guessed.body.message).toBe('Unauthorized: the API key is unknown, revoked or expired')
  })

  it('answers 404 for an unknown tenant, and names it', async () => {
    const tenantId = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
    const { status, body } = await ask({ tenantId })
    expect(status).toBe(404)
    expect(body.message).toContain(`There is no tenant ${tenantId}`)
  })

  it.each([
    '',
    'acme',
    'tn_',
    'tn_01arz3ndektsv4rrffq69g5fav',
    'tn_A, tn_B',
    `tn_${'0'.repeat(5000)}`,
  ])('answers 400 to the header %j, and names it', async (tenantId) => {
    const { status, body } = await ask({ tenantId })
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ path: '/X-Postrider-Tenant' }])
    expect(await entries()).toEqual([])
  })

  it('is needed: the header changes nothing with another token', async () => {
    expect(await ask({ token: 'wrong', tenantId: tenant.tenantId })).toMatchObject({ status: 401 })
    const { body } = await ask({ tenantId: tenant.tenantId })
    expect(body.suppressions).toEqual([])
    expect(await entries()).toEqual([])
  })
})

describe('the audit log of the operator', () => {
  it('has each changing call with its answer, and a log line', async () => {
    const email = 'grace@example.com'
    const { tenantId } = tenant
    expect(await ask({ ...unsubscribe, tenantId, payload: { email } })).toMatchObject({
      status: 200,
    })
    const url = `/v1/suppressions/${encodeURIComponent(email)}`
    expect(await ask({ method: 'DELETE', url, tenantId })).toMatchObject({ status: 200 })
    await ask({ tenantId })
    const common = {
      tenant_id: tenantId,
      actor: 'operator',
      from_address: '192.0.2.7',
      status: 200,
    }
    expect(await entries()).toEqual([
      { ...common, operation: 'unsubscribeEmail', target: null },
      { ...common, operation: 'deleteSuppression', target: email },
    ])
    expect(lines.filter(({ msg }) => msg === 'operator.acted')).toMatchObject([
      { level: 'info', tenant_id: tenantId, operation: 'unsubscribeEmail', from: '192.0.2.7' },
      { operation: 'deleteSuppression', status: 200 },
    ])
    expect(JSON.stringify(lines)).not.toContain('grace')
  })

  it('has calls that were refused after they began, and no invalid ones', async () => {
    const { tenantId } = tenant
    const url = '/v1/suppressions/nobody%40example.com'
    expect(await ask({ method: 'DELETE', url, tenantId })).toMatchObject({ status: 404 })
    expect(await ask({ ...unsubscribe, tenantId, payload: {} })).toMatchObject({ status: 400 })
    expect(await entries()).toMatchObject([{ operation: 'deleteSuppression', status: 404 }])
  })

  it('is written before the change: when that fails, nothing is changed', async () => {
    isAway = true
    const { tenantId } = tenant
    const payload = { email: 'unrecorded@example.com' }
    expect(await ask({ ...unsubscribe, tenantId, payload })).toMatchObject({ status: 503 })
    const { body } = await ask({ tenantId })
    expect(JSON.stringify(body)).not.toContain('unrecorded')
  })

  it('has no call that a tenant makes', async () => {
    const payload = { email: 'own@example.com' }
    expect(await ask({ ...unsubscribe, token: tenant.apiKey, payload })).toMatchObject({
      status: 200,
    })
    expect(await entries()).toEqual([])
  })
})

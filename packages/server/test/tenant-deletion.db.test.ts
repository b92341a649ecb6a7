/** docs/reference/operator.md#deletion: what a deleted tenant leaves, by the catalogue of the database. */
import { deleteTenantAnswer } from '@postrider/contract'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { removeMembers } from '../src/people/users/removal-store.ts'
import { createClock } from '../src/platform/clock.ts'
import { createHttpApp, type HttpApp } from '../src/platform/http/app.ts'
import { newId } from '../src/platform/ids.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { tenantTables } from '../src/tenant-tables.ts'
import { createTenants } from '../src/tenants/create.ts'
import { createDeletionWorker, type DeletionDeps } from '../src/tenants/deletion/deletion-worker.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { addRows, countRows, tablesOf } from './tenant-rows.ts'

/** The tenant's own: they leave in the last transaction. */
const OWN = ['tenants_api_key', 'tenants_deletion', 'tenants_tenant', 'tenants_usage']
/** Tables that reach no tenant. A user is reached by `people_member`, and the rest of `people` by the user. */
const WITHOUT_TENANT = [
  'alerts_watch',
  ...['people_invitation', 'people_session', 'people_user', 'platform_lease', 'platform_member'],
  ...['platform_migration', 'platform_partition_option', 'platform_process'],
  ...['platform_secret_key', 'webhooks_event_mark'],
]

const log = createLogger({ level: 'silent' })
let database: TestDatabase
let app: HttpApp
let tenantId: string
let apiKey: string

beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  const { db } = database
  const tenants = createTenants({
    ...{
      db,
      log,
      clock: createClock(),
      countQueued: async () => new Map(),
      tables: [],
      removeMembers,
    },
    config: { auditRetentionMs: 1_000, retentionMs: 1_000, contentRetentionMs: 1_000 },
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
  const made = await admin('POST', '/tenants', { name: 'Acme & Co' })
  tenantId = made.body.tenant_id
  apiKey = made.body.api_key
})

async function admin(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, payload?: object) {
  const response = await app.inject({
    ...{ method, url: `/admin/v1${path}`, headers: { authorization: 'Bearer operator' } },
    ...(payload === undefined ? {} : { payload }),
  })
  return { status: response.statusCode, body: response.json() }
}

const deletePath = (confirm = 'Acme & Co') =>
  `/tenants/${tenantId}?confirm=${encodeURIComponent(confirm)}`

function worker(o: Partial<DeletionDeps> = {}) {
  const { db } = database
  return createDeletionWorker({
    ...{ db, log, tables: tenantTables, removeMembers, settleMs: 0 },
    ...o,
  })
}

async function tenantLike(like: string): Promise<string> {
  const tables = (await tablesOf(database.db, true)).filter((table) => !OWN.includes(table))
  await addRows(database.db, like, tables)
  return like
}

describe('the tables that a deleted tenant leaves', () => {
  it('are all that have a column tenant_id, each once', async () => {
    const known = await tablesOf(database.db, true)
    expect([...tenantTables, ...OWN].toSorted()).toEqual(known)
  })

  it('are all tables but those that are named here', async () => {
    // A new table has a column tenant_id, or reaches no tenant: then name it.
    expect(await tablesOf(database.db, false)).toEqual(WITHOUT_TENANT.toSorted())
  })

  it('have no row of it afterwards, and all rows of others', async () => {
    const { db } = database
    await admin('PUT', `/tenants/${tenantId}`, { quotas: { emails_per_day: 5 } })
    await tenantLike(tenantId)
    const other = await tenantLike(newId('tn'))
    const tables = await tablesOf(db, true)
    const before = await countRows(db, tenantId, tables)
    expect(Object.entries(before).filter(([, n]) => n === 0)).toEqual([['tenants_deletion', 0]])
    expect((await admin('DELETE', deletePath())).status).toBe(202)
    for (let round = 0; round < 3; round += 1) await worker().runOnce()
    const rest = await countRows(db, tenantId, tables)
    expect(Object.entries(rest).filter(([, n]) => n > 0)).toEqual([])
    const ofOther = await countRows(db, other, tables)
    const missing = Object.entries(ofOther).filter(([table, n]) => n === 0 && !OWN.includes(table))
    expect(missing).toEqual([])
    expect((await admin('GET', `/tenants/${tenantId}`)).status).toBe(404)
    expect((await admin('DELETE', deletePath())).status).toBe(404)
  }, 60_000)

  it('are emptied by index, whatever the table holds of others', async () => {
    const { db } = database
    const { rows } = await db.query<{ table: string }>(
      `select t.name as table from unnest($1::text[]) t (name)
        where not exists (
          select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
           where i.indrelid = t.name::regclass and a.attname = 'tenant_id' and i.indpred is null)`,
      [tenantTables],
    )
    expect(rows).toEqual([])
  })
})

describe('the deletion of a tenant', () => {
  it('is resumed by the next process where one has stopped, and removes pieces of a bounded size', async () => {
    const { db } = database
    await db.query(
      `insert into suppressions_address (tenant_id, email_key, id, email, reason)
       select $1, 'e' || i, i::text, 'e' || i, 'manual' from generate_series(1, 25) i`,
      [tenantId],
    )
    await admin('DELETE', deletePath())
    const count = async () =>
      (await countRows(db, tenantId, ['suppressions_address'])).suppressions_address
    // It ends as a killed process does: its claim stays.
    const dying = worker({
      piece: 10,
      db: {
        ...db,
        query: async (...args) => {
          const result = await db.query(...args)
          if (String(args[0]).includes('suppressions_address') && result.rowCount === 10)
            throw new Error('killed')
          return result as never
        },
      },
    })
    await expect(dying.runOnce()).rejects.toThrow('killed')
    expect(await count()).toBe(15)
    // Another process has nothing to do before the claim has run out.
    await worker({ piece: 10 }).runOnce()
    expect(await count()).toBe(15)
    await db.query(`update tenants_deletion set due_at = now() where tenant_id = $1`, [tenantId])
    await worker({ piece: 10 }).runOnce()
    await worker({ piece: 10 }).runOnce()
    expect((await admin('GET', `/tenants/${tenantId}`)).status).toBe(404)
  }, 30_000)

  it('shows the tenant as deleting until what was under way has ended', async () => {
    const { db } = database
    await admin('DELETE', deletePath())
    await worker({ settleMs: 60_000 }).runOnce()
    const { status, body } = await admin('GET', `/tenants/${tenantId}`)
    expect(status).toBe(200)
    expect(body.tenant.state).toBe('deleting')
    // Somebody was let in before.
    await tenantLike(tenantId)
    await db.query(`update tenants_deletion set due_at = now() where tenant_id = $1`, [tenantId])
    for (let round = 0; round < 3; round += 1) await worker().runOnce()
    const rest = await countRows(db, tenantId, await tablesOf(db, true))
    expect(Object.entries(rest).filter(([, n]) => n > 0)).toEqual([])
  }, 60_000)

  it('ends only when a round finds nothing a while after the last that removed something', async () => {
    const { db } = database
    await tenantLike(tenantId)
    await admin('DELETE', deletePath())
    await db.query(
      `update tenants_deletion set requested_at = now() - interval '1 hour' where tenant_id = $1`,
      [tenantId],
    )
    await worker({ settleMs: 60_000 }).runOnce()
    expect((await admin('GET', `/tenants/${tenantId}`)).body.tenant.state).toBe('deleting')
    await db.query(`update tenants_deletion set due_at = now() where tenant_id = $1`, [tenantId])
    await worker({ settleMs: 60_000 }).runOnce()
    expect((await admin('GET', `/tenants/${tenantId}`)).status).toBe(404)
  }, 60_000)

  it('ends its keys at once, and lets nobody act for it', async () => {
    const call = (token: string, headers = {}) =>
      app.inject({ url: '/v1/keys', headers: { authorization: `Bearer ${token}`, ...headers } })
    expect((await call(apiKey)).statusCode).toBe(200)
    const { status, body } = await admin('DELETE', deletePath())
    expect(status).toBe(202)
    expect(Check(deleteTenantAnswer, body)).toBe(true)
    expect(body.tenant).toMatchObject({ tenant_id: tenantId, state: 'deleting' })
    expect((await call(apiKey)).statusCode).toBe(401)
    expect((await call('operator', { 'x-postrider-tenant': tenantId })).statusCode).toBe(404)
    expect((await admin('POST', `/tenants/${tenantId}/keys`, {})).status).toBe(404)
    expect((await admin('PUT', `/tenants/${tenantId}`, { state: 'active' })).body.code).toBe(
      'conflict',
    )
    expect((await admin('DELETE', deletePath())).status).toBe(202)
  })

  it.each(['Acme', 'acme & co', 'Acme & Co '])('is refused for the name %j', async (name) => {
    const { status, body } = await admin('DELETE', deletePath(name))
    expect(status).toBe(400)
    expect(body.errors).toMatchObject([{ path: '/confirm' }])
    expect((await admin('GET', `/tenants/${tenantId}`)).body.tenant.state).toBe('active')
  })

  it('is refused without a name, and for an unknown tenant', async () => {
    const { body } = await admin('DELETE', `/tenants/${tenantId}`)
    expect(body.errors).toMatchObject([{ path: '/confirm' }])
    expect((await admin('DELETE', `/tenants/${newId('tn')}?confirm=x`)).status).toBe(404)
  })

  it('stays in the audit log of the operator', async () => {
    await admin('DELETE', deletePath())
    for (let round = 0; round < 3; round += 1) await worker().runOnce()
    const { entries } = (await admin('GET', '/audit?pageSize=500')).body
    expect(entries).toContainEqual(
      expect.objectContaining({ operation: 'deleteTenant', target: tenantId, status: 202 }),
    )
  }, 30_000)

  it('removes people who are members of nothing else, and no others', async () => {
    const { db } = database
    const other = (await admin('POST', '/tenants', { name: 'Other' })).body.tenant_id
    const users = ['one', 'both', 'operator'].map((name) => `user_${name}_${tenantId}`)
    for (const [i, user] of users.entries())
      await db.query(
        `insert into people_user (user_id, email, name, operator_role) values ($1, $1, 'x', $2)`,
        [user, i === 2 ? 'operator' : null],
      )
    for (const [tenant, user] of [...users.map((user) => [tenantId, user]), [other, users[1]]])
      await db.query(`insert into people_member values ($1, $2, 'viewer', false)`, [tenant, user])
    await admin('DELETE', deletePath())
    await worker().runOnce()
    const { rows } = await db.query<{ user_id: string }>(
      'select user_id from people_user where user_id = any($1) order by 1',
      [users],
    )
    expect(rows.map(({ user_id }) => user_id)).toEqual([users[1], users[2]].toSorted())
  }, 30_000)
})

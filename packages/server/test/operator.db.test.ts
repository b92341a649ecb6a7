/** What the operator sees of the whole service, over HTTP. */
import {
  getHealthAnswer,
  getQueuesAnswer,
  getSystemAnswer,
  type OperatedQueue,
  searchAnswer,
} from '@postrider/contract'
import type { TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { dayOfUlid, newId } from '../src/platform/ids.ts'
import { createTenant } from '../src/tenants/index.ts'
import { ADMIN_TOKEN, composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { accept } from './sender.ts'
import { addMailer, unsubscribe } from './sending.ts'
import { insertDelivery, insertWebhook } from './webhook-record.ts'

const API_KEY = 'canary-api-key-0123456789'
const SHOWN_ENV = {
  POSTRIDER_API_KEY: API_KEY,
  POSTRIDER_ROLES: 'api',
  POSTRIDER_SEND_LEASE: '90s',
  POSTRIDER_OIDC_ISSUER: 'https://login.example.com/realm',
  POSTRIDER_OIDC_CLIENT_ID: 'postrider',
  POSTRIDER_OIDC_CLIENT_SECRET: 'canary-of-oidc',
  POSTRIDER_RSPAMD_URL: 'http://127.0.0.1:11333/canary-path',
}

let database: TestDatabase
let app: App
let base: string
let tenantId: string
let otherId: string

beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  app = composeForTest(database.url, { env: SHOWN_ENV, version: '1.2.3' })
  await app.start()
  const { host, port } = app.address()
  base = `http://${host}:${port}`
  tenantId = (await createTenant(database, { name: 'Acme' })).tenantId
  otherId = (await createTenant(database, { name: 'Other' })).tenantId
})
afterAll(async () => {
  await app.stop()
  await database.close()
})
beforeEach(() =>
  emptyTables(
    database.db,
    'mailers_mailer',
    'sending_email',
    'sending_content',
    'sending_recipient',
    'sending_queue',
    'suppressions_address',
    'webhooks_subscription',
    'webhooks_stream',
    'webhooks_open',
    'webhooks_pending',
    'webhooks_delivery',
  ),
)

async function get(path: string, token = ADMIN_TOKEN) {
  const response = await fetch(`${base}/admin/v1/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  })
  const text = await response.text()
  return { status: response.status, body: JSON.parse(text), text }
}

async function read(path: string, schema: TSchema) {
  const { status, body } = await get(path)
  expect({ status, isRight: Check(schema, body) || body }).toEqual({ status: 200, isRight: true })
  return body
}

const queues = async (query = '') => {
  const body = await read(`queues${query}`, getQueuesAnswer)
  return body as { queues: OperatedQueue[]; nextPageToken?: string }
}
const idsOf = (found: readonly OperatedQueue[]) =>
  found.map(({ mailer_id, webhook_id }) => mailer_id ?? webhook_id)

const found = async (q: string) => {
  const { results, complete } = await read(`search?q=${encodeURIComponent(q)}`, searchAnswer)
  expect(complete).toBe(true)
  return results.map((one: Record<string, string>) => `${one.kind} ${one.id} ${one.tenant_id}`)
}

it.each(['health', 'queues', 'system', 'search?q=abc.example'])(
  'refuses %s to everybody but the operator',
  async (path) => {
    expect((await get(path, 'another-token-of-somebody')).status).toBe(401)
  },
)

describe('getHealth', () => {
  it("tells each of doctor's checks, what was found, and what to do", async () => {
    const { health } = await read('health', getHealthAnswer)
    const checks = new Map<string, { state: string; fix: string | null }>(
      health.checks.map((one: { check: string }) => [one.check, one]),
    )
    expect([...checks.keys()]).toEqual(
      expect.arrayContaining(['node', 'configuration', 'database', 'migrations', 'send queue']),
    )
    expect(health.ok).toBe([...checks.values()].every(({ state }) => state !== 'failed'))
    for (const { state, fix } of checks.values()) expect(fix === null).toBe(state === 'ok')
    expect(JSON.stringify(health)).not.toMatch(/canary/)
  })

  it('makes one look for all who ask within ten seconds', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => read('health', getHealthAnswer)))
    expect(new Set(all.map(({ health }) => health.checked_at)).size).toBe(1)
  })
})

describe('getQueues', () => {
  it('lists mailers and webhooks of all tenants, late ones first, page by page', async () => {
    const { db } = database
    const late = await addMailer(db, { tenantId })
    const waiting = await addMailer(db, { tenantId: otherId })
    const held = await addMailer(db, { tenantId, email: 'held@example.com' })
    const mail = { to: [{ email: 'a@a.example' }, { email: 'b@a.example' }] }
    await accept(db, mail, tenantId)
    await accept(db, {}, otherId)
    const from = { email: 'held@example.com' }
    await accept(db, { from }, tenantId)
    const due = (id: string, s: number) =>
      db.query(
        `update sending_queue set due_at = now() - $2 * interval '1 s' where mailer_id = $1`,
        [id, s],
      )
    await due(late.mailerId, 300)
    await due(waiting.mailerId, -60)
    await due(held.mailerId, 30)
    await db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
      held.mailerId,
    ])
    const failing = await insertWebhook(db, { tenantId: otherId })
    await insertWebhook(db, { tenantId })
    await db.query(
      `update webhooks_stream set state = 'active', first_failure_at = now(), delivery_id = 'd'
        where webhook_id = $1`,
      [failing.webhookId],
    )
    const all = await queues()
    expect(all.queues).toEqual([
      {
        ...{ kind: 'mailer', mailer_id: late.mailerId, tenant_id: tenantId, state: 'active' },
        ...{ late: true, due: 2, waiting: 0, held: 0, oldest_at: expect.any(String) },
      },
      {
        ...{ kind: 'webhook', webhook_id: failing.webhookId, tenant_id: otherId },
        ...{ state: 'failing', late: true, due: 0, waiting: 0, held: 0, oldest_at: null },
      },
      {
        ...{ kind: 'mailer', mailer_id: held.mailerId, tenant_id: tenantId, state: 'disabled' },
        ...{ late: false, due: 0, waiting: 0, held: 1, oldest_at: expect.any(String) },
      },
      {
        ...{ kind: 'mailer', mailer_id: waiting.mailerId, tenant_id: otherId, state: 'active' },
        ...{ late: false, due: 0, waiting: 1, held: 0, oldest_at: null },
      },
    ])
    const paged: OperatedQueue[] = []
    for (let token: string | undefined = ''; token !== undefined; ) {
      const page = await queues(`?pageSize=1${token === '' ? '' : `&pageToken=${token}`}`)
      paged.push(...page.queues)
      token = page.nextPageToken
    }
    expect(idsOf(paged)).toEqual(idsOf(all.queues))
    expect(idsOf((await queues('?kind=webhook')).queues)).toEqual([failing.webhookId])
    expect(idsOf((await queues('?kind=mailer')).queues).length).toBe(3)
  })

  it('says that the mail of a suspended tenant is held, and that it is not late', async () => {
    const { db } = database
    const { mailerId } = await addMailer(db, { tenantId })
    await accept(db, {}, tenantId)
    await db.query(`update sending_queue set due_at = now() - interval '1 hour'`)
    const setState = (state: string) =>
      db.query('update tenants_tenant set state = $2 where tenant_id = $1', [tenantId, state])
    try {
      await setState('suspended')
      expect((await queues()).queues).toMatchObject([
        { mailer_id: mailerId, state: 'tenant_suspended', late: false, due: 0, held: 1 },
      ])
    } finally {
      await setState('active')
    }
    expect((await queues()).queues).toMatchObject([
      { mailer_id: mailerId, state: 'active', late: true, due: 1, held: 0 },
    ])
  })

  it.each([
    ['?kind=x', '/kind'],
    ['?pageSize=0', '/pageSize'],
    ['?pageToken=x', '/pageToken'],
  ])('refuses %s by its path', async (query, path) => {
    expect(await get(`queues${query}`)).toMatchObject({
      status: 400,
      body: { errors: [{ path }] },
    })
  })
})

describe('getSystem', () => {
  it('shows processes, storage and the configuration, and no secret', async () => {
    const { system } = await read('system', getSystemAnswer)
    expect(system.processes).toMatchObject([
      { roles: ['api'], version: '1.2.3', commit: 'unknown' },
    ])
    expect(system.database).toMatchObject({ is_embedded: false })
    expect(system.database.bytes).toBeGreaterThan(1_000_000)
    expect(system.tables.length).toBe(30)
    const settings = new Map<string, object>(
      system.configuration.map((one: { name: string }) => [one.name, one]),
    )
    const shown = { is_set: true, is_generated: false, is_shown: true }
    expect(settings.get('POSTRIDER_SEND_LEASE')).toMatchObject({ ...shown, value: '90s' })
    expect(settings.get('POSTRIDER_ROLES')).toMatchObject({ ...shown, value: 'api' })
    expect(settings.get('POSTRIDER_SEND_MAX_ATTEMPTS')).toMatchObject({ ...shown, value: '5' })
    const issuer = 'https://login.example.com/realm'
    expect(settings.get('POSTRIDER_OIDC_ISSUER')).toMatchObject({ ...shown, value: issuer })
    expect(settings.get('POSTRIDER_OIDC_ROLE_CLAIM')).toMatchObject({ ...shown, value: 'roles' })
    const hidden = { value: null, is_set: true, is_generated: false, is_shown: false }
    const secretNames = [
      ...['DATABASE_URL', 'SECRET_KEYS', 'ADMIN_TOKEN', 'API_KEY', 'RSPAMD_URL'],
      'OIDC_CLIENT_SECRET',
    ]
    for (const name of secretNames)
      expect({ name, ...settings.get(`POSTRIDER_${name}`) }).toMatchObject(hidden)
    const text = JSON.stringify(system)
    const secrets = [ADMIN_TOKEN, Buffer.alloc(32, 7).toString('base64'), API_KEY]
    for (const secret of secrets) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/canary|postgres:\/\//)
  })

  it('forgets processes that ended, and those that tell nothing for a minute', async () => {
    const { db } = database
    const second = composeForTest(database.url, { env: { POSTRIDER_ROLES: 'janitor' } })
    await second.start()
    const rolesNow = async () => {
      const { system } = await read('system', getSystemAnswer)
      return system.processes.map(({ roles }: { roles: string[] }) => roles.join()).sort()
    }
    await expect.poll(rolesNow).toEqual(['api', 'janitor'])
    await second.stop()
    expect(await rolesNow()).toEqual(['api'])
    await db.query(
      `insert into platform_process (process_id, host, roles, version, commit, node, seen_at)
       values ('gone', 'h', '{sender}', '1', 'c', 'v24', now() - interval '61 s')`,
    )
    expect(await rolesNow()).toEqual(['api'])
  })
})

describe('search', () => {
  it('finds ids of every kind, over all tenants', async () => {
    const { db } = database
    const { mailerId } = await addMailer(db, { tenantId: otherId })
    const refId = await accept(db, {}, otherId)
    const { webhookId } = await insertWebhook(db, { tenantId })
    const deliveryId = newId('dlv')
    await insertDelivery(db, {
      ...{ tenantId, deliveryId, webhookId, day: dayOfUlid(deliveryId.slice(4)) },
    } as never).catch(() => undefined)
    expect(await found(tenantId)).toEqual([`tenant ${tenantId} ${tenantId}`])
    expect(await found(mailerId)).toEqual([`mailer ${mailerId} ${otherId}`])
    expect(await found(refId)).toEqual([`email ${refId} ${otherId}`])
    expect(await found(` ${webhookId} `)).toEqual([`webhook ${webhookId} ${tenantId}`])
    const { rows } = await db.query<{ id: string }>(
      'select key_id as id from tenants_api_key where tenant_id = $1',
      [tenantId],
    )
    const keyId = rows[0]?.id ?? ''
    expect(await found(keyId)).toEqual([`api_key ${keyId} ${tenantId}`])
    for (const id of [
      newId('smtp'),
      newId('evt'),
      newId('in'),
      newId('dlv'),
      `${refId.slice(0, 25)}0`,
    ])
      if (id !== refId) expect(await found(id)).toEqual([])
  })

  it('finds an address as a mailer, as suppressed and as a recipient, however it is written', async () => {
    const { db } = database
    const { mailerId } = await addMailer(db, { tenantId, email: 'ada@example.com' })
    await addMailer(db, { tenantId: otherId })
    const refId = await accept(db, { to: [{ email: 'Ada@Example.com' }] }, otherId)
    await unsubscribe(db, 'ada@example.com', otherId)
    for (const q of ['ada@example.com', 'ADA@EXAMPLE.COM'])
      expect((await found(q)).sort()).toEqual([
        `mailer ${mailerId} ${tenantId}`,
        `recipient ${refId} ${otherId}`,
        `suppression ada@example.com ${otherId}`,
      ])
    expect(await found('adb@example.com')).toEqual([])
  })

  it('finds a domain for sending and for receiving, and mailers with an address of it', async () => {
    const { db } = database
    await db.query(
      `insert into inbound_domain (tenant_id, domain, id, ownership_token) values ($1, 'in.example', 'i', 't')`,
      [tenantId],
    )
    expect(await found('in.example')).toEqual([`inbound_domain in.example ${tenantId}`])
    expect(await found('IN.Example')).toEqual([`inbound_domain in.example ${tenantId}`])
    expect(await found('other.example')).toEqual([])
    const { mailerId } = await addMailer(db, { tenantId: otherId, email: 'me@other.example' })
    await addMailer(db, { tenantId: otherId, email: 'me@sub.other.example' })
    expect(await found('Other.example')).toEqual([`mailer ${mailerId} ${otherId}`])
  })

  it('finds a user by the id, and by the address in any case', async () => {
    const { db } = database
    const userId = newId('user')
    await db.query(
      `insert into people_user (user_id, email, name) values ($1, 'finder@example.com', 'Finder')`,
      [userId],
    )
    for (const q of [userId, 'Finder@Example.com'])
      expect(await found(q)).toEqual([`user ${userId} null`])
    expect(await found(newId('user'))).toEqual([])
    expect(await found('finder@other.example')).toEqual([])
  })

  it('answers at most 20 of a kind, and says that there are more', async () => {
    const { db } = database
    await addMailer(db, { tenantId })
    for (let i = 0; i < 22; i++) await accept(db, { to: [{ email: 'x@y.example' }] }, tenantId)
    const { results, complete } = await read('search?q=x@y.example', searchAnswer)
    expect(results.length).toBe(20)
    expect(complete).toBe(false)
  })

  it.each(['', 'ab', 'nothing', 'x'.repeat(321), 'two words', '@', "';--", 'a@b@c'])(
    'refuses %j by its path',
    async (q) => {
      expect(await get(`search?q=${encodeURIComponent(q)}`)).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/q' }] },
      })
    },
  )

  it('needs something to look for', async () => {
    expect((await get('search')).body).toMatchObject({ errors: [{ path: '/q' }] })
  })
})

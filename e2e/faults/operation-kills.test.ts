/**
 * The service is killed at random moments of operations that change much: the deletion of a tenant, a pause of
 * a webhook, a retry and a cancellation of many emails. Each is done, or begun anew, and never half done.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { casesOf, createRandom } from '@postrider/testkit'
import { connectTo, createDatabase, type TestDatabaseCopy } from '@postrider/testkit/database'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { createWorld, eventsOf, type Tenant, type World } from '../world.ts'

type Client = Awaited<ReturnType<typeof connectTo>>

const TEST_MS = 400_000
/** Of each operation, at moments of a new seed in each run. */
const KILLS = casesOf(1, 3)
const seed = Number(process.env.KILL_SEED ?? Date.now() % 1_000_000)
const random = createRandom(seed)

let database: TestDatabaseCopy
let sql: Client
let world: World
beforeEach(async ({ annotate }) => {
  await annotate(`KILL_SEED=${seed}`)
  const { serverUrl, templateWithDays: template } = inject('testDatabase')
  database = await createDatabase({ serverUrl, template })
  sql = await connectTo(database.url)
})
afterEach(async () => {
  await world.destroy()
  await sql.end()
  await database.close()
})

async function startWorld(retrySchedule: string): Promise<void> {
  world = createWorld({
    ...{ DATABASE_URL: database.url, SECRET_KEYS: `k:${randomBytes(32).toString('base64')}` },
    ...{ SEND_LEASE: '2s', SEND_RETRY_SCHEDULE: retrySchedule, WEBHOOK_BATCH_EVENTS: '5' },
  })
  await world.start()
}

/** Undefined: the answer was lost. */
async function call(
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  { token = world.adminToken, body }: { token?: string; body?: object } = {},
) {
  const payload = body && { body: JSON.stringify(body) }
  const type = body && { 'content-type': 'application/json' }
  try {
    const response = await fetch(`${world.service().origin}${path}`, {
      ...{ method, headers: { authorization: `Bearer ${token}`, ...type }, ...payload },
    })
    // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
    return { status: response.status, body: (await response.json()) as any }
  } catch {
    return undefined
  }
}

/** Begins an operation, kills the process at a random moment of it, and starts another. */
async function killDuring<T>(
  withinMs: number,
  begin: () => Promise<T>,
  env: Readonly<Record<string, string>> = {},
): Promise<T> {
  const begun = begin()
  await pause(random.next() * withinMs)
  await world.end('SIGKILL')
  const result = await begun
  await world.start(env)
  return result
}

async function count(text: string, values: unknown[] = []): Promise<number> {
  const { rows } = await sql.query<{ n: string }>(`select count(*) as n from ${text}`, values)
  return Number(rows[0]?.n)
}

async function addMailer({ client }: Tenant, port: number): Promise<void> {
  await client.configureSMTP({
    ...{ name: 'News', email: 'news@sender.test', config_type: 'smtp', connection_type: 'basic' },
    config: { host: '127.0.0.1', port, secure: 'None' },
  })
}

async function send({ apiKey }: Tenant, to: readonly string[], more: object = {}) {
  const body = {
    ...{ from: { email: 'news@sender.test' }, subject: 'Hello', ...more },
    to: to.map((name) => ({ email: `${name}@recipient.test` })),
    content: [{ type: 'text/plain', value: 'Hi.' }],
  }
  expect(await call('POST', '/v1/email/send', { token: apiKey, body })).toMatchObject({
    status: 202,
  })
}
const names = (prefix: string, length: number) => Array.from({ length }, (_, i) => `${prefix}${i}`)

/** How many have come to an end: as the API tells it, which must be what the table holds. */
async function statusCounts({ apiKey }: Tenant): Promise<Record<string, number>> {
  const { rows } = await sql.query<{ status: string; n: number }>(
    `select status, count(*)::int as n from sending_recipient
      where status in ('delivered', 'rejected', 'failed') group by status`,
  )
  const answer = await call('GET', '/v1/overview', { token: apiKey })
  const { delivered = 0, rejected = 0, failed = 0 } = answer?.body.overview.counts ?? {}
  const told = Object.entries<number>({ delivered, rejected, failed }).filter(([, n]) => n > 0)
  const found = Object.fromEntries(rows.map(({ status, n }) => [status, n]))
  expect(Object.fromEntries(told)).toEqual(found)
  return found
}

it('[T1] a process that is killed while it deletes a tenant leaves the rest to the next one', {
  timeout: TEST_MS,
}, async () => {
  await startWorld('1h')
  const smtp = await world.newSmtpServer({})
  const [leaving, staying] = [await world.newTenant(), await world.newTenant()]
  for (const tenant of [leaving, staying]) {
    await addMailer(tenant, smtp.port)
    await send(tenant, names('sent', 50))
    await send(tenant, names('ahead', 500), { send_at: new Date(Date.now() + 3_600_000) })
  }
  await expect.poll(() => smtp.messages.length, { timeout: 60_000 }).toBe(100)
  const ids = await sql.query<{ id: string }>(
    'select tenant_id as id from tenants_tenant order by created_at',
  )
  const [tenantId = '', otherId = ''] = ids.rows.slice(-2).map(({ id }) => id)
  for (const id of [tenantId, otherId])
    await sql.query(
      `insert into suppressions_address (tenant_id, email_key, id, email, reason)
       select $1, 'e' || i, i::text, 'e' || i, 'manual' from generate_series(1, 20000) i`,
      [id],
    )
  const { rows: tables } = await sql.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
      where a.attname = 'tenant_id' and c.relkind in ('r', 'p') and not c.relispartition
        and c.relnamespace = 'public'::regnamespace`,
  )
  const rowsOf = async (id: string) => {
    const found: [string, number][] = []
    for (const { name } of tables)
      found.push([name, await count(`${name} where tenant_id = $1`, [id])])
    return Object.fromEntries(found.filter(([, n]) => n > 0))
  }
  // Changes of sums are added up by and by.
  const { platform_counter_change: _changes, ...kept } = await rowsOf(otherId)

  const remove = () => call('DELETE', `/admin/v1/tenants/${tenantId}?confirm=e2e`)
  // Around the request: it is done completely, or not at all.
  for (let n = 0; n < KILLS; n++) {
    const answer = await killDuring(25, remove)
    const isBegun = (await count('tenants_deletion where tenant_id = $1', [tenantId])) === 1
    const { rows } = await sql.query('select state from tenants_tenant where tenant_id = $1', [
      tenantId,
    ])
    const keys = await count('tenants_api_key where tenant_id = $1', [tenantId])
    expect([rows, keys]).toEqual(
      isBegun ? [[{ state: 'deleting' }], 0] : [[{ state: 'active' }], 1],
    )
    if (answer !== undefined) expect([answer.status, isBegun]).toEqual([202, true])
    if (isBegun) break
  }
  // As if the lease of the killed process, and the time for what was under way, had passed.
  const passTime = () =>
    sql.query(
      `update tenants_deletion set due_at = now(), requested_at = requested_at - interval '1 hour'`,
    )
  expect((await remove())?.status).toBe(202)
  for (let n = 0; n < KILLS; n++) {
    await passTime()
    await killDuring(600, () => pause(0))
    // A fast machine may be through before the last kill.
    if ((await count('tenants_tenant where tenant_id = $1', [tenantId])) === 0) break
  }
  await expect
    .poll(
      async () => {
        await passTime()
        return await rowsOf(tenantId)
      },
      { timeout: 60_000, interval: 500 },
    )
    .toEqual({})
  expect((await call('GET', `/admin/v1/tenants/${tenantId}`))?.status).toBe(404)
  expect((await call('GET', '/v1/overview', { token: leaving.apiKey }))?.status).toBe(401)
  expect(await rowsOf(otherId)).toMatchObject(kept)
  await send(staying, ['last'])
  await expect.poll(() => smtp.messages.length).toBe(101)
})

it('[T2] a webhook that is paused and resumed while its process is killed gets each event, in one delivery', {
  timeout: TEST_MS,
}, async () => {
  await startWorld('300ms')
  const [smtp, receiver] = [await world.newSmtpServer({}), await world.newReceiver()]
  const tenant = await world.newTenant()
  const { webhook_id: webhookId } = await tenant.client.registerWebhook({
    ...{ webhook_url: `${receiver.origin}/`, event: 'EMAIL_EVENT', method: 'POST' },
    webhook_options: { events: { delivery: true } },
  })
  await addMailer(tenant, smtp.port)
  receiver.clear()
  const operate = (what: 'pause' | 'resume') =>
    call('POST', `/v1/webhook/${webhookId}/${what}`, { token: tenant.apiKey })
  const isPaused = async () => (await count('webhooks_stream where paused_at is not null')) === 1
  let sent = 0
  const sendSome = async (life: number) => {
    await send(tenant, names(`life${life}-`, 20))
    sent += 20
  }
  for (let life = 0; life < 2 * KILLS; life++) {
    const what = life % 2 === 0 ? 'pause' : 'resume'
    await sendSome(life)
    await pause(random.next() * 300)
    const answer = await killDuring(30, () => operate(what))
    // What was answered stays, over the death of the process.
    if (answer?.status === 200) expect(await isPaused()).toBe(what === 'pause')
    expect((await operate(what))?.status).toBe(200)
    if (what === 'resume') continue
    await expect
      .poll(() => count(`sending_recipient where status <> 'delivered'`), { timeout: 60_000 })
      .toBe(0)
    const before = receiver.requests.length
    await sendSome(life + 100)
    await expect
      .poll(() => count(`webhooks_event where event = 'MAIL_DELIVERED'`), { timeout: 60_000 })
      .toBe(sent)
    // What had begun before the pause may still have arrived.
    expect(receiver.requests.length - before).toBeLessThanOrEqual(1)
  }
  const keyOf = ({ details }: { details: Readonly<Record<string, unknown>> }) =>
    `${details.ref_id} ${details.email}`
  const keys = () => new Set(eventsOf(receiver.requests).map(keyOf))
  await expect.poll(() => keys().size, { timeout: 60_000 }).toBe(sent)
  await expect.poll(() => count('webhooks_pending'), { timeout: 60_000 }).toBe(0)
  await expect.poll(() => count('webhooks_open'), { timeout: 60_000 }).toBe(0)
  // A request that was cut off by a kill is sent again as it was: an event is in two bodies never.
  const bodies = new Set(receiver.requests.map(({ body }) => body.toString()))
  const inBodies = [...bodies].flatMap((body) => (JSON.parse(body) as WireEvents).map(keyOf))
  expect(inBodies).toHaveLength(sent)
  expect(receiver.requests.length - bodies.size).toBeLessThanOrEqual(2 * KILLS)
  const { rows } = await sql.query('select status from webhooks_delivery group by status')
  expect(rows).toEqual([{ status: 'delivered' }])
})
type WireEvents = { details: Readonly<Record<string, unknown>> }[]

it('[T3] a retry and a cancellation of many that are killed change each recipient once', {
  timeout: TEST_MS,
}, async () => {
  await startWorld('1h')
  const script: { reply: string | undefined } = { reply: '451 4.3.0 busy' }
  const smtp = await world.newSmtpServer({
    script: (now) => (now.phase === 'rcpt' ? script.reply : undefined),
  })
  const tenant = await world.newTenant()
  await addMailer(tenant, smtp.port)
  const RETRIED = 300
  const AHEAD = 3_000
  await send(tenant, names('later', RETRIED))
  for (let n = 0; n < AHEAD / 1_000; n++)
    await send(tenant, names(`ahead${n}-`, 1_000), { send_at: new Date(Date.now() + 3_600_000) })
  await expect
    .poll(() => count(`sending_recipient where status = 'deferred'`), { timeout: 90_000 })
    .toBe(RETRIED)
  // Nothing is sent from here on, so that what is due stays so.
  const paused = { SENDING: 'paused' }
  await world.end()
  await world.start(paused)

  const many = (what: 'retry' | 'cancel', filter: object) => () =>
    call('POST', `/v1/email/${what}`, { token: tenant.apiKey, body: { filter } })
  const due = () => count('sending_queue where due_at <= now()')
  const ahead = () => count('sending_scheduled')
  for (let n = 0; n < KILLS; n++) await killDuring(120, many('retry', {}), paused)
  const retried = await due()
  expect((await many('retry', {})())?.body).toMatchObject({ changed: RETRIED - retried })
  expect((await many('retry', {})())?.body).toMatchObject({ matched: 0, changed: 0 })
  expect(await due()).toBe(RETRIED)

  for (let n = 0; n < KILLS; n++) {
    await killDuring(250, many('cancel', { status: 'scheduled' }), paused)
    // What has left the queue is rejected and counted, and nothing else is.
    const left = await ahead()
    expect(await count(`sending_recipient where status = 'rejected'`)).toBe(AHEAD - left)
    await statusCounts(tenant)
  }
  const left = await ahead()
  expect((await many('cancel', { status: 'scheduled' })())?.body).toMatchObject({ changed: left })
  expect(await statusCounts(tenant)).toEqual({ rejected: AHEAD })
  expect(smtp.messages).toEqual([])

  script.reply = undefined
  await world.end()
  await world.start()
  await expect.poll(() => smtp.messages.length, { timeout: 90_000 }).toBe(RETRIED)
  await expect
    .poll(() => count(`sending_recipient where status = 'delivered'`), { timeout: 90_000 })
    .toBe(RETRIED)
  expect(new Set(smtp.messages.flatMap(({ recipients }) => recipients)).size).toBe(RETRIED)
  expect(smtp.messages).toHaveLength(RETRIED)
  const { rows } = await sql.query(
    `select event, count(*)::int as n from webhooks_event group by event order by event`,
  )
  expect(rows).toEqual([
    { event: 'MAIL_DELIVERED', n: RETRIED },
    { event: 'SMTP_ERROR', n: RETRIED },
  ])
  expect(await statusCounts(tenant)).toEqual({ delivered: RETRIED, rejected: AHEAD })
})

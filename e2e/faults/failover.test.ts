/**
 * A primary that goes while mail is accepted, and its synchronous replica that is promoted. Real
 * servers, and one process of the service, which is told nothing.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSignal, findFreePort, type SmtpServer } from '@postrider/testkit'
import { runOnServer } from '@postrider/testkit/database'
import { createReplica, replicatedSettings } from '@postrider/testkit/postgres-replica'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createWorld, type World } from '../world.ts'

const TEST_MS = 120_000
const AT_ONCE = 4
const MAILS = 60

let directories: string[]
let primary: PostgresServer
let replica: PostgresServer
let world: World

beforeEach(async () => {
  directories = []
  const place = async () => {
    const directory = mkdtempSync(join(tmpdir(), 'postrider-failover-'))
    directories.push(directory)
    return { directory, port: await findFreePort() }
  }
  primary = createPostgresServer({
    ...(await place()),
    settings: replicatedSettings,
    isPrepared: true,
  })
  await primary.start()
  replica = await createReplica(primary, await place())
  await replica.start()
  // A commit is confirmed when both servers have it: only then does "nothing is lost" mean anything.
  await runOnServer(primary.url, `alter system set synchronous_standby_names = 'replica'`)
  await runOnServer(primary.url, 'select pg_reload_conf()')
  world = createWorld({
    ROLES: 'api,sender,dispatcher,janitor',
    DATABASE_URL: `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${replica.port}/postgres?target_session_attrs=read-write`,
    SEND_LEASE: '3s',
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  })
  await world.start()
}, TEST_MS)

afterEach(async () => {
  await world.destroy()
  await replica.stop()
  await primary.kill()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
}, TEST_MS)

it('[G1] after the primary was killed and its replica promoted, no accepted mail is lost, none is refused as unauthorized, and the service continues by itself', {
  timeout: TEST_MS,
}, async () => {
  await failOver(() => primary.kill())
})

it('[G2] after the primary froze and its replica was promoted, no mail is lost, and nothing waits for the old connections', {
  timeout: TEST_MS,
}, async () => {
  await failOver(async () => primary.freeze())
})

async function failOver(strike: () => Promise<void>): Promise<void> {
  const smtp = await world.newSmtpServer()
  const apiKey = await newTenant(smtp)
  const { apiKey: unused } = await world.newTenant()
  const load = startLoad(apiKey)
  await load.accepted(MAILS)

  await strike()
  await untilReady(503)
  expect(await listMailers(unused)).toBe(503)

  const struck = load.count()
  const promotedMs = performance.now()
  await runOnServer(replica.url, 'select pg_promote()')
  await load.accepted(struck + 1)
  const tookMs = Math.round(performance.now() - promotedMs)
  process.stdout.write(`first accept after the promotion: ${tookMs} ms\n`)
  await untilReady(200)
  await load.accepted(struck + MAILS)
  const addresses = await load.stop()

  expect(load.statuses()).toEqual([202, 503])
  expect(await listMailers(unused)).toBe(200)
  expect(world.service().process.end()).toBeUndefined()
  const lines = world.service().process.lines
  expect(lines.filter((line) => line.includes('database.primary_moved'))).toHaveLength(1)
  await smtp.waitFor(() => missing(smtp, addresses).length === 0, 60_000)
}

function missing(smtp: SmtpServer, addresses: readonly string[]): string[] {
  const arrived = new Set(smtp.messages.flatMap(({ recipients }) => recipients))
  return addresses.filter((address) => !arrived.has(address))
}

async function newTenant(smtp: SmtpServer): Promise<string> {
  const { apiKey, client } = await world.newTenant()
  await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  return apiKey
}

const call = (path: string, apiKey: string, init: RequestInit = {}) =>
  fetch(`${world.service().origin}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  })

async function listMailers(apiKey: string): Promise<number> {
  const response = await call('/v1/mailers', apiKey)
  await response.arrayBuffer()
  return response.status
}

async function untilReady(status: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${world.service().origin}/readyz`)
    await response.arrayBuffer()
    if (response.status === status) return
  }
}

/** Callers that send one mail after the other, whatever they are answered. */
function startLoad(apiKey: string) {
  const changed = createSignal()
  const accepted: string[] = []
  const statuses = new Set<number>()
  let isStopped = false
  let next = 0
  async function sendOne(): Promise<void> {
    next += 1
    const email = `r${next}@recipient.test`
    const body = {
      from: { email: 'news@sender.test' },
      to: [{ email }],
      subject: 'Offers',
      content: [{ type: 'text/plain', value: 'Offers' }],
    }
    const response = await call('/v1/email/send', apiKey, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    await response.arrayBuffer()
    statuses.add(response.status)
    if (response.status === 503) expect(response.headers.get('retry-after')).toMatch(/^\d+$/)
    if (response.status !== 202) return
    accepted.push(email)
    changed.notify()
  }
  const callers = Array.from({ length: AT_ONCE }, async () => {
    while (!isStopped) await sendOne()
  })
  return {
    count: () => accepted.length,
    accepted: (count: number) =>
      changed.until(() => accepted.length >= count, {
        timeoutMs: 60_000,
        describe: () => `${accepted.length} of ${count} accepted; answers: ${[...statuses]}`,
      }),
    statuses: () => [...statuses].sort(),
    async stop() {
      isStopped = true
      await Promise.all(callers)
      return accepted
    },
  }
}

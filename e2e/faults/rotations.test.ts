/**
 * `postrider secrets rotate` is killed in the middle, or runs twice at once
 * (docs/reference/running.md#secret-keys).
 */
import { randomBytes } from 'node:crypto'
import { Postrider } from '@postrider/client'
import { programs, type RunningProcess, startProcess } from '@postrider/testkit'
import { connectTo, createDatabase } from '@postrider/testkit/database'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { createWorld, type Tenant, type World, waitForEvents } from '../world.ts'

const { serverUrl, templateWithDays: template } = inject('testDatabase')
const keyOf = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [k1, k2] = [keyOf('k1'), keyOf('k2')]
const mailers = 8
const emailOf = (n: number) => `news-${n}@sender.test`

let database: Awaited<ReturnType<typeof createDatabase>>
type Session = Awaited<ReturnType<typeof connectTo>>

let sql: Session
/** Of its own: within one transaction the activity of others is seen once. */
let locker: Session
let world: World
beforeEach(async () => {
  database = await createDatabase({ serverUrl, template })
  sql = await connectTo(database.url)
  locker = await connectTo(database.url)
  world = createWorld({ DATABASE_URL: database.url, SECRET_KEYS: k1 })
})
afterEach(async () => {
  await Promise.all([sql.end(), locker.end()])
  await world.destroy()
  await database.close()
})

/** Passwords and a header sealed by k1, of a service that has meanwhile started with k2 as its first key. */
async function sealByOldKey(): Promise<Tenant> {
  await world.start()
  const smtp = await world.newSmtpServer({ auth: { users: { news: 'right' } } })
  const receiver = await world.newReceiver()
  const tenant = await world.newTenant()
  await tenant.client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { 'X-Key': 'secret-value' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  for (let n = 0; n < mailers; n++)
    await tenant.client.configureSMTP({
      name: `News ${n}`,
      email: emailOf(n),
      config_type: 'smtp',
      connection_type: 'basic',
      config: {
        host: '127.0.0.1',
        port: smtp.port,
        secure: 'None',
        username: 'news',
        password: 'right',
      },
      verify: false,
    })
  await world.end()
  await world.start({ SECRET_KEYS: `${k2},${k1}`, ROLES: 'api' })
  await world.end()
  delivered = (count) => waitForEvents(receiver, count)
  header = () => receiver.requests.at(-1)?.header('X-Key')
  return tenant
}
let delivered: (count: number) => ReturnType<typeof waitForEvents>
let header: () => string | undefined

async function rotate(): Promise<RunningProcess> {
  const env = { POSTRIDER_DATABASE_URL: database.url, POSTRIDER_SECRET_KEYS: `${k2},${k1}` }
  return await startProcess({ script: programs.cli, args: ['secrets', 'rotate', '--json'], env })
}

interface Rotation {
  readonly kinds: readonly { kind: string; rotated: number; unopened: number }[]
  readonly needless: readonly string[]
}

async function resultOf(running: RunningProcess): Promise<Rotation> {
  const end = await running.exited
  const printed = running.lines.join('\n')
  expect(end, printed).toEqual({ code: 0, signal: null })
  return JSON.parse(printed)
}

const countOf = ({ kinds }: Rotation, kind: string) =>
  kinds.find((one) => one.kind === kind)?.rotated
const unopenedIn = ({ kinds }: Rotation) => kinds.filter(({ unopened }) => unopened > 0)

/** Holds the rows until the answer is called. */
async function lock(rows: string): Promise<() => Promise<unknown>> {
  await locker.query('begin')
  await locker.query(`${rows} for update`)
  return () => locker.query('rollback')
}

/** How many sessions of the database fit. */
const untilSessions = (count: number, condition: string) =>
  expect
    .poll(
      async () => {
        const { rows } = await sql.query(
          `select count(*)::integer as n from pg_stat_activity
            where datname = current_database() and ${condition}`,
        )
        return rows[0].n
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBe(count)

const untilWaiting = (count: number) => untilSessions(count, "wait_event_type = 'Lock'")
/** The server ends the transaction of a killed process, and its locks, some time after the process. */
const untilRotating = (count: number) => untilSessions(count, "application_name = 'postrider cli'")

async function sealedBy(): Promise<unknown> {
  const { rows } = await sql.query(
    `select (select count(*)::integer from mailers_mailer where secret like '%v1.k1.%') as passwords,
            (select count(*)::integer from webhooks_subscription where headers_sealed like '%v1.k1.%')
              as headers`,
  )
  return rows[0]
}

/** With the new key alone. */
async function expectAllToWork({ apiKey }: Tenant): Promise<void> {
  await world.start({ SECRET_KEYS: k2 })
  const client = new Postrider({ apiKey, basePath: world.service().origin })
  for (let n = 0; n < mailers; n++)
    await client.sendEmail({
      from: { email: emailOf(n) },
      to: [{ email: `to-${n}@recipient.test` }],
      subject: 'Hello',
      content: [{ type: 'text/plain' as const, value: 'Hi.' }],
    })
  const events = await delivered(mailers)
  expect(new Set(events.map(({ event }) => event))).toEqual(new Set(['MAIL_DELIVERED']))
  expect(header()).toBe('secret-value')
}

describe('a rotation of secret keys', () => {
  it('[K1] a rotation of secret keys that is killed before or after a commit leaves every value readable, and is finished by the next', async () => {
    const tenant = await sealByOldKey()
    expect(await sealedBy()).toEqual({ passwords: mailers, headers: 1 })

    const releaseMailer = await lock(
      'select from mailers_mailer where mailer_id = (select max(mailer_id) from mailers_mailer)',
    )
    const first = await rotate()
    await untilWaiting(1)
    await first.kill()
    await releaseMailer()
    await untilRotating(0)
    expect(await sealedBy()).toEqual({ passwords: mailers, headers: 1 })

    const releaseWebhook = await lock('select from webhooks_subscription')
    const second = await rotate()
    await untilWaiting(1)
    await second.kill()
    await releaseWebhook()
    await untilRotating(0)
    expect(await sealedBy()).toEqual({ passwords: 0, headers: 1 })

    const third = await resultOf(await rotate())
    expect(unopenedIn(third)).toEqual([])
    expect(countOf(third, 'mailer passwords')).toBe(0)
    expect(countOf(third, 'webhook headers')).toBe(1)
    expect(third.needless).toEqual(['k1'])
    await expectAllToWork(tenant)
  }, 90_000)

  it('[K2] a rotation of secret keys beside a second rotation seals each value once, and both succeed', async () => {
    const tenant = await sealByOldKey()
    const release = await lock('select from mailers_mailer')
    const both = await Promise.all([rotate(), rotate()])
    await untilWaiting(2)
    await release()
    const results = await Promise.all(both.map(resultOf))
    expect(results.flatMap(unopenedIn)).toEqual([])
    const sumOf = (kind: string) =>
      results.reduce((sum, result) => sum + (countOf(result, kind) ?? 0), 0)
    expect(sumOf('mailer passwords')).toBe(mailers)
    expect(sumOf('webhook headers')).toBe(1)
    expect(await sealedBy()).toEqual({ passwords: 0, headers: 0 })
    expect(results.map(({ needless }) => needless)).toContainEqual(['k1'])
    await expectAllToWork(tenant)
  }, 90_000)
})

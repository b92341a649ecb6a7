/**
 * Mail that waits is seen: metrics, log, doctor and `/readyz` tell of it
 * (docs/reference/running.md#late-queues).
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSmtpServer, findFreePort, programs, startProcess } from '@postrider/testkit'
import { connectTo } from '@postrider/testkit/database'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWorld, type Tenant, type World } from './world.ts'

const secretKeys = `k1:${randomBytes(32).toString('base64')}`
/** The queue is looked at every 15 s, and is late when two looks find it so. */
const looks = { timeout: 60_000, interval: 250 }

let directory: string
let postgres: PostgresServer
let sql: Awaited<ReturnType<typeof connectTo>>
let world: World
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-queue-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  await postgres.start()
  world = createWorld({
    DATABASE_URL: postgres.url,
    SECRET_KEYS: secretKeys,
    SEND_RETRY_SCHEDULE: '1h',
  })
  await world.start()
  sql = await connectTo(postgres.url)
})
afterAll(async () => {
  await sql.end()
  await world.destroy()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

async function addMailer({ client }: Tenant, port: number): Promise<string> {
  const { mailer } = await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port, secure: 'None' },
    verify: false,
  })
  return mailer.mailer_id
}

async function send({ client }: Tenant, count: number): Promise<void> {
  for (let n = 0; n < count; n++)
    await client.sendEmail({
      from: { email: 'news@sender.test' },
      to: [{ email: `to-${n}@recipient.test` }],
      subject: 'Hello',
      content: [{ type: 'text/plain' as const, value: 'Hi.' }],
    })
}

async function metric(name: string): Promise<number> {
  const response = await fetch(`${world.service().origin}/metrics`)
  const lines = (await response.text()).split('\n')
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1))
}

function logged(message: string, mailerId: string): Record<string, unknown>[] {
  return world
    .service()
    .process.lines.filter((line) => line.includes(`"msg":"${message}"`))
    .map((line) => JSON.parse(line))
    .filter((line) => line.mailer_id === mailerId)
}

async function runDoctor(): Promise<string> {
  const running = await startProcess({
    script: programs.cli,
    args: ['doctor'],
    env: {
      POSTRIDER_DATABASE_URL: postgres.url,
      POSTRIDER_SECRET_KEYS: secretKeys,
      POSTRIDER_ADMIN_TOKEN: randomBytes(16).toString('hex'),
    },
  })
  await running.exited
  return running.lines.join('\n')
}

describe('the send queue of a running service', () => {
  it('shows six mails that wait for their stopped server, and logs the failure once', async () => {
    const smtp = await createSmtpServer()
    const tenant = await world.newTenant()
    const mailerId = await addMailer(tenant, smtp.port)
    await smtp.close()
    await send(tenant, 6)
    await expect.poll(() => logged('attempt.finished', mailerId).length, looks).toBe(6)
    await expect.poll(() => metric('postrider_send_queue{state="waiting"}'), looks).toBe(6)
    expect(await metric('postrider_send_queue{state="due"}')).toBe(0)
    expect(logged('mailer.failing', mailerId)).toMatchObject([{ level: 'warn', host: '127.0.0.1' }])
    expect(logged('send_queue.late', mailerId)).toEqual([])
    const doctor = await runDoctor()
    expect(doctor).toContain('0 due, 6 waiting for a later time, 0 held')
    expect(doctor).toContain(`mail of ${mailerId} of `)
    expect(doctor).toContain('waits for another attempt')
  }, 120_000)

  it('reports that it is late by one log line, metrics, doctor and readiness, also while paused', async () => {
    // So that what is due stays so.
    await world.end()
    await world.start({ SENDING: 'paused' })
    const tenant = await world.newTenant()
    const mailerId = await addMailer(tenant, await findFreePort())
    await send(tenant, 3)
    // As if it had been accepted two minutes ago.
    const moved = await sql.query(
      `update sending_queue set due_at = due_at - interval '2 minutes'
        where mailer_id = $1 and phase = 'waiting'`,
      [mailerId],
    )
    expect(moved.rowCount).toBe(3)
    await expect.poll(() => logged('send_queue.late', mailerId).length, looks).toBe(1)
    expect(logged('send_queue.late', mailerId)).toMatchObject([
      { level: 'warn', host: '127.0.0.1', due: 3 },
    ])
    await expect.poll(() => metric('postrider_send_queues_late'), looks).toBe(1)
    expect(await metric('postrider_send_queue{state="due"}')).toBe(3)
    expect(await metric('postrider_send_queue_oldest_due_seconds')).toBeGreaterThan(120)
    const ready = await fetch(`${world.service().origin}/readyz`)
    const body = await ready.json()
    expect(ready.status).toBe(200)
    expect(body).toMatchObject({
      details: { send_queue: expect.stringMatching(/^late: 1 mailer, the oldest due mail for 2m/) },
    })
    const doctor = await runDoctor()
    expect(doctor).toContain(`late (more than 1m): ${mailerId} of `)
    expect(logged('send_queue.late', mailerId)).toHaveLength(1)
  }, 120_000)
})

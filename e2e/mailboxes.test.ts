/** Connected mailboxes, through the whole service: what arrives in them is reported, once. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createDnsServer,
  type DnsServer,
  findFreePort,
  type WebhookReceiver,
} from '@postrider/testkit'
import { createDovecot, type Dovecot, dovecotHindrance } from '@postrider/testkit/mail-servers'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createInboundScene, incomingOf, letterOf } from './inbound-scene.ts'
import { sendSmtpTo } from './send-smtp.ts'
import { certificate, createWorld, type World } from './world.ts'

const hindrance = dovecotHindrance()
if (hindrance !== undefined) process.stderr.write(`SKIPPED, mailboxes at Dovecot: ${hindrance}\n`)

let directory: string
let postgres: PostgresServer
let world: World
let dns: DnsServer
let smtpPort: number
beforeAll(async () => {
  ;[dns, smtpPort] = await Promise.all([createDnsServer(), findFreePort()])
  directory = mkdtempSync(join(tmpdir(), 'postrider-mailboxes-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  await postgres.start()
  world = createWorld({
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DNS_SERVERS: dns.address,
    INBOUND_PORT: String(smtpPort),
    INBOUND_HOST: 'mx.postrider.test',
  })
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const email = 'ada@example.com'
const password = 'secret'

/** A mailbox that is watched, and the receiver of its webhook. */
async function connect(port: number, o: { readonly since?: string; readonly secure?: 'Tls' } = {}) {
  const [{ client }, receiver] = await Promise.all([world.newTenant(), world.newReceiver()])
  const { mailer } = await client.configureIMAP({
    name: 'Box',
    email,
    config_type: 'imap',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port, username: email, password, secure: o.secure ?? 'None' },
    webhook: { webhook_url: `${receiver.origin}/box`, method: 'POST' },
    ...(o.since === undefined ? {} : { since: o.since }),
  })
  return { client, receiver, mailer }
}

/** What was reported, in the order of its coming, once there is so much. */
async function told(receiver: WebhookReceiver, count: number): Promise<string[]> {
  const requests = await receiver.waitForRequests(count)
  return requests.map((one) => incomingOf(one).details.message_id)
}
const idOf = (name: string): string => `<${name}@sender.test>`

describe.skipIf(hindrance !== undefined)('[contract 3.5] a mailbox at Dovecot', () => {
  let dovecot: Dovecot
  beforeAll(async () => {
    dovecot = await createDovecot({ users: { [email]: password }, certificate })
    await dovecot.start()
  })
  afterAll(() => dovecot?.destroy())

  it('is watched: mail is reported once, over renumberings and a restart of Dovecot', async () => {
    dovecot.append(email, letterOf('old'))
    const { receiver, mailer } = await connect(dovecot.port, { secure: 'Tls' })
    dovecot.append(email, letterOf('first'))
    expect(await told(receiver, 1)).toEqual([idOf('first')])
    expect(receiver.requests[0]?.json).toMatchObject({
      event: 'INCOMING_EMAIL',
      details: {
        mailer_id: mailer.mailer_id,
        folder: 'INBOX',
        text: 'Text of first\n',
        thread_id: 'first@sender.test',
      },
    })
    expect(incomingOf(receiver.requests[0] as never).details.envelope).toBeUndefined()
    dovecot.doveadm(['mailbox', 'update', '-u', email, '--uid-validity', '7', 'INBOX'])
    dovecot.append(email, letterOf('second'))
    expect(await told(receiver, 2)).toEqual([idOf('first'), idOf('second')])
    await dovecot.stop()
    await dovecot.start()
    dovecot.append(email, letterOf('third'))
    expect(await told(receiver, 3)).toEqual(['first', 'second', 'third'].map(idOf))
  })
})

describe('[contract 3.5] a connected mailbox', () => {
  it('is deactivated when it refuses its login, with one event as a single object', async () => {
    const users: Record<string, string> = { [email]: password }
    const imap = await world.newImapServer({ auth: { users } })
    const { client, receiver, mailer } = await connect(imap.port)
    await imap.waitFor(({ idleConnections }) => idleConnections === 1)
    users[email] = 'another'
    imap.disconnect('BYE your password was changed')
    const [request] = await receiver.waitForRequests(1)
    expect(request?.json).toEqual({
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: mailer.mailer_id,
        config_type: 'imap',
        failed_reason: 'provider_auth_error',
        provider_error: expect.stringContaining('Authentication failed.'),
      },
    })
    expect(await client.getIMAPConfig(mailer.mailer_id)).toMatchObject({
      mailer: { state: 'deactivated' },
    })
    imap.deliver('INBOX', letterOf('meanwhile'))
    const config = { password: 'another' }
    const { logins } = imap
    await client.updateIMAP({ mailer_id: mailer.mailer_id, config })
    await receiver.waitForRequests(2)
    expect(incomingOf(receiver.requests[1] as never).details.message_id).toBe(idOf('meanwhile'))
    expect(imap.logins).toBeGreaterThan(logins)
  })

  it('is watched by one of two processes, and its mail is reported once', async () => {
    const beside = await findFreePort()
    await world.startBeside({ INBOUND_PORT: String(beside) })
    const imap = await world.newImapServer()
    const { receiver } = await connect(imap.port)
    const scene = await createInboundScene({ world, dns })
    await imap.waitFor(({ idleConnections }) => idleConnections === 1)
    const ids = Array.from({ length: 20 }, (_, i) => `shared-${i}`)
    const to = [`desk@${scene.domain}`]
    for (const id of ids) imap.deliver('INBOX', letterOf(id))
    for (const [i, id] of ids.entries()) {
      const letter = { from: 'ada@sender.test', to, raw: letterOf(id) }
      // Half of them by the one, half by the other, and each by both.
      for (const port of i % 2 === 0 ? [smtpPort, beside] : [beside, smtpPort])
        expect((await sendSmtpTo(port, letter)).message).toMatch(/^250 /)
    }
    imap.deliver('INBOX', letterOf('last'))
    await sendSmtpTo(beside, { from: 'ada@sender.test', to, raw: letterOf('last') })
    const all = [...ids, 'last'].map(idOf).toSorted()
    expect((await told(receiver, all.length)).toSorted()).toEqual(all)
    expect((await told(scene.receiver, all.length)).toSorted()).toEqual(all)
    expect(imap.openConnections).toBe(1)
  })
})

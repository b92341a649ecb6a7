/**
 * Opens that are answered from a tracker's disk, and the tracker killed at each place between the
 * request and its event. A hit that was answered is reported once; a hit without an answer may be reported once.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, type WebhookReceiver } from '@postrider/testkit'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createWorld, type World, waitForEvents } from '../world.ts'

const TEST_MS = 90_000

let directory: string
let postgres: PostgresServer
let world: World
let port: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-hits-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  port = String(await findFreePort())
  world = createWorld({
    ROLES: 'api,sender,dispatcher,janitor',
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    // Of whichever tracker is there.
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    TRACKER_DURABILITY: 'disk',
    DATA_DIR: join(directory, 'service'),
  })
  await postgres.start()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const tracker = (failpoint?: string, o: { readonly port?: string } = {}) =>
  world.startBeside({
    ROLES: 'tracker',
    PORT: o.port ?? port,
    ...(failpoint === undefined ? {} : { FAILPOINTS: `${failpoint}=kill` }),
  })

interface Mail {
  readonly receiver: WebhookReceiver
  readonly pixel: string
}

async function receive(): Promise<Mail> {
  const smtp = await world.newSmtpServer()
  const receiver = await world.newReceiver()
  const { client } = await world.newTenant()
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events: { open: true } },
  })
  await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  await client.sendEmail({
    from: { email: 'news@sender.test' },
    to: [{ email: 'ada@recipient.test' }],
    subject: 'Offers',
    content: [{ type: 'text/html', value: '<p>Offers</p>' }],
    settings: { open_tracking: true },
  })
  const [message] = await smtp.waitForMessages(1)
  const text = message?.raw.toString('latin1').replace(/=\r\n/g, '') ?? ''
  return { receiver, pixel: /http:[^"\s]+\/t\/o\/[\w-]+\.gif/.exec(text)?.[0] ?? '' }
}

/** The status; 0 where nobody answered. */
const open = ({ pixel }: Mail) =>
  fetch(pixel).then(
    ({ status }) => status,
    () => 0,
  )

/** All that there is to tell, and nothing after it: another open goes the same way. */
async function expectOpens(mail: Mail, count: number): Promise<void> {
  await waitForEvents(mail.receiver, count)
  expect(await open(mail)).toBe(200)
  const told = await waitForEvents(mail.receiver, count + 1)
  expect(told.map(({ event }) => event)).toEqual(Array(count + 1).fill('MAIL_OPENED'))
  const times = told.map(({ details }) => (details.tracking as { readonly time: string }).time)
  expect(new Set(times).size).toBe(count + 1)
}

it('[H1] a hit is reported by the next tracker when one is killed after writing it, before the answer', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('hit.after_append')
  const mail = await receive()
  expect(await open(mail)).toBe(0)
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await tracker()
  await expectOpens(mail, 1)
})

it.each([
  ['hit.before_commit', 'written, before the commit'],
  ['hit.after_commit', 'committed, before its file is removed'],
])(
  '[H2] a hit is reported once when a tracker is killed after the answer, at %s: %s',
  {
    timeout: TEST_MS,
  },
  async (failpoint) => {
    const dying = await tracker(failpoint)
    const mail = await receive()
    expect(await open(mail)).toBe(200)
    expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
    await tracker()
    await expectOpens(mail, 1)
  },
)

it('[H3] a hit is reported once when two trackers share a directory and one is killed', {
  timeout: TEST_MS,
}, async () => {
  const dying = await tracker('hit.before_commit')
  const mail = await receive()
  await tracker(undefined, { port: '0' })
  expect(await open(mail)).toBe(200)
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await tracker()
  await expectOpens(mail, 1)
})

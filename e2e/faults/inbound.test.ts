/**
 * Mail that is received from bad peers, and by processes that are killed at each place between its last
 * byte and its event. A server comes again until it has been answered 250, a mailbox keeps what is in it:
 * from then on it is the service that must not lose it. Each message is reported once.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDnsServer, type DnsServer, findFreePort } from '@postrider/testkit'
import { connectTo } from '@postrider/testkit/database'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createInboundScene, type InboundScene, incomingOf, letterOf } from '../inbound-scene.ts'
import { openSmtp, sendSmtpTo } from '../send-smtp.ts'
import { createWorld, type World } from '../world.ts'

const TEST_MS = 90_000
const BYTES_MAX = 200_000
/** As by default. */
const RECIPIENTS_MAX = 100

let directory: string
let postgres: PostgresServer
let dns: DnsServer
let world: World
let smtpPort: number
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-inbound-faults-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  dns = await createDnsServer()
  smtpPort = await findFreePort()
  world = createWorld({
    ROLES: 'api,dispatcher,janitor',
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    DNS_SERVERS: dns.address,
    INBOUND_HOST: 'mx.postrider.test',
    INBOUND_PORT: String(smtpPort),
    INBOUND_MAX_BYTES: String(BYTES_MAX),
  })
  await postgres.start()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const receiving = (failpoint?: string, roles = 'inbound') =>
  world.startBeside({
    ROLES: roles,
    ...(failpoint === undefined ? {} : { FAILPOINTS: `${failpoint}=kill` }),
  })
/** As if the time had passed for which a killed process has what it took. */
async function endLeases(): Promise<void> {
  const sql = await connectTo(postgres.url)
  try {
    await sql.query('update inbound_queue set busy_until = now() where busy_until > now()')
  } finally {
    await sql.end()
  }
}

const letterTo = ({ domain }: InboundScene, id: string, o?: Parameters<typeof letterOf>[1]) => ({
  from: 'ada@sender.test',
  to: [`desk@${domain}`],
  raw: letterOf(id, o),
})

/** These, and nothing more with another that comes after them. */
async function expectOnly({ receiver, ...scene }: InboundScene, ...ids: readonly string[]) {
  const letter = letterTo({ receiver, ...scene }, 'last')
  expect((await sendSmtpTo(smtpPort, letter)).message).toMatch(/^250 /)
  await receiver.waitFor((one) => incomingOf(one).details.message_id === '<last@sender.test>')
  const bodies = new Map(receiver.requests.map((one) => [one.body.toString(), incomingOf(one)]))
  const told = [...bodies.values()].map(({ details }) => details.message_id)
  expect(told.toSorted()).toEqual([...ids, 'last'].map((id) => `<${id}@sender.test>`).toSorted())
}

it('[I1] DATA that drips on many connections delays no other peer', {
  timeout: TEST_MS,
}, async () => {
  await receiving()
  const scene = await createInboundScene({ world, dns })
  const letter = letterTo(scene, 'dripped')
  const dripping = await Promise.all(Array.from({ length: 40 }, () => openSmtp(smtpPort)))
  for (const client of dripping) {
    await client.ask(`MAIL FROM:<${letter.from}>`)
    await client.ask(`RCPT TO:<${letter.to[0]}>`)
    await client.ask('DATA')
    void client.drip(letter.raw.repeat(100), 5)
  }
  expect((await sendSmtpTo(smtpPort, letterTo(scene, 'quick'))).message).toMatch(/^250 /)
  await scene.receiver.waitForRequests(1)
  expect(dripping.map((client) => client.unread()).join('')).toBe('')
  for (const client of dripping) client.close()
  await expectOnly(scene, 'quick')
})

it('[I2] 20,000 recipients are refused beyond the limit, and those below it are stored', {
  timeout: TEST_MS,
}, async () => {
  await receiving()
  const scene = await createInboundScene({ world, dns })
  const client = await openSmtp(smtpPort)
  await client.ask('MAIL FROM:<ada@sender.test>')
  const to = Array.from({ length: 20_000 }, (_, i) => `r${i}@${scene.domain}`)
  client.send(to.map((one) => `RCPT TO:<${one}>\r\n`).join(''))
  client.send('DATA\r\n')
  const replies = (await client.see(/^354 .*\r\n/m)).split('\r\n')
  expect(replies.filter((line) => line.startsWith('250 2.1.5'))).toHaveLength(RECIPIENTS_MAX)
  expect(replies.filter((line) => line.startsWith('452 4.5.3'))).toHaveLength(
    20_000 - RECIPIENTS_MAX,
  )
  expect(await client.ask(`${letterOf('hundred')}.`)).toMatch(/^250 /)
  client.close()
  const [request] = await scene.receiver.waitForRequests(1)
  expect(incomingOf(request as never).details.envelope?.to).toEqual(to.slice(0, RECIPIENTS_MAX))
  await expectOnly(scene, 'hundred')
})

it('[I2] a message that is too large is refused, announced or not, and the next is accepted', {
  timeout: TEST_MS,
}, async () => {
  await receiving()
  const scene = await createInboundScene({ world, dns })
  const client = await openSmtp(smtpPort)
  const size = `SIZE=${BYTES_MAX + 1}`
  expect(await client.ask(`MAIL FROM:<ada@sender.test> ${size}`)).toMatch(/^552 5\.3\.4/)
  client.close()
  const body = `${'x'.repeat(76)}\r\n`.repeat((16 * BYTES_MAX) / 78)
  const large = await sendSmtpTo(smtpPort, letterTo(scene, 'large', { body }))
  expect(large.message).toMatch(/^552 5\.3\.4/)
  await expectOnly(scene)
})

it('[I9] a message is reported once when a process is killed after storing it, before its 250', {
  timeout: TEST_MS,
}, async () => {
  const dying = await receiving('inbound.after_store')
  const scene = await createInboundScene({ world, dns })
  const letter = letterTo(scene, 'unanswered')
  await expect(sendSmtpTo(smtpPort, letter)).rejects.toThrow()
  expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
  await receiving()
  expect((await sendSmtpTo(smtpPort, letter)).message).toMatch(/^250 /)
  // The killed process may have taken it: the next one gets it when that lease is over.
  await scene.receiver.waitForRequests(1, TEST_MS)
  await expectOnly(scene, 'unanswered')
})

it.each(['inbound.after_claim', 'inbound.before_commit', 'inbound.after_commit'])(
  '[I6] a message is reported once by the next process when one is killed at %s, after the 250',
  { timeout: TEST_MS },
  async (failpoint) => {
    const dying = await receiving(failpoint)
    const scene = await createInboundScene({ world, dns })
    const letter = letterTo(scene, 'interrupted')
    expect((await sendSmtpTo(smtpPort, letter)).message).toMatch(/^250 /)
    expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })
    await endLeases()
    await receiving()
    await scene.receiver.waitForRequests(1, TEST_MS)
    await expectOnly(scene, 'interrupted')
  },
)
it('[I10] each message is reported once when the server of a mailbox says goodbye, cuts answers off and renumbers', {
  timeout: TEST_MS,
}, async () => {
  await receiving(undefined, 'mailbox')
  const imap = await world.newImapServer()
  const [{ client }, receiver] = await Promise.all([world.newTenant(), world.newReceiver()])
  await client.configureIMAP({
    name: 'Box',
    email: 'ada@example.com',
    config_type: 'imap',
    connection_type: 'basic',
    config: {
      ...{ host: '127.0.0.1', port: imap.port, secure: 'None' },
      ...{ username: 'ada@example.com', password: 'secret' },
    },
    webhook: { webhook_url: `${receiver.origin}/box`, method: 'POST' },
  })
  await imap.waitFor(({ idleConnections }) => idleConnections === 1)
  const faults = [
    { piecesMax: 1, raw: '* BYE not now\r\n', ending: 'fin' },
    { bytesMax: 300, ending: 'rst' },
  ] as const
  let left: number = faults.length
  imap.setScript(({ command, answer }) => {
    // What carries messages, and not only their numbers.
    const isLong = answer.some((piece) => piece.includes('About '))
    if (command !== 'UID FETCH' || !isLong || left === 0) return undefined
    left -= 1
    return faults[left]
  })
  const ids = Array.from({ length: 10 }, (_, i) => `boxed-${i}`)
  for (const id of ids) imap.deliver('INBOX', letterOf(id))
  const told = (): string[] =>
    receiver.requests
      .map(({ json }) => json as { event: string; details: { message_id: string } })
      .filter(({ event }) => event === 'INCOMING_EMAIL')
      .map(({ details }) => details.message_id)
  await receiver.waitUntil(() => new Set(told()).size === ids.length, TEST_MS)
  expect(left).toBe(0)
  imap.account().renumber('INBOX')
  imap.deliver('INBOX', letterOf('after'))
  await receiver.waitUntil(() => told().includes('<after@sender.test>'), TEST_MS)
  imap.deliver('INBOX', letterOf('last'))
  await receiver.waitUntil(() => told().includes('<last@sender.test>'), TEST_MS)
  expect(told().toSorted()).toEqual(
    [...ids, 'after', 'last'].map((id) => `<${id}@sender.test>`).toSorted(),
  )
})

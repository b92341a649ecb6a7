/**
 * The IMAP client library against Dovecot and against the scripted server of the tests: what holds
 * for the one holds for the other, so that tests with the scripted one are worth something.
 */
import { readFileSync } from 'node:fs'
import { createImapServer } from '@postrider/testkit'
import { createDovecot, dovecotHindrance } from '@postrider/testkit/mail-servers'
import { ImapFlow, type MailboxObject } from 'imapflow'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Peer {
  readonly port: number
  readonly tlsPort: number
  append(username: string, raw: string): unknown
  renumber(username: string): unknown
  log(): string
  stop(): Promise<unknown>
}

const pem = (name: string) =>
  readFileSync(new URL(`../../testkit/certs/${name}`, import.meta.url), 'utf8')
const certificate = { key: pem('localhost.key'), cert: pem('localhost.pem') }
const pass = 'secret'
const users = Object.fromEntries(
  ['plain', 'search', 'idle', 'append', 'create', 'renumber', 'folders'].map((name) => [
    name,
    pass,
  ]),
)

async function startDovecot(): Promise<Peer> {
  const dovecot = await createDovecot({ users, certificate })
  await dovecot.start()
  const renumber = (username: string) =>
    dovecot.doveadm(['mailbox', 'update', '-u', username, '--uid-validity', '7', 'INBOX'])
  return { ...dovecot, renumber, stop: dovecot.destroy }
}

async function startScripted(): Promise<Peer> {
  const auth = { users }
  const [plain, secure] = await Promise.all([
    createImapServer({ auth, tls: { mode: 'starttls', ...certificate } }),
    createImapServer({ auth, tls: { mode: 'implicit', ...certificate } }),
  ])
  for (const username of Object.keys(users)) plain.account(username).addFolder('Sent', '\\Sent')
  return {
    port: plain.port,
    tlsPort: secure.port,
    append: (username, raw) => plain.account(username).deliver('INBOX', raw),
    renumber: (username) => plain.account(username).renumber('INBOX'),
    log: () => '',
    stop: () => Promise.all([plain.close(), secure.close()]),
  }
}

const hindrance = dovecotHindrance()
if (hindrance !== undefined)
  process.stderr.write(`SKIPPED, the IMAP client against Dovecot: ${hindrance}\n`)

describe.each([
  { name: 'Dovecot', skip: hindrance !== undefined, start: startDovecot },
  { name: 'the scripted server', skip: false, start: startScripted },
])('against $name', ({ skip, start }) => {
  let peer: Peer
  const clients: ImapFlow[] = []
  beforeAll(async () => {
    if (!skip) peer = await start()
  })
  afterAll(async () => {
    for (const client of clients) client.close()
    await peer?.stop()
  })

  const raw = (id: string): string =>
    `From: a@x.test\r\nMessage-ID: <${id}@x.test>\r\nSubject: ${id}\r\n\r\n.\r\nbody of ${id}, äöü\r\n`

  async function enter(user: string, o: { secure?: boolean; pass?: string } = {}) {
    const client = new ImapFlow({
      host: '127.0.0.1',
      port: o.secure === true ? peer.tlsPort : peer.port,
      secure: o.secure ?? false,
      auth: { user, pass: o.pass ?? pass },
      tls: { ca: pem('ca.pem') },
      logger: false,
    })
    clients.push(client)
    await client.connect()
    return client
  }
  const opened = (client: ImapFlow): MailboxObject => {
    if (client.mailbox === false) throw new Error('no mailbox is open')
    return client.mailbox
  }

  it.skipIf(skip)(
    'logs in over STARTTLS and over TLS, and reads the code of a refusal',
    async () => {
      const client = await enter('plain')
      expect(client.secureConnection).toBe(true)
      await client.logout()
      expect((await enter('plain', { secure: true })).usable).toBe(true)
      await expect(enter('plain', { pass: 'wrong' })).rejects.toMatchObject({
        authenticationFailed: true,
        serverResponseCode: 'AUTHENTICATIONFAILED',
      })
    },
  )

  it.skipIf(skip)('lists folders with their use', async () => {
    const client = await enter('folders')
    const listed = await client.list()
    expect(listed.map(({ path, specialUse }) => ({ path, specialUse }))).toEqual([
      { path: 'INBOX', specialUse: '\\Inbox' },
      { path: 'Sent', specialUse: '\\Sent' },
    ])
    await expect(client.mailboxOpen('Nowhere')).rejects.toMatchObject({ responseStatus: 'NO' })
    expect(await client.status('INBOX', { messages: true, uidNext: true })).toMatchObject({
      messages: 0,
      uidNext: 1,
    })
  })

  it.skipIf(skip)('fetches messages byte for byte, with UID, date and size', async () => {
    await peer.append('search', raw('one'))
    await peer.append('search', raw('two'))
    const client = await enter('search')
    await client.mailboxOpen('INBOX', { readOnly: true })
    expect(opened(client)).toMatchObject({ exists: 2, uidNext: 3, readOnly: true })
    const query = { uid: true, source: true, size: true, internalDate: true, flags: true }
    const found = await client.fetchAll('2:*', query, { uid: true })
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ uid: 2, seq: 2, size: Buffer.byteLength(raw('two')) })
    expect(found[0]?.source?.toString()).toBe(raw('two'))
    expect(found[0]?.internalDate).toBeInstanceOf(Date)
    const header = { 'message-id': '<one@x.test>' }
    expect(await client.search({ header }, { uid: true })).toEqual([1])
    const yesterday = new Date(Date.now() - 86_400_000)
    expect(await client.search({ since: yesterday }, { uid: true })).toEqual([1, 2])
    expect(await client.search({ uid: '2:*' }, { uid: true })).toEqual([2])
  })

  it.skipIf(skip)('notices new mail in IDLE', async () => {
    const client = await enter('idle')
    await client.mailboxOpen('INBOX')
    const told = new Promise<number>((resolve) =>
      client.on('exists', ({ count }) => resolve(count)),
    )
    const idling = client.idle()
    await peer.append('idle', raw('one'))
    expect(await told).toBe(1)
    await client.noop()
    await idling
    expect(await client.fetchOne('1', { source: true })).toMatchObject({ uid: 1 })
  })

  it.skipIf(skip)('appends mail, and reads its UID', async () => {
    const client = await enter('append')
    const { uidValidity } = await client.mailboxOpen('INBOX')
    const appended = await client.append('INBOX', raw('mine'), ['\\Seen'])
    expect(appended).toMatchObject({ uid: 1, uidValidity })
    const message = await client.fetchOne('1', { source: true, flags: true }, { uid: true })
    if (!message) throw new Error('there is no message')
    expect(message.flags?.has('\\Seen')).toBe(true)
    expect(message.source?.toString()).toBe(raw('mine'))
  })

  it.skipIf(skip)('creates a folder once', async () => {
    const client = await enter('create')
    expect(await client.mailboxCreate('Done')).toMatchObject({ path: 'Done', created: true })
    expect(await client.mailboxCreate('Done')).toEqual({ path: 'Done', created: false })
    expect(await client.append('Done', raw('mine'))).toMatchObject({ uid: 1 })
  })

  it.skipIf(skip)('notices new UIDs by UIDVALIDITY', async () => {
    await peer.append('renumber', raw('one'))
    const before = await (await enter('renumber')).mailboxOpen('INBOX')
    await peer.renumber('renumber')
    const after = await (await enter('renumber')).mailboxOpen('INBOX')
    expect(after).toMatchObject({ exists: 1 })
    expect(after.uidValidity).not.toBe(before.uidValidity)
  })
})

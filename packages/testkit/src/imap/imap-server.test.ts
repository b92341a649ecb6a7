import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createOAuthServer } from '../oauth-server.ts'
import { createRawClient, type RawClient } from '../raw-client.ts'
import { createImapServer, type ImapServer, type ImapServerOptions } from './imap-server.ts'

const certificate = (name: string): string =>
  readFileSync(new URL(`../../certs/${name}`, import.meta.url), 'utf8')
const pair = { key: certificate('localhost.key'), cert: certificate('localhost.pem') }
const mail = (id: number, more = ''): string =>
  `Message-ID: <${id}@x.test>\r\nSubject: mail ${id}\r\n${more}\r\nbody ${id}\r\n`

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function serve(o: ImapServerOptions = {}): Promise<ImapServer> {
  const server = await createImapServer(o)
  closers.push(() => server.close())
  return server
}

async function dial(server: ImapServer): Promise<RawClient> {
  const client = createRawClient(server.port)
  closers.push(client.close)
  await client.see(/^\* OK .*\r\n/)
  return client
}

/** Gives a command and resolves with everything up to its end. */
function tell(client: RawClient, command: string): Promise<string> {
  client.send(`a ${command}\r\n`)
  return client.see(/^a (?:OK|NO|BAD).*\r\n$/m)
}

async function enter(server: ImapServer, folder = 'INBOX'): Promise<RawClient> {
  const client = await dial(server)
  await tell(client, 'LOGIN ada@example.com secret')
  await tell(client, `SELECT ${folder}`)
  return client
}

describe('IMAP server', () => {
  it('accepts commands with literals, quotes and lists, and refuses malformed ones', async () => {
    const server = await serve()
    const client = await dial(server)
    client.send('a LOGIN {15}\r\n')
    await client.see(/^\+ /)
    client.send('ada@example.com {6+}\r\nsecret\r\n')
    await client.see(/^a OK \[CAPABILITY IMAP4rev1 .*\] logged in\r\n$/)
    expect(await tell(client, 'LIST "" "INB*"')).toContain('* LIST (\\HasNoChildren) "/" "INBOX"')
    expect(await tell(client, 'STATUS INBOX (UIDNEXT (')).toBe('a BAD syntax\r\n')
    expect(await tell(client, 'FROB')).toBe('a BAD unknown command\r\n')
    expect(await tell(client, 'SELECT Nothing')).toMatch(/^a NO \[NONEXISTENT\]/)
    expect(await tell(client, 'LOGOUT')).toBe('* BYE see you\r\na OK bye\r\n')
    expect(await client.end()).toBe('fin')
  })

  it('returns messages as they were put in, whole or in part', async () => {
    const server = await serve()
    const raw = mail(1, 'References: <a@x.test>\r\n <b@x.test>\r\n')
    server.deliver('INBOX', raw, { internalDate: new Date('2026-11-20T10:00:00Z') })
    const client = await enter(server)
    const items = 'INTERNALDATE RFC822.SIZE BODY.PEEK[HEADER.FIELDS (References)] BODY.PEEK[]<0.10>'
    expect(await tell(client, `UID FETCH 1:* (${items})`)).toBe(
      `* 1 FETCH (UID 1 INTERNALDATE "20-Nov-2026 10:00:00 +0000" RFC822.SIZE ${raw.length} BODY[HEADER.FIELDS (REFERENCES)] {39}\r\nReferences: <a@x.test>\r\n <b@x.test>\r\n\r\n BODY[]<0> {10}\r\nMessage-ID)\r\na OK done\r\n`,
    )
    expect(await tell(client, 'UID FETCH 1 BODY.PEEK[]')).toBe(
      `* 1 FETCH (UID 1 BODY[] {${raw.length}}\r\n${raw})\r\na OK done\r\n`,
    )
    expect(await tell(client, 'UID FETCH 1 ENVELOPE')).toBe('a BAD an item is not known\r\n')
  })

  it('searches by header, date, flag and UID', async () => {
    const server = await serve()
    for (const day of [1, 2, 3])
      server.deliver('INBOX', mail(day), { internalDate: new Date(Date.UTC(2026, 10, day)) })
    server.account().addFlags('INBOX', 2, ['\\Seen'])
    const client = await enter(server)
    const found = async (keys: string): Promise<string | undefined> =>
      /^\* SEARCH ?(.*)\r\n/m.exec(await tell(client, `UID SEARCH ${keys}`))?.[1]
    expect(await found('ALL')).toBe('1 2 3')
    expect(await found('HEADER Message-ID "<2@x.test>"')).toBe('2')
    expect(await found('SINCE 2-Nov-2026')).toBe('2 3')
    expect(await found('UNSEEN BEFORE 3-Nov-2026')).toBe('1')
    expect(await found('OR SEEN NOT UID 1:2')).toBe('2 3')
    expect(await found('UID 7:*')).toBe('3')
    expect(await tell(client, 'UID SEARCH NEARBY')).toBe('a BAD a search key is not known\r\n')
  })

  it('announces changes to clients in IDLE, and to others when they ask', async () => {
    const server = await serve()
    const [idle, asking] = await Promise.all([enter(server), enter(server)])
    idle.send('i IDLE\r\n')
    await idle.see(/^\+ idling\r\n/)
    server.deliver('INBOX', mail(1))
    await idle.see(/^\* 1 EXISTS\r\n$/)
    server.deliver('INBOX', mail(2))
    await idle.see(/^\* 2 EXISTS\r\n$/)
    server.account().expunge('INBOX', 1)
    await idle.see(/^\* 1 EXPUNGE\r\n$/)
    expect(server.idleConnections).toBe(1)
    expect(asking.unread()).toBe('')
    expect(await tell(asking, 'NOOP')).toBe('* 1 EXISTS\r\na OK done\r\n')
    idle.send('DONE\r\n')
    await idle.see(/^i OK/)
    expect(await tell(idle, 'UID FETCH 1:* UID')).toBe('* 1 FETCH (UID 2)\r\na OK done\r\n')
  })

  it('accepts mail by APPEND', async () => {
    const server = await serve()
    const client = await enter(server)
    const raw = mail(1)
    client.send(`a APPEND INBOX (\\Seen) "20-Nov-2026 10:00:00 +0000" {${raw.length}}\r\n`)
    await client.see(/^\+/)
    client.send(`${raw}\r\n`)
    expect(await client.see(/^a .*\r\n$/m)).toMatch(
      /^\* 1 EXISTS\r\na OK \[APPENDUID \d+ 1\] done\r\n$/,
    )
    expect(server.account().folders.get('INBOX')?.messages[0]?.raw.toString()).toBe(raw)
  })

  it('gives new UIDs under a new UIDVALIDITY, and lies on request', async () => {
    const server = await serve()
    for (const id of [1, 2]) server.deliver('INBOX', mail(id))
    server.account().expunge('INBOX', 1)
    const client = await enter(server)
    const ask = async (one: RawClient) =>
      /\(UIDVALIDITY (\d+) UIDNEXT (\d+) MESSAGES (\d+)\)/
        .exec(await tell(one, 'STATUS INBOX (UIDVALIDITY UIDNEXT MESSAGES)'))
        ?.slice(1)
        .map(Number)
    const [validity = 0, ...before] = (await ask(client)) ?? []
    expect(before).toEqual([3, 1])
    server.account().renumber('INBOX')
    await client.see(/^\* BYE/)
    const again = await enter(server)
    expect(await ask(again)).toEqual([validity + 1, 2, 1])
    server.account().lie('INBOX', { uidNext: 99, exists: 7 })
    expect(await ask(again)).toEqual([validity + 1, 99, 7])
  })

  it('accepts the tokens of an OAuth provider, and refuses others as providers do', async () => {
    const oauth = await createOAuthServer()
    closers.push(() => oauth.close())
    const server = await serve({
      auth: { users: {}, tokens: oauth.accepts, mechanisms: ['XOAUTH2'] },
    })
    const say = (token: string): string =>
      Buffer.from(`user=ada@example.com\u0001auth=Bearer ${token}\u0001\u0001`).toString('base64')
    const response = await fetch(oauth.tokenUrl, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: oauth.grant('ada@example.com'),
        client_id: oauth.clientId,
        client_secret: oauth.clientSecret,
      }),
    })
    const { access_token } = (await response.json()) as { access_token: string }
    const client = await dial(server)
    client.send(`a AUTHENTICATE XOAUTH2 ${say('wrong')}\r\n`)
    const [, challenge = ''] = /^\+ (\S+)\r\n$/.exec(await client.see(/^\+ .*\r\n/)) ?? []
    expect(Buffer.from(challenge, 'base64').toString()).toContain('"status":"400"')
    client.send('\r\n')
    await client.see(/^a NO \[AUTHENTICATIONFAILED\]/)
    expect(await tell(client, `AUTHENTICATE XOAUTH2 ${say(access_token)}`)).toMatch(/^a OK/)
    expect(server.logins).toBe(1)
  })

  it('upgrades to TLS, and refuses logins before it on request', async () => {
    const server = await serve({
      tls: { mode: 'starttls', ...pair },
      auth: { users: { 'ada@example.com': 'secret' }, tlsOnly: true },
    })
    const bare = await dial(server)
    expect(await tell(bare, 'CAPABILITY')).toMatch(/ STARTTLS LOGINDISABLED /)
    await tell(bare, 'STARTTLS')
    const secure = await bare.startTls({ ca: certificate('ca.pem'), host: 'localhost' })
    closers.push(secure.close)
    expect(await tell(secure, 'CAPABILITY')).not.toMatch(/STARTTLS|LOGINDISABLED/)
    expect(await tell(secure, 'LOGIN ada@example.com secret')).toMatch(/^a OK/)
  })

  it('refuses, cuts, stalls and sends garbage on request', async () => {
    const server = await serve()
    for (const id of [1, 2]) server.deliver('INBOX', mail(id))
    const fetches = async (script: Parameters<ImapServer['setScript']>[0]): Promise<RawClient> => {
      const client = await enter(server)
      server.setScript((context) =>
        context.command === 'UID FETCH' ? script?.(context) : undefined,
      )
      client.send('a UID FETCH 1:2 (UID BODY.PEEK[])\r\n')
      return client
    }
    const byeBetween = await fetches(() => ({ piecesMax: 1, raw: '* BYE now\r\n', ending: 'fin' }))
    expect(await byeBetween.see(/BYE/)).toMatch(/^\* 1 FETCH [^*]*\)\r\n\* BYE now\r\n$/)
    expect(await byeBetween.end()).toBe('fin')

    const cutOff = await fetches(() => ({ bytesMax: 60, ending: 'rst' }))
    expect(await cutOff.end()).toBe('reset')
    expect(cutOff.unread()).toHaveLength(60)

    let isOpen = false
    const gate = Promise.withResolvers<void>()
    const stalled = await fetches(() => ({ after: gate.promise }))
    await setImmediate()
    isOpen = stalled.unread() === ''
    gate.resolve()
    await stalled.see(/a OK/)
    expect(isOpen).toBe(true)

    await (await fetches(() => 'garbage')).see(/HTTP/)
    const line = await fetches(() => ({ raw: 'x', endless: true }))
    await line.see(/x{1000}/)
    line.close()
    const literal = await fetches(() => ({
      before: '* 1 FETCH (UID 1 BODY[] {999999999}\r\n',
      piecesMax: 0,
      raw: 'y',
      endless: true,
    }))
    await literal.see(/\{999999999\}\r\ny{1000}/)
    literal.close()
    await (await fetches(() => ({ dripMs: 1 }))).see(/a OK/)

    server.setScript(({ command, secret }) =>
      command === 'LOGIN' ? `NO [ALERT] go to the web with ${secret}` : undefined,
    )
    const refused = await dial(server)
    expect(await tell(refused, 'LOGIN ada@example.com secret')).toBe(
      'a NO [ALERT] go to the web with secret\r\n',
    )
    expect(server.count('LOGIN')).toBe(server.logins + 1)
  })

  it('refuses connections beyond its limit', async () => {
    const server = await serve({ connectionsMax: 1 })
    await dial(server)
    const another = createRawClient(server.port)
    await another.see(/^\* BYE \[UNAVAILABLE\] Too many simultaneous connections\.\r\n$/)
    expect(await another.end()).toBe('fin')
  })

  it('ends connections on request', async () => {
    const server = await serve()
    const client = await enter(server)
    client.send('i IDLE\r\n')
    await client.see(/idling/)
    server.disconnect('BYE [UNAVAILABLE] maintenance', 'ada@example.com')
    await client.see(/^\* BYE \[UNAVAILABLE\] maintenance\r\n/)
    await server.waitFor(({ openConnections }) => openConnections === 0)
  })
})

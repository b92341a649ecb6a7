import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { type RawClient, toRawClient } from './raw-client.ts'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from './smtp-server.ts'

const certificate = (name: string): string =>
  readFileSync(new URL(`../certs/${name}`, import.meta.url), 'utf8')
const key = certificate('localhost.key')
const cert = certificate('localhost.pem')

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function serve(o: SmtpServerOptions = {}): Promise<SmtpServer> {
  const server = await createSmtpServer(o)
  closers.push(() => server.close())
  return server
}

function dial(socket: Socket): RawClient {
  closers.push(() => socket.destroy())
  return toRawClient(socket)
}

const plain = (server: SmtpServer) => dial(connect(server.port, server.host))
const mail = (to: string, text = 'Message-ID: <1@x.test>\r\n\r\nhi'): string =>
  `MAIL FROM:<a@x.test>\r\nRCPT TO:<${to}>\r\nDATA\r\n${text}\r\n.\r\n`

describe('SMTP server', () => {
  it('announces its extensions, and accepts a mail byte for byte', async () => {
    const server = await serve()
    const client = plain(server)
    await client.see(/^220 /)
    client.send('EHLO me.test\r\n')
    const hello = await client.see(/250 \S+\r\n/)
    expect(hello).toMatch(/250-PIPELINING\r\n250-SIZE \d+\r\n250-8BITMIME\r\n250-SMTPUTF8/)
    client.send('MAIL FROM:<a@x.test> SIZE=20 SMTPUTF8\r\n')
    await client.see(/250 2.1.0/)
    client.send('RCPT TO:<jörg@x.test>\r\n')
    await client.see(/250 2.1.5/)
    client.send('DATA\r\n')
    await client.see(/354/)
    client.send('Message-ID:\r\n <1@x.test>\r\n\r\n..dot\r\n.\r\n')
    await client.see(/250 2.0.0/)
    client.send('QUIT\r\n')
    await client.see(/221/)
    expect(await client.end()).toBe('fin')
    await server.waitFor(() => server.openConnections === 0)
    expect(server.messages).toEqual([
      {
        connection: 1,
        transaction: 1,
        from: 'a@x.test',
        recipients: ['jörg@x.test'],
        messageId: '<1@x.test>',
        raw: Buffer.from('Message-ID:\r\n <1@x.test>\r\n\r\n.dot\r\n'),
        reply: '250 2.0.0 ok queued as 1',
        accepted: true,
        replyFlushed: true,
      },
    ])
    expect(server.connections[0]).toMatchObject({ phase: 'quit', closed: true, secure: false })
    expect(server.connections[0]?.commands[0]).toBe('EHLO me.test')
  })

  it('answers pipelined commands in order, and two mails in one write', async () => {
    const server = await serve()
    const client = plain(server)
    client.send(`EHLO me\r\n${mail('b@x.test')}${mail('c@x.test')}`)
    await server.waitForMessages(2)
    expect(server.messages.map((message) => message.recipients)).toEqual([
      ['b@x.test'],
      ['c@x.test'],
    ])
  })

  it('refuses commands out of order, and mail that is too large', async () => {
    const server = await serve({ sizeMax: 100 })
    const client = plain(server)
    client.send('MAIL FROM:<a@x.test>\r\n')
    await client.see(/503/)
    client.send('EHLO me\r\nRCPT TO:<b@x.test>\r\n')
    await client.see(/503/)
    client.send('MAIL FROM:<a@x.test> SIZE=101\r\n')
    await client.see(/552/)
    client.send(mail('b@x.test', 'x'.repeat(200)))
    await client.see(/552/)
    client.send('FOO\r\n')
    await client.see(/500/)
    expect(server.accepted).toBe(0)
    expect(server.transactions).toHaveLength(1)
  })

  it('answers 421 to connections beyond the limit', async () => {
    const server = await serve({ connectionsMax: 1 })
    const first = plain(server)
    await first.see(/220/)
    const second = plain(server)
    await second.see(/421/)
    expect(await second.end()).toBe('fin')
  })

  it('can count mail without keeping it', async () => {
    const server = await serve({ record: 'count' })
    plain(server).send(`EHLO me\r\n${mail('b@x.test').repeat(50)}`)
    await server.waitForMessages(50)
    expect(server.transactions).toEqual([])
    expect(server.connections).toEqual([])
  })
})

describe('SMTP server under TLS', () => {
  it('speaks implicit TLS', async () => {
    const server = await serve({ tls: { mode: 'implicit', key, cert } })
    const client = dial(connectTls({ port: server.port, ca: certificate('ca.pem') }))
    await client.see(/220/)
    client.send(`EHLO me\r\n${mail('b@x.test')}`)
    await server.waitForMessages(1)
    expect(server.connections[0]?.secure).toBe(true)
  })

  it('upgrades by STARTTLS, offers it once, and forgets what came in clear', async () => {
    const server = await serve({
      tls: { mode: 'starttls', key, cert },
      auth: { users: { me: 'secret' }, tlsOnly: true },
    })
    const bare = connect(server.port, server.host)
    const client = dial(bare)
    await client.see(/220/)
    client.send('EHLO me\r\n')
    const offered = await client.see(/250 \S.*\r\n/)
    expect(offered).toContain('STARTTLS')
    expect(offered).not.toContain('AUTH')
    client.send('STARTTLS\r\nRSET\r\n')
    expect(await client.see(/\r\n/)).toBe('220 2.0.0 go ahead\r\n')
    bare.removeAllListeners('data')
    const secure = dial(connectTls({ socket: bare, ca: certificate('ca.pem'), host: 'localhost' }))
    secure.send('EHLO me\r\n')
    const again = await secure.see(/250 AUTH.*\r\n/)
    expect(again).not.toContain('STARTTLS')
  })

  it('can send replies in clear behind its answer to STARTTLS, in one piece', async () => {
    const server = await serve({
      tls: { mode: 'starttls', key, cert },
      script: ({ phase }) =>
        phase === 'starttls' ? { reply: '220 go', raw: '250 injected\r\n' } : undefined,
    })
    const client = plain(server)
    client.send('EHLO me\r\nSTARTTLS\r\n')
    expect(await client.see(/injected/)).toMatch(/220 go\r\n250 injected\r\n$/)
  })
})

describe('SMTP server with logins', () => {
  const users = { 'me@x.test': 'pass word' }
  const base64 = (text: string): string => Buffer.from(text).toString('base64')

  it('accepts PLAIN and LOGIN with and without an initial response', async () => {
    const server = await serve({ auth: { users } })
    const plainText = base64('\0me@x.test\0pass word')
    const dialogues = [
      [`AUTH PLAIN ${plainText}`],
      ['AUTH PLAIN', plainText],
      ['AUTH LOGIN', base64('me@x.test'), base64('pass word')],
      [`AUTH LOGIN ${base64('me@x.test')}`, base64('pass word')],
    ]
    for (const dialogue of dialogues) {
      const client = plain(server)
      client.send('EHLO me\r\n')
      await client.see(/AUTH PLAIN LOGIN/)
      for (const line of dialogue) {
        client.send(`${line}\r\n`)
        await client.see(/(334 .*|235 .*)\r\n/)
      }
      client.send('MAIL FROM:<a@x.test>\r\n')
      await client.see(/250/)
    }
    expect(server.connections.map((connection) => connection.username)).toEqual(
      dialogues.map(() => 'me@x.test'),
    )
  })

  it('refuses a wrong password, and mail without a login', async () => {
    const server = await serve({ auth: { users } })
    const client = plain(server)
    client.send('EHLO me\r\nMAIL FROM:<a@x.test>\r\n')
    await client.see(/530/)
    client.send(`AUTH PLAIN ${base64('\0me@x.test\0wrong')}\r\n`)
    await client.see(/535 5.7.8/)
  })

  it('lets a script answer a login', async () => {
    const server = await serve({
      auth: { users },
      script: ({ phase, password }) =>
        phase === 'auth' && password === 'pass word' ? '454 4.7.0 not now' : undefined,
    })
    const client = plain(server)
    client.send(`EHLO me\r\nAUTH PLAIN ${base64('\0me@x.test\0pass word')}\r\n`)
    await client.see(/454 4.7.0 not now/)
    client.send('MAIL FROM:<a@x.test>\r\n')
    await client.see(/530/)
  })
})

describe('scripted SMTP server', () => {
  it('answers by recipient and transaction, and repeats the last answer', async () => {
    const server = await serve({
      script: { 'b@x.test': ['450 4.2.0 later', 'dot: 451 4.3.0 disk', 'ok'] },
    })
    const client = plain(server)
    client.send('EHLO me\r\nMAIL FROM:<a@x.test>\r\nRCPT TO:<b@x.test>\r\n')
    await client.see(/450 4.2.0 later/)
    client.send(`RSET\r\n${mail('B@x.test')}`)
    await client.see(/451 4.3.0 disk/)
    client.send(mail('b@x.test'))
    await client.see(/250 2.0.0 ok queued/)
    client.send(mail('b@x.test'))
    await client.see(/250 2.0.0 ok queued/)
    expect(server.transactions.map((one) => one.accepted)).toEqual([false, true, true])
  })

  it('cuts the connection at any phase, by FIN or by reset', async () => {
    for (const phase of ['connect', 'ehlo', 'mail', 'rcpt', 'data', 'body', 'dot']) {
      for (const [ending, seen] of [
        ['fin', 'fin'],
        ['rst', 'reset'],
      ] as const) {
        const server = await serve({ script: (now) => (now.phase === phase ? ending : undefined) })
        const client = plain(server)
        client.send(`EHLO me\r\n${mail('b@x.test')}`)
        expect(await client.end(), `${ending} at ${phase}`).toBe(seen)
        expect(server.transactions).toHaveLength(phase === 'dot' ? 1 : 0)
        expect(server.accepted).toBe(0)
      }
    }
  })

  it('can reset after a reply that was read', async () => {
    const server = await serve({ script: { 'b@x.test': ['dot: 250 ok >> rst'] } })
    const client = plain(server)
    client.send(`EHLO me\r\n${mail('b@x.test')}`)
    await client.see(/250 ok\r\n/)
    expect(await client.end()).toBe('reset')
    expect(server.transactions[0]).toMatchObject({ accepted: true, reply: '250 ok' })
  })

  it('hangs silently, and notices when the client leaves', async () => {
    const server = await serve({ script: { 'b@x.test': ['dot: hang'] } })
    const client = plain(server)
    client.send(`EHLO me\r\n${mail('b@x.test')}NOOP\r\n`)
    await server.waitFor(() => server.transactions.length === 1)
    expect(server.transactions[0]).toMatchObject({ accepted: false, reply: null })
    client.socket.destroy()
    await server.waitFor(() => server.connections[0]?.closed === true)
    expect(server.connections[0]?.phase).toBe('dot')
  })

  it('delays an answer and all pipelined ones behind it until it is released', async () => {
    let letGo = (): void => undefined
    const after = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const server = await serve({
      script: ({ phase }) => (phase === 'mail' ? { after } : undefined),
    })
    const client = plain(server)
    client.send('EHLO me\r\nMAIL FROM:<a@x.test>\r\nNOOP\r\n')
    await client.see(/250 ENHANCEDSTATUSCODES\r\n/)
    await server.waitFor(() => server.connections[0]?.commands.length === 2)
    expect(client.unread()).toBe('')
    letGo()
    expect(await client.see(/250 2.0.0 ok\r\n/)).toBe('250 2.1.0 ok\r\n250 2.0.0 ok\r\n')
  })

  it('drips, delays, sends several lines, garbage, and replies without end', async () => {
    const server = await serve({
      script: {
        'drip@x.test': ['drip 1 250 2.1.5 slow'],
        'delay@x.test': ['delay 1 251 2.1.5 late'],
        'many@x.test': ['450 4.2.0 one\n450 4.2.0 two'],
        'noise@x.test': ['garbage'],
        'endless@x.test': ['endless'],
      },
    })
    const client = plain(server)
    client.send('EHLO me\r\nMAIL FROM:<a@x.test>\r\n')
    await client.see(/2.1.0/)
    const say = (to: string) => client.send(`RCPT TO:<${to}@x.test>\r\n`)
    say('drip')
    await client.see(/250 2.1.5 slow\r\n/)
    say('delay')
    await client.see(/251 2.1.5 late\r\n/)
    say('many')
    await client.see(/450-4.2.0 one\r\n450 4.2.0 two\r\n/)
    say('noise')
    await client.see(/HTTP\/1.1 400/)
    say('endless')
    await client.see(/(250-and another thing\r\n){1000}/)
  })

  it('obeys a change of script on open connections', async () => {
    const server = await serve()
    const client = plain(server)
    client.send('EHLO me\r\n')
    await client.see(/250 ENH/)
    server.setScript(({ phase }) => (phase === 'mail' ? '421 4.3.2 going down >> fin' : undefined))
    client.send('MAIL FROM:<a@x.test>\r\n')
    await client.see(/421 4.3.2/)
    expect(await client.end()).toBe('fin')
  })

  it('refuses an unknown script text', async () => {
    const bad = ['sometimes', 'rcpt: 25 ok', 'dot: 250 ok >> later', 'drip x 250 ok']
    for (const text of bad) {
      await expect(createSmtpServer({ script: { 'b@x.test': [text] } })).rejects.toThrow(
        'SMTP script text',
      )
    }
  })

  it('names what is missing when it has waited long enough', async () => {
    const server = await serve()
    await expect(server.waitForMessages(1, 1)).rejects.toThrow('0 of 1 messages accepted')
  })
})

/**
 * The SMTP client against mail servers that other people wrote: what they were given is what arrives
 * behind them, once, and nothing besides.
 */
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createSmtpServer } from '@postrider/testkit'
import {
  createExim,
  createOpenSmtpd,
  createPostfix,
  eximHindrance,
  type MailServer,
  type MailServerOptions,
  openSmtpdHindrance,
  postfixHindrance,
} from '@postrider/testkit/mail-servers'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mail, openTo } from '../../mail/test/smtp-loopback.ts'
import { smuggled, smugglers } from '../../mail/test/smugglers.ts'

/** A server under test. */
interface Peer {
  readonly port: number
  /** All messages that came out behind it, with CRLF line ends. */
  arrived(): readonly string[]
  log(): string
  stop(): Promise<unknown>
}

interface PeerSettings {
  readonly hindrance?: string | undefined
  readonly start: () => Promise<Peer>
  /** Those that lack one lack the other: STARTTLS and SMTPUTF8. */
  readonly isPlain?: true
}

const to = 'ada@recipient.test'
const pem = (name: string) =>
  readFileSync(new URL(`../../testkit/certs/${name}`, import.meta.url), 'utf8')
const certificate = { key: pem('localhost.key'), cert: pem('localhost.pem') }

async function startRelay(create: (o: MailServerOptions) => Promise<MailServer>) {
  const sink = await createSmtpServer()
  const server = await create({ relayPort: sink.port, certificate })
  return {
    port: server.port,
    arrived: () => sink.messages.map(({ raw }) => raw.toString()),
    log: server.log,
    stop: () => server.stop().finally(() => sink.close()),
  }
}

async function startPostfix(): Promise<Peer> {
  const postfix = await createPostfix(certificate)
  postfix.start()
  return {
    port: postfix.port,
    arrived: () => postfix.mailbox('ada').map((text) => text.replaceAll('\n', '\r\n')),
    log: postfix.log,
    stop: () => postfix.destroy(),
  }
}

async function startSmtpServer(): Promise<Peer> {
  const arrived: string[] = []
  const server = new SMTPServer({
    ...certificate,
    size: 200_000,
    authOptional: true,
    onRcptTo: ({ address }, _session, callback) =>
      callback(address.endsWith('@recipient.test') ? undefined : new Error('relay not permitted')),
    onData(stream, _session, callback) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        arrived.push(Buffer.concat(chunks).toString())
        callback()
      })
    },
  })
  server.on('error', () => undefined)
  const listening = server.listen(0, '127.0.0.1')
  await new Promise((resolve) => listening.once('listening', resolve))
  return {
    port: (listening.address() as AddressInfo).port,
    arrived: () => arrived,
    log: () => '',
    stop: () => new Promise((resolve) => server.close(() => resolve(undefined))),
  }
}

const peers: Readonly<Record<string, PeerSettings>> = {
  Postfix: { hindrance: postfixHindrance(), start: startPostfix },
  Exim: { hindrance: eximHindrance(), start: () => startRelay(createExim) },
  OpenSMTPD: {
    hindrance: openSmtpdHindrance(),
    start: () => startRelay(createOpenSmtpd),
    isPlain: true,
  },
  'smtp-server': { start: startSmtpServer },
}

/** What mail consists of, and what is hard on its way. */
const bodies = {
  plain: 'Hello,\r\n\r\nworld.\r\n',
  dots: '.\r\n..\r\n...\r\n.one\r\n\r\n.\r\n..\r\n',
  'commands in it': 'QUIT\r\nRSET\r\nDATA\r\n.\r\nMAIL FROM:<evil@example.com>\r\n',
  'long lines': `${'x'.repeat(998)}\r\n.${'y'.repeat(996)}\r\n`,
  'eight bits': 'Grüße an José, 你好\r\n',
  'no last line end': 'the end',
  large: `${'0123456789'.repeat(7)}\r\n.dots in it\r\n`.repeat(1_800),
  'empty lines at its end': 'bye\r\n\r\n\r\n\r\n',
}

for (const [name, { hindrance, start, isPlain }] of Object.entries(peers)) {
  if (hindrance !== undefined)
    process.stderr.write(`SKIPPED, the SMTP client against ${name}: ${hindrance}\n`)

  describe.skipIf(hindrance !== undefined)(`against ${name}`, () => {
    let peer: Peer
    beforeAll(async () => {
      peer = await start()
    })
    afterAll(() => peer?.stop())

    let lastMessage = 0
    const compose = (body: string) => {
      lastMessage += 1
      const subject = `test-${lastMessage}-of-${name}`
      const head = `From: <shop@example.com>\r\nTo: <${to}>\r\nSubject: ${subject}\r\nMessage-ID: <${subject}@example.com>\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit`
      return { subject, message: Buffer.from(`${head}\r\n\r\n${body}`) }
    }
    const arrivals = (subject: string) =>
      peer.arrived().filter((text) => text.includes(`Subject: ${subject}\r\n`))
    const bodyOf = (text = '') => text.slice(text.indexOf('\r\n\r\n') + 4)
    const hasArrived = (subject: string) =>
      expect.poll(() => arrivals(subject).length, { timeout: 20_000, message: peer.log() }).toBe(1)

    it('delivers every kind of message unchanged over one connection', async () => {
      const session = await openTo(peer.port, { secure: 'None' })
      const sent: (readonly [string, string])[] = []
      for (const body of Object.values(bodies)) {
        const { subject, message } = compose(body)
        const result = await session.send(mail({ to, message }))
        expect(result, peer.log()).toMatchObject({ kind: 'accepted' })
        sent.push([subject, body])
      }
      for (const [subject, body] of sent) {
        await hasArrived(subject)
        expect(bodyOf(arrivals(subject)[0])).toBe(body.endsWith('\r\n') ? body : `${body}\r\n`)
      }
      expect(session.sent).toBe(Object.keys(bodies).length)
      session.close()
    })

    it('continues after refusals, and names the step of each', async () => {
      const session = await openTo(peer.port, { secure: 'None' })
      for (let i = 0; i < 3; i += 1) {
        const refused = await session.send(mail({ to: 'someone@elsewhere.test' }))
        expect(refused).toMatchObject({
          phase: 'before-dot',
          failure: { stage: 'rcpt', reply: { code: expect.toSatisfy((code) => code >= 550) } },
          sessionUsable: true,
        })
      }
      const { subject, message } = compose('after refusals\r\n')
      expect(await session.send(mail({ to, message }))).toMatchObject({ kind: 'accepted' })
      await hasArrived(subject)
      session.close()
    })

    it('sends no message that is too large for the server', async () => {
      const session = await openTo(peer.port, { secure: 'None' })
      const { message } = compose(`${'x'.repeat(70)}\r\n`.repeat(4_000))
      expect(await session.send(mail({ to, message }))).toMatchObject({
        failure: { stage: 'mail', systemCode: 'ESIZE' },
        sessionUsable: true,
      })
      session.close()
    })

    it('requests notifications where the server offers them', async () => {
      const session = await openTo(peer.port, { secure: 'None' })
      const dsn = { notify: ['failure', 'delay'], return: 'headers', envelopeId: 'a+b=c' } as const
      const { subject, message } = compose('with DSN\r\n')
      expect(await session.send(mail({ to, message, dsn }))).toMatchObject({ kind: 'accepted' })
      await hasArrived(subject)
      session.close()
    })

    it('sends many mails over one STARTTLS connection, and none in clear', async () => {
      const opening = openTo(peer.port, { secure: 'Tls', tlsVerify: false })
      if (isPlain) return expect(opening).rejects.toThrow(/"stage":"starttls","reply":{"code":5/)
      const session = await opening
      const subjects: string[] = []
      for (let i = 0; i < 5; i += 1) {
        const { subject, message } = compose(bodies.dots)
        expect(await session.send(mail({ to, message }))).toMatchObject({ kind: 'accepted' })
        subjects.push(subject)
      }
      for (const subject of subjects) {
        await hasArrived(subject)
        expect(bodyOf(arrivals(subject)[0])).toBe(bodies.dots)
      }
      session.close()
    })

    it('sends mail that needs SMTPUTF8 where the server supports it', async () => {
      const session = await openTo(peer.port, { secure: 'None' })
      const { subject, message } = compose('internationalised\r\n')
      const from = 'jörg@example.com'
      const result = await session.send(mail({ from, to, message, smtpUtf8: true }))
      expect(result).toMatchObject(
        isPlain ? { failure: { systemCode: 'ESMTPUTF8' } } : { kind: 'accepted' },
      )
      if (!isPlain) await hasArrived(subject)
      session.close()
    })

    it('delivers one message or none, whatever ends of data are hidden in it', async () => {
      for (const sequence of smugglers) {
        const session = await openTo(peer.port, { secure: 'None' })
        const { subject, message } = compose(`body${sequence}${smuggled}`)
        const result = await session.send(mail({ to, message }))
        expect(result).toMatchObject({ phase: 'before-dot', sessionUsable: false })
        expect(arrivals(subject)).toEqual([])
        session.close()
      }
      // What looks like an end and is none, sent last: whatever was smuggled would be there by then.
      const looks = `body\r\n.\r\n${smuggled}\r\n.\r\n..\r\nend\r\n`
      const session = await openTo(peer.port, { secure: 'None' })
      const { subject, message } = compose(looks)
      expect(await session.send(mail({ to, message }))).toMatchObject({ kind: 'accepted' })
      session.close()
      await hasArrived(subject)
      expect(bodyOf(arrivals(subject)[0])).toBe(looks)
      expect(peer.arrived().filter((text) => text.includes('smuggled-marker'))).toHaveLength(1)
    })
  })
}

describe('logins of smtp-server', () => {
  const auths = {
    PLAIN: { username: 'ann', password: 'secret' },
    LOGIN: { username: 'ann', password: 'secret' },
    'CRAM-MD5': { username: 'ann', password: 'secret' },
    XOAUTH2: { username: 'ann', accessToken: 'token' },
  }
  it.each(Object.entries(auths))('accepts a login by %s', async (mechanism, auth) => {
    const methods: string[] = []
    const server = new SMTPServer({
      authMethods: [mechanism],
      allowInsecureAuth: true,
      hideSTARTTLS: true,
      onAuth(said, _session, callback) {
        methods.push(said.method)
        const isToken = said.accessToken === 'token'
        const isPassword = said.password === 'secret' || said.validatePassword?.('secret') === true
        callback(null, said.username === 'ann' && (isToken || isPassword) ? { user: 'ann' } : {})
      },
    })
    const listening = server.listen(0, '127.0.0.1')
    await new Promise((resolve) => listening.once('listening', resolve))
    const { port } = listening.address() as AddressInfo
    const session = await openTo(port, { secure: 'None', auth })
    expect(methods).toEqual([mechanism])
    session.close()
    const wrong =
      'password' in auth ? { ...auth, password: 'wrong' } : { ...auth, accessToken: 'wrong' }
    await expect(openTo(port, { secure: 'None', auth: wrong })).rejects.toThrow(/"code":535/)
    await new Promise((resolve) => server.close(() => resolve(undefined)))
  })
})

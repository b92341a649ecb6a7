import { createServer, type Server, type Socket } from 'node:net'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import {
  connectTo,
  EXPIRED_CERT,
  mail,
  openTo,
  sessionOptions,
  TEST_CERT,
  TEST_KEY,
} from '../../test/smtp-loopback.ts'
import { classifyFailure } from '../classify-reply.ts'
import { openSmtpSession } from './open-session.ts'
import type { OpenSessionOptions } from './session.ts'

const USERS = { users: { ann: 'secret' } }
const LOGIN = { username: 'ann', password: 'secret' }

let server: SmtpServer | undefined
let raw: Server | undefined
const sockets = new Set<Socket>()

afterEach(async () => {
  await server?.close()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => (raw === undefined ? resolve(0) : raw.close(resolve)))
  server = undefined
  raw = undefined
  sockets.clear()
})

async function start(o: SmtpServerOptions = {}): Promise<SmtpServer> {
  server = await createSmtpServer(o)
  return server
}

/** A server that answers each line with what the function says. */
async function startRaw(talk: (socket: Socket, line: string) => void): Promise<number> {
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    talk(socket, '')
    socket.on('data', (chunk) => talk(socket, chunk.toString('latin1')))
  })
  raw = listening
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function failureOf(port: number, more: Partial<OpenSessionOptions> = {}) {
  const opened = await openSmtpSession(sessionOptions(port, more))
  if (opened.ok) throw new Error('a session where none was expected')
  return opened.failure
}

describe('login', () => {
  for (const mechanism of ['PLAIN', 'LOGIN'] as const)
    it(`uses AUTH ${mechanism}`, async () => {
      const { port, connections } = await start({ auth: { ...USERS, mechanisms: [mechanism] } })
      const session = await openTo(port, { auth: LOGIN })
      expect(connections[0]?.username).toBe('ann')
      session.close()
    })

  it('sends nothing when the server offers no login', async () => {
    const { port, connections } = await start()
    const failure = await failureOf(port, { auth: LOGIN })
    expect(failure).toEqual({
      stage: 'auth',
      systemCode: 'ENOAUTH',
      message: 'The server offers no login (AUTH) on this connection',
    })
    expect(classifyFailure(failure)).toMatchObject({
      category: 'auth_not_offered',
      failedReason: 'The mail server offers no login here: check port and secure',
      retryable: true,
      authRejected: false,
      providerError: failure.message,
    })
    expect(connections[0]?.commands).toEqual(['EHLO mx.example.com'])
  })

  it('is not tried after HELO, which can offer none', async () => {
    const { port, connections } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'ehlo' ? '502 5.5.1 what?' : undefined),
    })
    expect(await failureOf(port, { auth: LOGIN })).toMatchObject({ systemCode: 'ENOAUTH' })
    expect(connections[0]?.commands.some((line) => line.startsWith('AUTH'))).toBe(false)
  })

  it('reads the offer in its old form', async () => {
    const { port, connections } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'ehlo' ? '250-hi\n250 AUTH=LOGIN PLAIN' : undefined),
    })
    const session = await openTo(port, { auth: LOGIN })
    expect(connections[0]?.username).toBe('ann')
    session.close()
  })

  it.each([
    ['535 5.7.8 nope', 535],
    ['534 5.7.9 too weak', 534],
    ['454 4.7.0 later', 454],
    ['421 4.7.0 closing', 421],
  ])('fails with the reply as received: %s', async (reply, code) => {
    const { port } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'auth' ? reply : undefined),
    })
    expect(await failureOf(port, { auth: LOGIN })).toEqual({
      stage: 'auth',
      reply: { code, text: reply },
    })
  })

  it('fails without a reply when the server closes the connection', async () => {
    const { port } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'auth' ? 'fin' : undefined),
    })
    const failure = await failureOf(port, { auth: LOGIN })
    expect(failure).toMatchObject({ stage: 'auth', systemCode: 'ECONNECTION' })
    expect(classifyFailure(failure)).toMatchObject({ category: 'network', authRejected: false })
  })

  it('is given up at the deadline when the server hangs', async () => {
    const { port } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'auth' ? 'hang' : undefined),
    })
    const failure = await failureOf(port, { auth: LOGIN, timeoutMs: 200.123 })
    expect(failure).toEqual({
      stage: 'auth',
      systemCode: 'ETIMEDOUT',
      message: 'Timeout: no session within 200 ms',
    })
  })

  it('does not send a missing password', async () => {
    const { port, connections } = await start({ auth: USERS })
    const failure = await failureOf(port, { auth: { username: 'ann', password: '' } })
    expect(failure).toMatchObject({ stage: 'auth', systemCode: 'ECREDENTIALS' })
    expect(connections[0]?.commands.filter((line) => line.startsWith('AUTH'))).toEqual([])
  })
})

describe('a server that quotes the login', () => {
  const SECRET = { username: 'usr', password: 'pä$$ (canary) 7' }
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const plain = base64(`\0${SECRET.username}\0${SECRET.password}`)
  const leaks = [SECRET.password, plain, base64(SECRET.password), base64(SECRET.username)]

  it.each([
    ['AUTH PLAIN', `454 4.7.0 "AUTH PLAIN ${plain}"?`, '454 4.7.0 "AUTH PLAIN [redacted]"?'],
    ['a piece of it', `454 ${plain.slice(0, -9)}... no`, '454 [redacted]... no'],
    ['it in capitals', `535 ${plain.toUpperCase()}`, '535 [redacted]'],
    ['AUTH LOGIN', `535 ${leaks[3]} ${leaks[2]}`, '535 [redacted] [redacted]'],
    ['the password', `535 <${SECRET.password}> is wrong`, '535 <[redacted]> is wrong'],
    ['it on another line', `535-no\n535 ${SECRET.password}`, '535-no 535 [redacted]'],
  ])('is reported without it: %s', async (_what, said, told) => {
    const { port } = await start({
      auth: USERS,
      script: ({ phase }) => (phase === 'auth' ? said : undefined),
    })
    const { reply } = await failureOf(port, { auth: SECRET })
    expect(reply?.text).toBe(told)
  })

  it('is reported without it in bytes that are no UTF-8, and in malformed replies', async () => {
    const quote = Buffer.from(` ${SECRET.password} ${plain}\r\n`)
    for (const start of ['535 gr\u00fc\u00dfe', '299 what', 'what']) {
      const port = await startRaw((socket, line) => {
        if (line === '') socket.write('220 hi\r\n')
        else if (line.startsWith('EHLO')) socket.write('250-hi\r\n250 AUTH PLAIN\r\n')
        else socket.end(Buffer.concat([Buffer.from(start, 'latin1'), quote]))
      })
      const opened = await openSmtpSession(sessionOptions(port, { auth: SECRET, timeoutMs: 2_000 }))
      if (opened.ok) opened.session.close()
      const told = JSON.stringify(opened)
      for (const leak of ['canary', plain.slice(8)]) expect(told).not.toContain(leak)
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => raw?.close(resolve))
      raw = undefined
    }
  })

  it('is reported without it later in the conversation', async () => {
    const { port } = await start({
      auth: { users: { usr: SECRET.password } },
      script: ({ phase, recipient }) => {
        if (phase === 'rcpt' && recipient === 'bad@receiver.test') return `550 ${plain} no`
        return phase === 'dot' ? `250 thanks, ${SECRET.password}` : undefined
      },
    })
    const session = await openTo(port, { auth: SECRET })
    const results = [
      await session.send(mail({ to: 'bad@receiver.test' })),
      await session.send(mail()),
    ]
    expect(results).toMatchObject([
      { failure: { reply: { code: 550, text: '550 [redacted] no' } } },
      { reply: { code: 250, text: '250 thanks, [redacted]' } },
    ])
    session.close()
  })

  it('is reported word for word where a short password is part of a word or the code', async () => {
    for (const [password, told] of [
      ['mail', '550 5.7.1 mailbox email-gateway, no [redacted] [redacted]'],
      ['550', '550 5.7.1 mailbox email-gateway, no mail bWFpbA=='],
    ] as const) {
      const { port, close } = await start({
        auth: USERS,
        script: ({ phase }) =>
          phase === 'auth' ? '550 5.7.1 mailbox email-gateway, no mail bWFpbA==' : undefined,
      })
      const { reply } = await failureOf(port, { auth: { username: 'x', password } })
      expect(reply).toEqual({ code: 550, text: told })
      await close()
    }
  })
})

describe('STARTTLS', () => {
  const tls = { mode: 'starttls', key: TEST_KEY, cert: TEST_CERT } as const

  it('comes before the login for Tls, and for Auto where it is offered', async () => {
    for (const secure of ['Tls', 'Auto'] as const) {
      const { port, connections, close } = await start({ tls, auth: { ...USERS, tlsOnly: true } })
      const session = await openTo(port, { secure, tlsVerify: false, auth: LOGIN })
      expect(connections[0]).toMatchObject({ secure: true, username: 'ann' })
      expect((await session.send(mail())).kind).toBe('accepted')
      session.close()
      await close()
    }
  })

  it('is not used for None', async () => {
    const { port, connections } = await start({ tls })
    const session = await openTo(port, { secure: 'None' })
    expect(connections[0]?.secure).toBe(false)
    session.close()
  })

  it('is required for Tls even where it is not offered', async () => {
    const { port } = await start()
    const failure = await failureOf(port, { secure: 'Tls' })
    expect(failure).toMatchObject({ stage: 'starttls', reply: { code: 502 } })
    expect(classifyFailure(failure)).toMatchObject({
      category: 'tls_unavailable',
      retryable: false,
    })
  })

  it('is not replaced by plain text when a server that offers it refuses it', async () => {
    const { port, connections } = await start({
      tls,
      auth: USERS,
      script: ({ phase }) => (phase === 'starttls' ? '454 4.7.0 TLS not available' : undefined),
    })
    const failure = await failureOf(port, { secure: 'Auto', auth: LOGIN })
    expect(failure).toEqual({
      stage: 'starttls',
      reply: { code: 454, text: '454 4.7.0 TLS not available' },
    })
    expect(connections[0]?.username).toBeUndefined()
  })

  it('fails on a certificate that cannot be verified', async () => {
    const { port } = await start({ tls })
    const failure = await failureOf(port, { secure: 'Tls' })
    expect(failure.stage).toBe('starttls')
    expect(classifyFailure(failure)).toMatchObject({
      category: 'tls_certificate',
      retryable: false,
    })
  })

  it('fails on garbage in place of the handshake', async () => {
    const port = await startRaw((socket, line) => {
      if (line === '') socket.write('220 hi\r\n')
      else if (line.startsWith('EHLO')) socket.write('250-hi\r\n250 STARTTLS\r\n')
      else if (line.startsWith('STARTTLS')) socket.write('220 go\r\nthis is no handshake\r\n')
    })
    const failure = await failureOf(port, { secure: 'Tls', timeoutMs: 2_000 })
    expect(failure.stage).toBe('starttls')
    expect(classifyFailure(failure).retryable).toBe(true)
  })

  it('fails when the server closes the connection', async () => {
    const { port } = await start({
      tls,
      script: ({ phase }) => (phase === 'starttls' ? 'fin' : undefined),
    })
    expect((await failureOf(port, { secure: 'Tls' })).stage).toBe('starttls')
  })

  it('forgets what was said in clear before the handshake', async () => {
    const { port } = await start({
      tls,
      script: ({ phase, secure }) =>
        phase === 'starttls' && !secure
          ? { reply: '220 go ahead', raw: '250-injected.example\r\n250 AUTH PLAIN LOGIN\r\n' }
          : undefined,
    })
    const opened = await openSmtpSession(
      sessionOptions(port, { secure: 'Tls', tlsVerify: false, auth: LOGIN, timeoutMs: 2_000 }),
    )
    // What was injected is lost or breaks the handshake; it is never taken for the secured EHLO.
    if (opened.ok) throw new Error('a session where none was expected')
    expect(opened.failure.systemCode === 'ENOAUTH' || opened.failure.stage === 'starttls').toBe(
      true,
    )
    expect(server?.connections[0]?.commands.some((line) => line.startsWith('AUTH'))).toBe(false)
  })
})

describe('implicit TLS', () => {
  const tls = { mode: 'implicit', key: TEST_KEY, cert: TEST_CERT } as const

  it('is requested from the connector for SSL', async () => {
    const { port, connections } = await start({ tls, auth: USERS })
    const session = await openTo(port, {
      secure: 'SSL',
      connect: connectTo(port, TEST_CERT),
      auth: LOGIN,
    })
    expect(connections[0]).toMatchObject({ secure: true, username: 'ann' })
    session.close()
  })

  it('is used by Auto on port 465 only', async () => {
    const asked: unknown[] = []
    const connect: OpenSessionOptions['connect'] = (o) => {
      asked.push(o.tls)
      return Promise.reject(new Error('no'))
    }
    for (const [secure, port] of [
      ['Auto', 465],
      ['Auto', 587],
      ['Tls', 465],
      ['None', 465],
      ['SSL', 25],
    ] as const)
      await failureOf(port, { secure, connect, tlsVerify: false })
    const tls = { rejectUnauthorized: false }
    expect(asked).toEqual([tls, undefined, undefined, undefined, tls])
  })

  it('is a wrong setting for a port without TLS', async () => {
    const { port } = await start()
    const failure = await failureOf(port, { secure: 'SSL' })
    expect(failure.stage).toBe('connect')
    expect(classifyFailure(failure)).toMatchObject({ category: 'tls_wrong_port', retryable: false })
  })

  it('fails for good on an unknown certificate, and for the moment on an expired one', async () => {
    const { port } = await start({ tls })
    const unknown = await failureOf(port, { secure: 'SSL' })
    expect(classifyFailure(unknown)).toMatchObject({
      category: 'tls_certificate',
      retryable: false,
    })
    const { port: late } = await createSmtpServer({
      tls: { ...tls, cert: EXPIRED_CERT },
    }).then((expired) => {
      const first = server
      server = {
        ...expired,
        close: () => Promise.all([first?.close(), expired.close()]).then(() => undefined),
      }
      return expired
    })
    const expired = await failureOf(late, {
      secure: 'SSL',
      connect: connectTo(late, EXPIRED_CERT),
    })
    expect(classifyFailure(expired)).toMatchObject({
      category: 'tls_certificate_expired',
      retryable: true,
    })
  })
})

describe('connecting', () => {
  it('fails as the connector does', async () => {
    const { port, close } = await start()
    await close()
    server = undefined
    const refused = await failureOf(port)
    expect(refused).toMatchObject({ stage: 'connect', systemCode: 'ECONNREFUSED' })
    expect(classifyFailure(refused)).toMatchObject({ category: 'network', retryable: true })

    const guard = Object.assign(new Error('not allowed'), { code: 'address_refused' })
    const guarded = await failureOf(port, { connect: () => Promise.reject(guard) })
    expect(classifyFailure(guarded)).toMatchObject({
      category: 'address_refused',
      retryable: false,
    })

    const dns = Object.assign(new Error('no host'), { code: 'dns', systemCode: 'ENOTFOUND' })
    const unknown = await failureOf(port, { connect: () => Promise.reject(dns) })
    expect(classifyFailure(unknown).category).toBe('host_not_found')
  })

  it('is given up at the deadline, and a socket that comes later is closed', async () => {
    const { port } = await start()
    let give: (socket: Socket) => void = () => undefined
    const late = new Promise<Socket>((resolve) => {
      give = resolve
    })
    const failure = await failureOf(port, { connect: () => late, timeoutMs: 50 })
    expect(failure).toMatchObject({ stage: 'connect', systemCode: 'ETIMEDOUT' })
    const socket = await connectTo(port)({
      timeoutMs: 1_000,
      signal: new AbortController().signal,
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    give(socket)
    await closed
  })

  it('does not wait for a socket that is closed already', async () => {
    const { port } = await start()
    const connect: OpenSessionOptions['connect'] = async (o) => {
      const socket = await connectTo(port)(o)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      socket.destroy()
      await closed
      return socket
    }
    expect(await failureOf(port, { connect })).toMatchObject({
      stage: 'greeting',
      systemCode: 'ECONNECTION',
    })
  })

  it('refuses an EHLO name that could contain a command', async () => {
    for (const ehloName of ['', 'a b', 'a\r\nMAIL FROM:<x>', 'über.example', '-x', 'x'.repeat(300)])
      await expect(openSmtpSession(sessionOptions(1, { ehloName }))).rejects.toThrow('EHLO')
  })
})

describe('greeting and EHLO', () => {
  it.each([
    ['554 no service here', 554],
    ['421 too busy', 421],
  ])('fail with the reply %s', async (reply, code) => {
    const { port } = await start({
      script: ({ phase }) => (phase === 'connect' ? `${reply} >> fin` : undefined),
    })
    expect(await failureOf(port)).toEqual({ stage: 'greeting', reply: { code, text: reply } })
  })

  it('keep every line of a reply, with unusual characters', async () => {
    const { port } = await start({
      script: ({ phase }) =>
        phase === 'connect'
          ? { raw: '554-no \u001b[31mservice\u0000\r\n554 grüße\r\n', ending: 'fin' }
          : undefined,
    })
    const failure = await failureOf(port)
    expect(failure.reply?.text).toBe('554-no \u001b[31mservice\u0000 554 grüße')
    expect(classifyFailure(failure).providerError).not.toContain('\u0000')
  })

  it('report a closed connection as lost', async () => {
    const { port } = await start({
      script: ({ phase }) => (phase === 'connect' ? 'fin' : undefined),
    })
    expect(await failureOf(port)).toMatchObject({ stage: 'greeting', systemCode: 'ECONNECTION' })
  })

  it.each([
    ['connect', 'drip 20 220 this greeting takes its time and never ends in time', 'greeting'],
    ['ehlo', 'drip 20 250 this reply takes its time and never ends in time', 'ehlo'],
    ['connect', 'hang', 'greeting'],
    ['ehlo', 'hang', 'ehlo'],
  ])('are cut at the deadline: %s: %s', async (phase, what, stage) => {
    const { port } = await start({ script: (at) => (at.phase === phase ? what : undefined) })
    const failure = await failureOf(port, { timeoutMs: 250 })
    expect(failure).toMatchObject({ stage, systemCode: 'ETIMEDOUT' })
  })

  it('do not wait for the end of an endless reply', async () => {
    const { port } = await start({
      script: ({ phase }) => (phase === 'ehlo' ? 'endless' : undefined),
    })
    expect(await failureOf(port)).toMatchObject({ stage: 'ehlo', systemCode: 'EPROTOCOL' })
  })

  it('report a protocol error for another protocol', async () => {
    const { port } = await start({
      script: ({ phase }) => (phase === 'connect' ? 'garbage' : undefined),
    })
    const failure = await failureOf(port)
    expect(failure).toMatchObject({ stage: 'greeting', systemCode: 'EPROTOCOL' })
  })

  it('fall back to HELO', async () => {
    const { port } = await start({
      script: ({ phase }) => (phase === 'ehlo' ? '502 5.5.1 what?' : undefined),
    })
    const session = await openTo(port)
    session.close()
  })
})

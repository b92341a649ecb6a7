import { createServer, type Server, type Socket } from 'node:net'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { MESSAGE, mail, openTo, TEST_CERT, TEST_KEY } from '../../test/smtp-loopback.ts'
import { classifyFailure } from '../classify-reply.ts'
import type { SmtpSession } from './session.ts'

let server: SmtpServer | undefined
let session: SmtpSession | undefined

afterEach(async () => {
  session?.close()
  await server?.close()
  session = undefined
  server = undefined
})

async function start(o: SmtpServerOptions = {}) {
  server = await createSmtpServer(o)
  session = await openTo(server.port)
  return { server, session }
}

const never = () => new Promise<void>(() => undefined)

/** Gives whatever was going to happen every chance to. */
async function manyTurns(): Promise<void> {
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
}

const NO_PIPELINING = ['SIZE 41943040', '8BITMIME', 'SMTPUTF8']

describe('an accepted message', () => {
  it('arrives byte for byte, with the reply as received', async () => {
    const { server, session } = await start({
      script: ({ phase }) => (phase === 'dot' ? '250-2.0.0 thank you\n250 queued as 7' : undefined),
    })
    expect(await session.send(mail())).toEqual({
      kind: 'accepted',
      reply: { code: 250, text: '250-2.0.0 thank you 250 queued as 7' },
    })
    const [message] = server.messages
    expect(message?.raw.toString()).toBe(MESSAGE.toString())
    expect(message).toMatchObject({ from: 'shop@example.com', recipients: ['ann@receiver.test'] })
    expect(session).toMatchObject({ isUsable: true, sent: 1 })
  })

  const endings = [
    'end',
    'end\r\n',
    'end\r\n\r\n',
    'end\r\n\r\n\r\n',
    '\r\n',
    '.',
    '.\r\n',
    '..\r\n.',
  ]
  it.each(endings)('arrives unchanged when its body is %j', async (body) => {
    const { server, session } = await start()
    const message = Buffer.from(`Subject: x\r\n\r\n${body}`)
    expect((await session.send(mail({ message }))).kind).toBe('accepted')
    const arrived = server.messages[0]?.raw.toString()
    expect(arrived).toBe(body.endsWith('\r\n') ? message.toString() : `${message}\r\n`)
  })

  it('arrives unchanged when it is larger than any buffer', async () => {
    const { server, session } = await start()
    const line = `${'.0123456789'.repeat(7)}\r\n`
    const message = Buffer.from(`Subject: x\r\n\r\n${line.repeat(40_000)}`)
    expect((await session.send(mail({ message }))).kind).toBe('accepted')
    expect(server.messages[0]?.raw.equals(message)).toBe(true)
  })

  it('can go over TLS, many on one connection', async () => {
    server = await createSmtpServer({ tls: { mode: 'starttls', key: TEST_KEY, cert: TEST_CERT } })
    session = await openTo(server.port, { secure: 'Tls', tlsVerify: false })
    for (let i = 0; i < 20; i++) expect((await session.send(mail())).kind).toBe('accepted')
    expect(server.connections).toHaveLength(1)
    expect(session.sent).toBe(20)
  })

  it('may have an empty reverse-path', async () => {
    const { server, session } = await start()
    await session.send(mail({ from: '' }))
    expect(server.messages[0]?.from).toBe('')
  })
})

describe('the end of the message', () => {
  /** Accepts everything and keeps every byte; tells when so many have come. */
  async function startRecorder(replyToDot: boolean) {
    let received = ''
    const sockets = new Set<Socket>()
    let wake: () => void = () => undefined
    const closed = new Set<Promise<unknown>>()
    const listening: Server = createServer((socket) => {
      sockets.add(socket)
      closed.add(new Promise((resolve) => socket.once('close', resolve)))
      socket.on('error', () => socket.destroy())
      socket.write('220 hi\r\n')
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1')
        received += text
        if (/^EHLO/.test(text)) socket.write('250 hi\r\n')
        else if (/^(MAIL|RCPT|RSET)/.test(text)) socket.write('250 ok\r\n')
        else if (/^DATA/.test(text)) socket.write('354 go\r\n')
        if (replyToDot && received.endsWith('\r\n.\r\n')) socket.write('250 done\r\n')
        wake()
      })
    })
    await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
    const address = listening.address()
    return {
      port: typeof address === 'object' && address !== null ? address.port : 0,
      received: () => received,
      async until(isMet: () => boolean) {
        while (!isMet()) await new Promise<void>((resolve) => (wake = resolve))
      },
      allClosed: () => Promise.all(closed),
      async close() {
        for (const socket of sockets) socket.destroy()
        await new Promise((resolve) => listening.close(resolve))
      },
    }
  }

  it('is not written, nor the CRLF before it, until the caller has agreed', async () => {
    const recorder = await startRecorder(true)
    session = await openTo(recorder.port)
    const { promise: agreed, resolve: agree } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const beforeFinalDot = () => {
      ask()
      return agreed
    }
    const sending = session.send(mail({ beforeFinalDot }))
    await asked
    await recorder.until(() => recorder.received().endsWith('second line'))
    await manyTurns()
    expect(recorder.received().endsWith('\r\n..second line')).toBe(true)
    agree()
    expect((await sending).kind).toBe('accepted')
    expect(recorder.received().endsWith('\r\n..second line\r\n.\r\n')).toBe(true)
    await recorder.close()
  })

  it('is never written when the caller does not agree, and the connection is closed', async () => {
    const recorder = await startRecorder(true)
    session = await openTo(recorder.port)
    const result = await session.send(
      mail({ beforeFinalDot: () => Promise.reject(new Error('the claim was lost')) }),
    )
    expect(result).toEqual({
      kind: 'failed',
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'EABORTED', message: 'the claim was lost' },
      sessionUsable: false,
      isStale: false,
    })
    await recorder.allClosed()
    expect(recorder.received()).not.toContain('\r\n.\r\n')
    expect(session.isUsable).toBe(false)
    await recorder.close()
  })

  it('is never written when the caller agrees after the deadline', async () => {
    const recorder = await startRecorder(true)
    session = await openTo(recorder.port)
    const { promise: agreed, resolve: agree } = Promise.withResolvers<void>()
    const result = await session.send(
      mail({ beforeFinalDot: () => agreed, deadlineAt: performance.now() + 100 }),
    )
    expect(result).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'ETIMEDOUT' },
      sessionUsable: false,
    })
    agree()
    await recorder.allClosed()
    expect(recorder.received()).not.toContain('\r\n.\r\n')
    await recorder.close()
  })

  it('is not written when the connection was lost while the caller decided', async () => {
    const { server, session } = await start()
    const beforeFinalDot = () => server.close().then(manyTurns)
    const result = await session.send(mail({ beforeFinalDot }))
    expect(result).toMatchObject({ phase: 'before-dot', sessionUsable: false })
  })

  it('is decided only once the server has asked for the message', async () => {
    let asked = 0
    const { session } = await start({
      script: ({ phase }) => (phase === 'data' ? '451 4.3.0 no' : undefined),
    })
    const beforeFinalDot = () => {
      asked += 1
      return Promise.resolve()
    }
    await session.send(mail({ beforeFinalDot }))
    expect(asked).toBe(0)
  })
})

for (const extensions of [undefined, NO_PIPELINING])
  describe(extensions === undefined ? 'refusals, pipelined' : 'refusals, step by step', () => {
    const options = extensions === undefined ? {} : { extensions }

    for (const [phase, stage] of [
      ['mail', 'mail'],
      ['rcpt', 'rcpt'],
      ['data', 'data'],
      ['dot', 'dot'],
    ] as const)
      for (const code of [450, 550])
        it(`${code} at ${phase} is told with its text, and the session goes on`, async () => {
          const text = `${code}-${String(code)[0]}.2.0 not\n${code} now`
          const { server, session } = await start({
            ...options,
            script: (at) => (at.phase === phase ? text : undefined),
          })
          expect(await session.send(mail())).toEqual({
            kind: 'failed',
            phase: stage === 'dot' ? 'after-dot' : 'before-dot',
            failure: { stage, reply: { code, text: text.replace('\n', ' ') } },
            sessionUsable: true,
            isStale: false,
          })
          server.setScript(undefined)
          expect((await session.send(mail())).kind).toBe('accepted')
          expect(server.connections).toHaveLength(1)
          expect(server.messages).toHaveLength(1)
        })

    for (const [phase, stage] of [
      ['mail', 'mail'],
      ['rcpt', 'rcpt'],
      ['data', 'data'],
      ['dot', 'dot'],
    ] as const)
      it(`421 at ${phase} is told with its text and ends the session`, async () => {
        const { session } = await start({
          ...options,
          script: (at) => (at.phase === phase ? '421 4.7.0 going away >> fin' : undefined),
        })
        const result = await session.send(mail())
        expect(result).toMatchObject({
          kind: 'failed',
          phase: stage === 'dot' ? 'after-dot' : 'before-dot',
          failure: { stage, reply: { code: 421, text: '421 4.7.0 going away' } },
          sessionUsable: false,
        })
        expect(session.isUsable).toBe(false)
      })

    for (const phase of ['mail', 'rcpt', 'data', 'body'] as const)
      for (const what of ['fin', 'rst'])
        it(`${what} at ${phase} is surely not sent`, async () => {
          const { session } = await start({
            ...options,
            script: (at) => (at.phase === phase ? what : undefined),
          })
          const message = Buffer.from(`Subject: x\r\n\r\n${'0123456789\r\n'.repeat(200_000)}`)
          const result = await session.send(mail({ message, beforeFinalDot: never }))
          expect(result).toMatchObject({ phase: 'before-dot', sessionUsable: false })
          if (result.kind === 'failed')
            expect(classifyFailure(result.failure)).toMatchObject({
              category: 'network',
              retryable: true,
            })
        })

    for (const phase of ['mail', 'rcpt', 'data'] as const)
      for (const what of ['hang', 'drip 20 250 ok but only in a very long while'])
        it(`${what} at ${phase} is cut at the deadline, before the dot`, async () => {
          const { session } = await start({
            ...options,
            script: (at) => (at.phase === phase ? what : undefined),
          })
          expect(await session.send(mail({ deadlineAt: performance.now() + 150 }))).toMatchObject({
            phase: 'before-dot',
            failure: { systemCode: 'ETIMEDOUT' },
            sessionUsable: false,
            isStale: false,
          })
        })
  })

describe('a reply after the end of the message', () => {
  it.each([
    ['fin', undefined],
    ['rst', undefined],
    ['250 ok >> rst', undefined],
    ['garbage', undefined],
    ['endless', undefined],
    ['hang', 200],
    ['drip 50 250 queued but very slowly indeed, for the fun of it', 200],
  ])('is uncertain for %s, unless it arrived', async (what, timeoutMs) => {
    const { session } = await start({ script: (at) => (at.phase === 'dot' ? what : undefined) })
    const deadlineAt = performance.now() + (timeoutMs ?? 10_000)
    const result = await session.send(mail({ deadlineAt }))
    if (result.kind === 'accepted') return expect(what).toBe('250 ok >> rst')
    expect(result).toMatchObject({ phase: 'after-dot', sessionUsable: false })
    expect(result.failure.stage).toBe('dot')
    expect(result.failure.reply).toBeUndefined()
    expect(classifyFailure(result.failure).category).toBe('uncertain')
  })

  it.each(['25', '250', '250 ok', '2', '250-ok\r\n250'])(
    'is uncertain when it is cut off at %j',
    async (raw) => {
      const { session } = await start({
        script: ({ phase }) => (phase === 'dot' ? { raw, ending: 'fin' } : undefined),
      })
      const result = await session.send(mail())
      expect(result).toMatchObject({ kind: 'failed', phase: 'after-dot', sessionUsable: false })
      if (result.kind === 'failed') expect(result.failure.reply).toBeUndefined()
    },
  )

  it.each(['25\r\n', '2ok\r\n', '354 go on\r\n', '150 well\r\n', 'thanks!\r\n', '999 ok\r\n'])(
    'is uncertain when it is not final: %j',
    async (raw) => {
      const { session } = await start({
        script: ({ phase }) => (phase === 'dot' ? { raw } : undefined),
      })
      const result = await session.send(mail())
      expect(result).toMatchObject({ kind: 'failed', phase: 'after-dot', sessionUsable: false })
      if (result.kind === 'failed') expect(result.failure.reply).toBeUndefined()
    },
  )

  it('keeps unusual characters of a refusal', async () => {
    const text = '554 5.7.1 \u001b[31mnein\u0007 – größer\u0000'
    const { session } = await start({
      script: ({ phase }) => (phase === 'dot' ? { raw: `${text}\r\n` } : undefined),
    })
    const result = await session.send(mail())
    expect(result).toMatchObject({ failure: { stage: 'dot', reply: { code: 554, text } } })
  })
})

describe('a server that does not wait for the end of the message', () => {
  const message = Buffer.from(`Subject: x\r\n\r\n${'0123456789\r\n'.repeat(100_000)}`)

  it('a server that does not wait for the end of the message and refuses it in the middle has surely not got it, and the connection is closed', async () => {
    const { session } = await start({
      script: ({ phase }) => (phase === 'body' ? '552 5.3.4 enough' : undefined),
    })
    const result = await session.send(mail({ message, beforeFinalDot: never }))
    expect(result).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', reply: { code: 552, text: '552 5.3.4 enough' } },
      sessionUsable: false,
    })
  })

  it('a server that does not wait for the end of the message and says 250 early has not got the message', async () => {
    const { session } = await start({
      script: ({ phase }) => (phase === 'body' ? '250 ok' : undefined),
    })
    const result = await session.send(mail({ message, beforeFinalDot: never }))
    expect(result).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'EPROTOCOL' },
      sessionUsable: false,
    })
  })

  it('a server that does not wait for the end of the message and says 250 to DATA does not get the message', async () => {
    const { session, server } = await start({
      script: ({ phase }) => (phase === 'data' ? '250 ok' : undefined),
    })
    expect(await session.send(mail())).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'EPROTOCOL' },
      sessionUsable: false,
    })
    expect(server.transactions).toHaveLength(0)
  })
})

describe('a message that the server cannot take', () => {
  it('is not sent when it is larger than its SIZE', async () => {
    const { session, server } = await start({ extensions: ['PIPELINING', 'SIZE 20'] })
    const result = await session.send(mail())
    expect(result).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'mail', systemCode: 'ESIZE' },
      sessionUsable: true,
    })
    if (result.kind === 'failed')
      expect(classifyFailure(result.failure)).toMatchObject({
        category: 'message_too_large',
        retryable: false,
      })
    expect(server.connections[0]?.commands.some((line) => line.startsWith('MAIL'))).toBe(false)
    expect(session.sent).toBe(0)
  })

  it('is sent at any size when SIZE names none, or 0', async () => {
    for (const size of ['SIZE', 'SIZE 0']) {
      const { session, server } = await start({ extensions: [size] })
      expect((await session.send(mail())).kind).toBe('accepted')
      session.close()
      await server.close()
    }
  })

  it('is not sent to an address that needs SMTPUTF8 without that extension', async () => {
    const { session } = await start({ extensions: ['PIPELINING'] })
    const result = await session.send(mail({ to: 'änn@receiver.test', smtpUtf8: true }))
    expect(result).toMatchObject({ failure: { systemCode: 'ESMTPUTF8' }, sessionUsable: true })
    if (result.kind === 'failed') expect(classifyFailure(result.failure).retryable).toBe(false)
  })

  it('is sent with SMTPUTF8 where the server offers it', async () => {
    const { session, server } = await start()
    const result = await session.send(mail({ to: 'änn@receiver.test', smtpUtf8: true }))
    expect(result.kind).toBe('accepted')
    expect(server.messages[0]?.recipients).toEqual(['änn@receiver.test'])
    expect(server.connections[0]?.commands.find((l) => l.startsWith('MAIL'))).toContain('SMTPUTF8')
  })

  it.each([
    { extensions: ['PIPELINING', '8BITMIME', 'SMTPUTF8'] },
    { extensions: ['8BITMIME', 'SMTPUTF8'] },
    { extensions: ['SMTPUTF8'] },
  ])(
    'needs SMTPUTF8 in MAIL because of a header alone, with $extensions',
    async ({ extensions }) => {
      const { session, server } = await start({ extensions })
      const message = Buffer.from('To: änn@receiver.test\r\nSubject: SMTPUTF8\r\n\r\nhi\r\n')
      for (const smtpUtf8 of [true, false, true]) await session.send(mail({ message, smtpUtf8 }))
      const body = extensions.includes('8BITMIME') ? ' BODY=8BITMIME' : ''
      const mails = server.connections[0]?.commands.filter((line) => line.startsWith('MAIL'))
      expect(mails).toEqual([
        `MAIL FROM:<shop@example.com>${body} SMTPUTF8`,
        `MAIL FROM:<shop@example.com>${body}`,
        `MAIL FROM:<shop@example.com>${body} SMTPUTF8`,
      ])
      expect(server.messages.map(({ raw }) => raw.toString())).toEqual(
        Array.from({ length: 3 }, () => message.toString()),
      )
    },
  )

  it('needs SMTPUTF8 once when the envelope needs it too', async () => {
    const { session, server } = await start()
    await session.send(mail({ from: 'jörg@example.com', smtpUtf8: true }))
    const said = server.connections[0]?.commands.find((line) => line.startsWith('MAIL'))
    expect(said?.match(/ SMTPUTF8/g)).toHaveLength(1)
  })

  it.each(['a@b.test\r\nRCPT TO:<evil@c.test', 'a@b.test>', 'a b@c.test', 'a\u0000@b.test', ''])(
    'is not sent to a malformed address: %j',
    async (to) => {
      const { session, server } = await start()
      expect(await session.send(mail({ to }))).toMatchObject({
        phase: 'before-dot',
        failure: { systemCode: 'EADDRESS' },
      })
      expect(server.connections[0]?.commands).toHaveLength(1)
    },
  )
})

describe('a reused connection', () => {
  it('is no longer usable when the server has closed it', async () => {
    const { session, server } = await start()
    await session.send(mail())
    await server.close()
    await new Promise<void>((resolve) => {
      const look = () => (session.isUsable ? setImmediate(look) : resolve())
      look()
    })
    expect(await session.send(mail())).toMatchObject({ phase: 'before-dot', isStale: true })
  })

  it.each(['fin', 'rst', '421 4.4.2 idle for too long >> fin'])(
    'a reused connection that answers %s to the next message was stale',
    async (what) => {
      const { session, server } = await start()
      await session.send(mail())
      server.setScript(({ phase }) => (phase === 'mail' ? what : undefined))
      expect(await session.send(mail())).toMatchObject({ phase: 'before-dot', isStale: true })
    },
  )

  it('is not stale when it fails on its first message, or in the middle', async () => {
    const { session } = await start({
      script: ({ phase }) => (phase === 'mail' ? 'fin' : undefined),
    })
    expect(await session.send(mail())).toMatchObject({ phase: 'before-dot', isStale: false })
  })

  it('is closed when RSET is not answered with 250', async () => {
    const { session } = await start({
      script: ({ phase }) =>
        phase === 'rcpt' ? '550 5.1.1 no' : phase === 'rset' ? '500 what?' : undefined,
    })
    expect(await session.send(mail())).toMatchObject({
      failure: { stage: 'rcpt', reply: { code: 550 } },
      sessionUsable: false,
    })
  })

  it('carries one transaction at a time', async () => {
    const { session } = await start()
    const first = session.send(mail())
    await expect(session.send(mail())).rejects.toThrow('one transaction')
    expect((await first).kind).toBe('accepted')
  })

  it('is closed at an unexpected reply', async () => {
    const { session, server } = await start({
      script: ({ phase }) =>
        phase === 'dot' ? { reply: '250 ok', raw: '250 and again\r\n' } : undefined,
    })
    expect((await session.send(mail())).kind).toBe('accepted')
    const next = await session.send(mail())
    expect(next).toMatchObject({ kind: 'failed', phase: 'before-dot', sessionUsable: false })
    expect(server.messages).toHaveLength(1)
  })

  it('ends the transaction under way when it is closed', async () => {
    const { session } = await start({
      script: ({ phase }) => (phase === 'dot' ? 'hang' : undefined),
    })
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const beforeFinalDot = () => {
      ask()
      return Promise.resolve()
    }
    const sending = session.send(mail({ beforeFinalDot }))
    await asked
    session.close()
    expect(await sending).toMatchObject({ kind: 'failed', sessionUsable: false })
  })

  it('sends QUIT when it is closed', async () => {
    const { session, server } = await start()
    session.close()
    session.close()
    await server.waitFor(({ connections }) => connections[0]?.commands.at(-1) === 'QUIT')
    expect(session.isUsable).toBe(false)
  })
})

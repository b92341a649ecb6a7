/**
 * What servers and networks do to a conversation, one fault each: the phase that follows, what the
 * failure is taken for, and that nothing is waited for beyond the deadline.
 */
import { createServer, type Socket } from 'node:net'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { mail, openTo, sessionOptions, TEST_CERT, TEST_KEY } from '../../test/smtp-loopback.ts'
import { classifyFailure } from '../classify-reply.ts'
import { openSmtpSession } from './open-session.ts'
import type { SendOptions, SmtpSession } from './session.ts'

let server: SmtpServer | undefined
let session: SmtpSession | undefined
afterEach(async () => {
  session?.close()
  await server?.close()
  session = undefined
  server = undefined
})

type Script = NonNullable<SmtpServerOptions['script']>
const at = (phase: string, what: ReturnType<Extract<Script, (...a: never) => unknown>>) =>
  ((context) => (context.phase === phase ? what : undefined)) satisfies Script

const NO_PIPELINING = ['SIZE 41943040', '8BITMIME']
const SOON_MS = 300

async function sendTo(script: Script, more: Partial<SendOptions> = {}, o: SmtpServerOptions = {}) {
  server = await createSmtpServer({ ...o, script })
  session = await openTo(server.port)
  const result = await session.send(mail(more))
  if (result.kind === 'accepted') return { kind: result.kind, reply: result.reply }
  const { category, retryable } = classifyFailure(result.failure)
  const { phase, failure, sessionUsable } = result
  return { kind: result.kind, phase, category, retryable, failure, sessionUsable }
}

/** A server that answers by the book, until it is told otherwise. */
async function startRaw(hear: (socket: Socket, text: string) => void) {
  const sockets = new Set<Socket>()
  const listening = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.write('220 hi\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      const before = socket.bytesWritten
      hear(socket, text)
      if (socket.bytesWritten > before) return
      if (/^(EHLO|MAIL|RCPT)/.test(text)) socket.write('250 ok\r\n')
      else if (text.startsWith('DATA')) socket.write('354 go\r\n')
    })
  })
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  const address = listening.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close() {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => listening.close(resolve))
    },
  }
}

const UNCERTAIN = {
  kind: 'failed',
  phase: 'after-dot',
  category: 'uncertain',
  sessionUsable: false,
} as const

describe('no reply after the end of the message is uncertain', () => {
  it('[M1] no reply after the end of the message is uncertain when the connection is dropped', async () => {
    expect(await sendTo(at('dot', 'rst'))).toMatchObject({
      ...UNCERTAIN,
      failure: { stage: 'dot', systemCode: 'ECONNRESET' },
    })
  })

  it('[M2] no reply after the end of the message is uncertain when the connection is ended in order', async () => {
    expect(await sendTo(at('dot', 'fin'))).toMatchObject({
      ...UNCERTAIN,
      failure: { stage: 'dot', systemCode: 'ECONNECTION' },
    })
  })

  it('[M3] no reply after the end of the message is uncertain when the server is silent until the deadline', async () => {
    const deadlineAt = performance.now() + SOON_MS
    expect(await sendTo(at('dot', 'hang'), { deadlineAt })).toMatchObject({
      ...UNCERTAIN,
      failure: { stage: 'dot', systemCode: 'ETIMEDOUT' },
    })
  })

  it.each(['25', '250-', '250-2.0.0 ok\r\n'])(
    '[M4] no reply after the end of the message is uncertain when only a piece of a reply came: %j',
    async (raw) => {
      expect(await sendTo(at('dot', { raw, ending: 'fin' }))).toMatchObject(UNCERTAIN)
      expect(server?.transactions).toHaveLength(1)
    },
  )

  it.each(['250', '250 ', '250 2.0.0 ok', '250 2.0.0 ok\r'])(
    '[M5] no reply after the end of the message is uncertain when the line of the reply has no end: %j',
    async (raw) => {
      expect(await sendTo(at('dot', { raw, ending: 'rst' }))).toMatchObject(UNCERTAIN)
      expect(await sendTo(at('dot', { raw, ending: 'fin' }))).toMatchObject(UNCERTAIN)
    },
  )
})

it('[M6] a whole reply counts, whatever happens to the connection next', async () => {
  expect(await sendTo(at('dot', { raw: '250 ok\r\n', ending: 'fin' }))).toMatchObject({
    kind: 'accepted',
  })
  const { promise: gone, resolve: go } = Promise.withResolvers<void>()
  expect(await sendTo(at('dot', { raw: '250 ok\r\n' }), { afterFinalDot: go })).toMatchObject({
    kind: 'accepted',
  })
  await gone
  // A reset may overtake the reply: then it is uncertain, and never a failure.
  const reset = await sendTo(at('dot', '250 ok >> rst'))
  if (reset.kind === 'failed') expect(reset).toMatchObject(UNCERTAIN)
})

describe('[M7] 421', () => {
  it.each([undefined, NO_PIPELINING])('421 at RCPT means not sent (%j)', async (extensions) => {
    const o = extensions === undefined ? {} : { extensions }
    expect(await sendTo(at('rcpt', '421 4.7.0 too busy >> fin'), {}, o)).toMatchObject({
      phase: 'before-dot',
      retryable: true,
      failure: { stage: 'rcpt', reply: { code: 421, text: '421 4.7.0 too busy' } },
      sessionUsable: false,
    })
  })

  it('421 after the end of the message is a sure refusal', async () => {
    expect(await sendTo(at('dot', '421 4.3.0 shutting down >> fin'))).toMatchObject({
      phase: 'after-dot',
      retryable: true,
      failure: { stage: 'dot', reply: { code: 421 } },
      sessionUsable: false,
    })
  })
})

describe('[M8] a refusal is reported with its step', () => {
  const steps = ['mail', 'rcpt', 'data', 'dot'] as const
  for (const extensions of [undefined, NO_PIPELINING])
    for (const stage of steps)
      it.each([
        [432, true],
        [451, true],
        [500, false],
        [554, false],
      ])(
        `at ${stage} (${extensions === undefined ? 'piped' : 'by steps'}): %i`,
        async (code, isRetryable) => {
          const text = `${code} ${code < 500 ? 4 : 5}.3.5 not like this`
          const o = extensions === undefined ? {} : { extensions }
          expect(await sendTo(at(stage, text), {}, o)).toMatchObject({
            phase: stage === 'dot' ? 'after-dot' : 'before-dot',
            retryable: isRetryable,
            failure: { stage, reply: { code, text } },
            sessionUsable: true,
          })
          server?.setScript(undefined)
          expect((await session?.send(mail()))?.kind).toBe('accepted')
          expect(server?.connections).toHaveLength(1)
        },
      )
})

it('[M9] a refusal in the middle of the message means not sent, and the rest is never read as commands', async () => {
  const lines = 'RSET\r\nMAIL FROM:<evil@example.com>\r\n'.repeat(50_000)
  const message = Buffer.from(`Subject: x\r\n\r\n${lines}`)
  const beforeFinalDot = () => new Promise<void>(() => undefined)
  const result = await sendTo(at('body', '552 5.3.4 enough'), { message, beforeFinalDot })
  expect(result).toMatchObject({
    phase: 'before-dot',
    retryable: false,
    category: 'message_too_large',
    failure: { stage: 'data', reply: { code: 552 } },
    sessionUsable: false,
  })
  expect(server?.messages).toHaveLength(0)
})

describe('[M10] a failed STARTTLS', () => {
  const tls = { mode: 'starttls', key: TEST_KEY, cert: TEST_CERT } as const
  it.each([
    ['refused', '454 4.7.0 not now', 'tls_unavailable', true],
    ['refused for good', '554 5.7.3 never', 'tls_unavailable', false],
    ['dropped', 'fin', 'tls_unavailable', true],
    ['reset', 'rst', 'tls_unavailable', true],
    ['nonsense in its place', 'garbage', 'protocol_error', true],
    ['a reply of another kind', '354 go ahead', 'protocol_error', true],
    ['noise behind it', { raw: '220 go\r\n\u0016\u0003garbage' }, 'protocol_error', true],
    ['an end in its middle', { reply: '220 go', ending: 'fin' }, 'tls_unavailable', true],
    ['silence instead of it', { raw: '220 go\r\n', ending: 'hang' }, 'tls_unavailable', true],
  ] as const)('sends nothing in clear: %s', async (_what, what, category, isRetryable) => {
    for (const secure of ['Auto', 'Tls'] as const) {
      const users = { ann: 'secret' }
      server = await createSmtpServer({ tls, auth: { users }, script: at('starttls', what) })
      const auth = { username: 'ann', password: 'secret' }
      const opened = await openSmtpSession(
        sessionOptions(server.port, { secure, auth, tlsVerify: false, timeoutMs: SOON_MS }),
      )
      if (opened.ok) throw new Error('a session where none was expected')
      expect(opened.failure.stage).toBe('starttls')
      expect(classifyFailure(opened.failure)).toMatchObject({ category, retryable: isRetryable })
      expect(server.connections[0]?.commands).toEqual(['EHLO mx.example.com', 'STARTTLS'])
      await server.close()
    }
  })
})

it('[M10] garbage in place of the handshake is retried, and is not a wrong port', async () => {
  const { port, close } = await startRaw((socket, text) => {
    if (text.startsWith('EHLO')) socket.write('250 STARTTLS\r\n')
    else if (text.startsWith('STARTTLS')) socket.write('220 go\r\n')
    else if (text.charCodeAt(0) === 0x16) socket.write('this is no handshake\r\n')
  })
  const opened = await openSmtpSession(sessionOptions(port, { secure: 'Tls' }))
  if (opened.ok) throw new Error('a session where none was expected')
  expect(opened.failure).toMatchObject({ stage: 'starttls' })
  expect(classifyFailure(opened.failure)).toMatchObject({
    category: 'tls_unavailable',
    retryable: true,
  })
  await close()
})

describe('[M11] the deadline', () => {
  const drip = 'and a very long text that takes its time, byte by byte by byte, without end'
  it.each([
    ['connect', `drip 20 220 ${drip}`, 'greeting'],
    ['ehlo', `drip 20 250 ${drip}`, 'ehlo'],
  ])('ends a dripping opening: %s', async (phase, what, stage) => {
    server = await createSmtpServer({ script: at(phase, what) })
    const opened = await openSmtpSession(sessionOptions(server.port, { timeoutMs: SOON_MS }))
    expect(opened).toMatchObject({ ok: false, failure: { stage, systemCode: 'ETIMEDOUT' } })
  })

  it.each(['mail', 'rcpt', 'data', 'dot'])('ends a dripping transaction: %s', async (phase) => {
    const deadlineAt = performance.now() + SOON_MS
    expect(await sendTo(at(phase, `drip 20 250 ${drip}`), { deadlineAt })).toMatchObject({
      phase: phase === 'dot' ? 'after-dot' : 'before-dot',
      category: phase === 'dot' ? 'uncertain' : 'network',
      failure: { stage: phase, systemCode: 'ETIMEDOUT' },
      sessionUsable: false,
    })
  })

  it('ends a transaction with a server that stops reading the message', async () => {
    const { port, close } = await startRaw((socket, text) => {
      if (text.startsWith('DATA')) socket.pause()
    })
    session = await openTo(port)
    const message = Buffer.from(`Subject: x\r\n\r\n${'0123456789\r\n'.repeat(2_000_000)}`)
    const deadlineAt = performance.now() + SOON_MS
    const beforeFinalDot = () => Promise.reject(new Error('asked before the message was out'))
    expect(await session.send(mail({ message, deadlineAt, beforeFinalDot }))).toMatchObject({
      phase: 'before-dot',
      failure: { stage: 'data', systemCode: 'ETIMEDOUT' },
    })
    await close()
  })

  it('ends a silent TLS handshake', async () => {
    const tls = { mode: 'starttls', key: TEST_KEY, cert: TEST_CERT } as const
    const what = { raw: '220 go\r\n', ending: 'hang' } as const
    server = await createSmtpServer({ tls, script: at('starttls', what) })
    const opened = await openSmtpSession(
      sessionOptions(server.port, { secure: 'Tls', timeoutMs: SOON_MS }),
    )
    expect(opened).toMatchObject({
      failure: { stage: 'starttls', systemCode: 'ETIMEDOUT' },
    })
  })
})

describe('[M12] replies without an end or of unusual bytes', () => {
  it.each(['mail', 'rcpt', 'data', 'dot'])('are cut when they are endless at %s', async (phase) => {
    expect(await sendTo(at(phase, 'endless'))).toMatchObject({
      phase: phase === 'dot' ? 'after-dot' : 'before-dot',
      failure: { systemCode: 'EPROTOCOL' },
      sessionUsable: false,
    })
  })

  it('keep NUL, ANSI and UTF-8, and are fit to be stored', async () => {
    const text = '554 5.7.1 \u001b[31mnein\u0007 größer\u0000 \u202e'
    const result = await sendTo(at('dot', { raw: `${text}\r\n` }))
    expect(result).toMatchObject({ failure: { stage: 'dot', reply: { code: 554, text } } })
    if (result.kind === 'failed')
      expect(classifyFailure(result.failure).providerError).not.toContain('\u0000')
  })
})

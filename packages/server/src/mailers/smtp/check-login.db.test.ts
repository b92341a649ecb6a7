import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSmtpServer } from '@postrider/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { testLimiter } from '../../../test/webhook-api.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { checkLogin } from './check-login.ts'

const pem = (name: string) =>
  readFileSync(new URL(`../../../../testkit/certs/${name}`, import.meta.url), 'utf8')

const cleanups: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function listen(onSocket: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    onSocket(socket.resume())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => new Promise((resolve) => server.close(resolve))
  return { port: (server.address() as AddressInfo).port, close }
}

/** The message to a tenant about a peer that does this to every connection. */
async function toldOf(onSocket: (socket: Socket) => void, secure: 'Auto' | 'SSL' = 'Auto') {
  const { port, close } = await listen(onSocket)
  cleanups.push(close)
  return told({ port, secure })
}

async function told(o: { host?: string; port: number; secure?: 'Auto' | 'SSL'; lookup?: string }) {
  const egress = createEgress({
    allowNetworks: ['127.0.0.0/8'],
    lookup: async () => {
      throw Object.assign(new Error('no address'), { code: o.lookup })
    },
  })
  cleanups.push(() => egress.close())
  const { host = '127.0.0.1', port, secure = 'Auto' } = o
  const config = { host, port, secure, tlsVerify: true, username: 'a', password: 'b' }
  const checks = {
    limit: createRateLimit({ name: 'checks', usesMax: 60, windowS: 60 }),
    limiter: testLimiter,
  }
  return checkLogin({ egress, ehloName: 'sender.example.com', checks }, 'tn_a', config).then(
    () => undefined,
    (error: unknown) => error,
  )
}

const unreachable = (message: string) => ({ code: 'mailer_unreachable', message })

describe('the message of a failed login check', () => {
  it.each([
    'SSH-2.0-OpenSSH_9.9 canary',
    '* OK [CAPABILITY IMAP4rev1 canary] ready',
    '+OK canary',
    'HTTP/1.1 400 canary',
    '299 canary',
    '5500 canary',
  ])('repeats nothing of a peer that says %s', async (banner) => {
    expect(await toldOf((socket) => socket.end(`${banner}\r\n`))).toMatchObject(
      unreachable('Could not connect to the mail server: it does not speak SMTP on this port'),
    )
  })

  it('repeats nothing but a greeting and a refusal', async () => {
    const failure = await toldOf((socket) => {
      socket.write('220 hello\r\n')
      socket.once('data', () => socket.end('canary\r\n'))
    })
    expect(failure).toMatchObject({ message: expect.not.stringContaining('canary') })
  })

  it.each(['554 5.7.1 go away', '421 4.3.2 too busy'])('repeats the refusal %s', async (reply) => {
    expect(await toldOf((socket) => socket.end(`${reply}\r\n`))).toMatchObject(
      unreachable(`Could not connect to the mail server (greeting): ${reply}`),
    )
  })

  it('is the same for a closed port and for an open port that says nothing', async () => {
    const { port, close } = await listen(() => undefined)
    await close()
    const failures = [
      await told({ port }),
      await told({ port, secure: 'SSL' }),
      await toldOf((socket) => socket.end()),
      await toldOf((socket) => socket.destroy()),
      await toldOf((socket) => socket.end('canary')),
      await toldOf((socket) => socket.destroy(), 'SSL'),
      await told({ host: 'mail.example.test', port, lookup: 'EAI_AGAIN' }),
    ]
    for (const failure of failures)
      expect(failure).toMatchObject(unreachable('Could not connect to the mail server'))
  })

  it('names what a tenant can fix', async () => {
    const message = "The mail server's host name could not be found"
    const gone = await told({ host: 'mail.example.test', port: 25, lookup: 'ENOTFOUND' })
    expect(gone).toMatchObject({
      ...unreachable(message),
      errors: [{ path: '/config/host', message }],
    })
    const plain = await toldOf((socket) => socket.write('220 hello\r\n'), 'SSL')
    expect(plain).toMatchObject(unreachable('The mail server does not speak TLS on this port'))
    const tls = { mode: 'implicit', key: pem('expired.key'), cert: pem('expired.pem') } as const
    const expired = await createSmtpServer({ tls })
    cleanups.push(() => expired.close())
    expect(await told({ port: expired.port, secure: 'SSL' })).toMatchObject({
      message: expect.stringMatching(/^The mail server's certificate .* \([A-Z_]+\)$/),
    })
  })
})

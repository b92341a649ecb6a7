import { connect as netConnect, type Socket } from 'node:net'
import { createSmtpServer, type SmtpServer } from '@postrider/testkit'
import { afterEach, expect, it } from 'vitest'
import { openSmtpSession } from './open-session.ts'

let server: SmtpServer | undefined
afterEach(async () => {
  await server?.close()
})
it('happy', async () => {
  server = await createSmtpServer({ auth: { users: { u: 'p' } } })
  const { port } = server
  const r = await openSmtpSession({
    connect: () =>
      new Promise<Socket>((res, rej) => {
        const s = netConnect(port, '127.0.0.1', () => res(s))
        s.once('error', rej)
      }),
    host: '127.0.0.1',
    port,
    secure: 'Auto',
    tlsVerify: true,
    auth: { username: 'u', password: 'p' },
    ehloName: 'mx.example.com',
    timeoutMs: 5000,
  })
  if (!r.ok) throw new Error(JSON.stringify(r))
  const res = await r.session.send({
    from: 'a@example.com',
    to: 'b@example.com',
    message: Buffer.from('Subject: x\r\n\r\nhi\r\n.dot\r\n\r\n'),
    smtpUtf8: false,
    deadlineAt: Date.now() + 5000,
    beforeFinalDot: () => Promise.resolve(),
  })
  expect(res.kind).toBe('accepted')
  r.session.close()
})

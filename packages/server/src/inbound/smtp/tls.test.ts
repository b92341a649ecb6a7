/** STARTTLS of the listener (RFC 3207), and peers that mean no TLS by it. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'
import { createRawClient, type RawClient } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { makeSelfSigned } from '../../platform/certificates/self-signed.ts'
import { certificate, sendData, useListeners } from './listener.fixture.ts'

const start = useListeners()

const TRUSTING = { ca: certificate.cert, servername: 'mx.postrider.test' }

async function beginTls(client: RawClient): Promise<RawClient> {
  expect(await client.ask('STARTTLS')).toMatch(/^220 /)
  return client.startTls(TRUSTING)
}

it('[contract 3.5] receives mail by STARTTLS, and records that in the envelope', async () => {
  const { open, stored } = await start()
  const client = await beginTls(await open())
  expect((client.socket as TLSSocket).authorized).toBe(true)
  const offered = await client.ask('EHLO client.test')
  expect(offered).not.toContain('STARTTLS')
  await client.ask('MAIL FROM:<ada@sender.test>')
  await client.ask('RCPT TO:<a@routed.test>')
  expect(await sendData(client, 'Subject: one\r\n\r\nHello\r\n')).toMatch(/^250 /)
  expect(stored[0]?.envelope.isTls).toBe(true)
  expect(stored[0]?.raw.toString()).toContain('with ESMTPS id')
  client.close()
})

it('[I12] ends a session that asks for a second handshake', async () => {
  const { open } = await start()
  const client = await open()
  expect(await client.ask('STARTTLS')).toMatch(/^220 /)
  const secure = await client.startTls({ ...TRUSTING, maxVersion: 'TLSv1.2' })
  const socket = secure.socket as TLSSocket
  const failed = await new Promise<Error | null>((resolve) => {
    socket.once('error', resolve)
    socket.renegotiate({}, resolve)
  })
  expect(failed).not.toBeNull()
  client.close()
})

it('[I12] queues the handshakes of one address beyond their limit', async () => {
  const { open, metrics, log } = await start({
    limits: { handshakeMicrosBurst: 2_000, handshakeMicrosPerSecond: 1 },
  })
  const first = await beginTls(await open())
  expect(await first.ask('EHLO client.test')).toMatch(/^250-/)
  const second = await open()
  second.send('STARTTLS\r\n')
  await expect.poll(log).toContain('"limit":"work"')
  expect(second.unread()).toBe('')
  expect(await metrics()).toContain('inbound_limits_total{limit="work"} 1')
  first.close()
  second.close()
})

it('[I12] gives the place of a handshake back when its peer has gone', async () => {
  const { open, metrics } = await start({
    limits: { handshakeMicrosBurst: 2_000, handshakeMicrosPerSecond: 10_000 },
  })
  const first = await beginTls(await open())
  const others = await Promise.all(Array.from({ length: 90 }, open))
  for (const other of others) other.send('STARTTLS\r\n')
  // A few may have had their turn, of five in a second.
  await expect.poll(metrics).toMatch(/inbound_limits_total\{limit="work"\} [89]\d/)
  for (const other of others) other.socket.end()
  await Promise.all(others.map((other) => other.end()))
  // Behind all of them it would wait for 18 s.
  const last = await beginTls(await open())
  expect(await last.ask('EHLO client.test')).toMatch(/^250-/)
  first.close()
  last.close()
})

it('forgets what was said before the handshake', async () => {
  const { openFor } = await start()
  const client = await beginTls(await openFor('a@routed.test'))
  expect(await client.ask('MAIL FROM:<ada@sender.test>')).toMatch(/^503 .*HELO/)
  await client.ask('EHLO client.test')
  expect(await client.ask('DATA')).toMatch(/^503 /)
  client.close()
})

it('ignores commands that were sent along with STARTTLS', async () => {
  const { open } = await start()
  const client = await open()
  const injected = 'EHLO evil.test\r\nMAIL FROM:<evil@sender.test>\r\nRCPT TO:<a@routed.test>\r\n'
  client.send(`STARTTLS\r\n${injected.repeat(100)}`)
  expect(await client.see(/\r\n/)).toBe('220 2.0.0 Ready to start TLS\r\n')
  const secure = await client.startTls(TRUSTING)
  expect(await secure.ask('RCPT TO:<a@routed.test>')).toMatch(/^503 .*HELO/)
  expect(await secure.ask('EHLO client.test')).toMatch(/^250-/)
  expect(await secure.ask('RCPT TO:<a@routed.test>')).toMatch(/^503 .*MAIL/)
  expect(secure.unread()).toBe('')
  secure.close()
})

it.each([
  ['noise', Buffer.alloc(2_000, 0xaa)],
  ['commands in plain text', Buffer.from('EHLO client.test\r\nMAIL FROM:<ada@sender.test>\r\n')],
  ['a record of the wrong version', Buffer.from('16030000050100000100', 'hex')],
])(
  'ends the connection when something else comes in place of a handshake: %s',
  async (_what, bytes) => {
    const { open, metrics } = await start()
    const client = await open()
    await client.ask('STARTTLS')
    client.send(bytes)
    await client.end()
    expect(client.unread()).not.toMatch(/^\d{3} /m)
    client.close()
    await expect.poll(metrics).toContain('{what="connections"} 0')
  },
)

it('ends the connection when the handshake does not come', async () => {
  const { open, metrics } = await start({ limits: { handshakeMsMax: 50 } })
  const client = await open()
  await client.ask('STARTTLS')
  await client.end()
  client.close()
  await expect.poll(metrics).toContain('{what="connections"} 0')
})

it('refuses a second STARTTLS', async () => {
  const { open } = await start()
  const client = await beginTls(await open())
  await client.ask('EHLO client.test')
  expect(await client.ask('STARTTLS')).toMatch(/^503 /)
  client.close()
})

it('[contract 3.5] uses a renewed certificate for the next connection', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-tls-'))
  const files = { cert: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const put = (pair: { readonly cert: string; readonly key: string }) => {
    for (const [name, file] of Object.entries(files)) {
      writeFileSync(`${file}.new`, name === 'cert' ? pair.cert : pair.key)
      renameSync(`${file}.new`, file)
    }
  }
  put(certificate)
  const { listener, open } = await start({ certificateFiles: files })
  const serialOf = async () => {
    const client = await open()
    await client.ask('STARTTLS')
    const secure = await client.startTls()
    const { serialNumber } = (secure.socket as TLSSocket).getPeerCertificate()
    secure.close()
    return serialNumber
  }
  const before = await serialOf()
  await listener.reloadCertificate()
  expect(await serialOf()).toBe(before)
  const renewed = makeSelfSigned({ host: 'mx.postrider.test', nowMs: Date.now(), validMs: 1e9 })
  put(renewed)
  await listener.reloadCertificate()
  expect(await serialOf()).not.toBe(before)
  // Half-way through a renewal the two do not match: the old pair stays.
  writeFileSync(files.cert, certificate.cert)
  await expect(listener.reloadCertificate()).rejects.toThrow()
  expect(await serialOf()).not.toBe(before)
  rmSync(directory, { recursive: true })
})

it('serves other peers while hostile ones send garbage', async () => {
  const { openFor, port, stored, metrics } = await start()
  const client = await openFor('a@routed.test')
  const said = [
    '\0'.repeat(5_000),
    '\xff\xfe\r\n'.repeat(50),
    'GET / HTTP/1.1\r\n\r\n',
    'MAIL FROM:<a\0b@c.test>\r\n',
  ]
  for (const bytes of said) {
    const hostile = createRawClient(port)
    await hostile.see(/^220/)
    hostile.send(Buffer.from(bytes, 'latin1'))
    hostile.socket.end()
    await hostile.end()
  }
  const line = 'x'.repeat(900_000)
  expect(await sendData(client, `Subject: \0 and long\r\n\r\n${line}\r\n`)).toMatch(/^250 /)
  expect(stored[0]?.raw.includes(line)).toBe(true)
  client.close()
  await expect.poll(metrics).toContain('{what="connections"} 0')
})

/** The SMTP listener with senders that other people wrote: what they were given is what is stored, once. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { createPostfix, type Postfix, postfixHindrance } from '@postrider/testkit/mail-servers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { mail, openTo } from '../../mail/test/smtp-loopback.ts'
import { startListener, type TestListener } from '../src/inbound/smtp/listener.fixture.ts'

const MIB = 1024 * 1024
const pem = (name: string) =>
  readFileSync(new URL(`../../testkit/certs/${name}`, import.meta.url), 'utf8')
const certificate = { key: pem('localhost.key'), cert: pem('localhost.pem') }

const hindrance = postfixHindrance()
if (hindrance !== undefined)
  process.stderr.write(`SKIPPED, the SMTP listener and Postfix: ${hindrance}\n`)

describe.skipIf(hindrance !== undefined)('mail from Postfix', () => {
  let listener: TestListener
  let postfix: Postfix
  beforeAll(async () => {
    listener = await startListener({
      bytesMax: 25 * MIB,
    })
    postfix = await createPostfix(certificate, { relayPort: listener.port, bytesMax: 30 * MIB })
    postfix.start()
  })
  afterAll(async () => {
    await postfix?.destroy()
    await listener?.stop()
  })
  let before = 0
  beforeEach(() => {
    before = listener.stored.length
  })

  const send = async (to: string, body: string | Buffer, head = 'Subject: one') => {
    const message = Buffer.concat([Buffer.from(`${head}\r\n\r\n`), Buffer.from(body)])
    const session = await openTo(postfix.port, { secure: 'None' })
    expect(await session.send(mail({ from: 'ada@recipient.test', to, message }))).toMatchObject({
      kind: 'accepted',
    })
    session.close()
  }
  const arrived = async () => {
    await expect
      .poll(() => listener.stored.length, { timeout: 25_000, message: postfix.log() })
      .toBe(before + 1)
    const stored = listener.stored.at(-1)
    if (stored === undefined) throw new Error('nothing is stored')
    const text = stored.raw.toString()
    return { ...stored, body: text.slice(text.indexOf('\r\n\r\n') + 4) }
  }

  it('arrives over STARTTLS, in eight bits, with leading dots', async () => {
    const body = '.\r\n..\r\nGrüße, 你好\r\n.end\r\n'
    await send('a@relayed.test', body)
    const stored = await arrived()
    expect(stored.body).toBe(body)
    expect(stored.envelope).toMatchObject({ isTls: true, to: ['a@relayed.test'] })
    expect(stored.raw.toString()).toMatch(/^Return-Path: <ada@recipient\.test>\r\nReceived: from /)
  })

  it('arrives with 25 MB', async () => {
    const line = `${'0123456789'.repeat(7)}\r\n`
    const body = line.repeat(Math.floor((25 * MIB - 4_096) / line.length))
    await send('a@relayed.test', body)
    expect((await arrived()).body.length).toBe(body.length)
  }, 60_000)

  it('mail from Postfix for an unknown user is refused, and its sender is told', async () => {
    const known = postfix.mailbox('ada').length
    await send('nobody@relayed.test', 'Hello\r\n')
    await expect.poll(() => postfix.mailbox('ada').length, { timeout: 20_000 }).toBe(known + 1)
    const report = postfix.mailbox('ada').find((text) => text.includes('nobody@relayed.test'))
    expect(report).toMatch(/Status: 5\.1\.1/)
    expect(report).toContain('550 5.1.1 No such user')
    expect(listener.stored.length).toBe(before)
  }, 30_000)

  it('mail from Postfix that is too large is refused, and its sender is told', async () => {
    await send('a@relayed.test', `${'x'.repeat(70)}\r\n`.repeat(380_000))
    const refused = () => postfix.mailbox('ada').filter((text) => /Status: 5\.3\.4/.test(text))
    await expect.poll(() => refused().length, { timeout: 25_000 }).toBe(1)
    expect(listener.stored.length).toBe(before)
  }, 60_000)
})

const SWAKS = '/usr/bin/swaks'
if (!existsSync(SWAKS))
  process.stderr.write('SKIPPED, the SMTP listener and swaks: not installed\n')

describe.skipIf(!existsSync(SWAKS))('mail from swaks', () => {
  const run = promisify(execFile)

  it.each([
    ['by itself', []],
    ['with pipelining', ['--pipeline']],
  ] as const)('arrives %s, for many recipients', async (_what, options) => {
    const { port, stored, stop } = await startListener()
    const to = Array.from({ length: 100 }, (_, i) => `u${i}@routed.test`)
    const { stdout } = await run(SWAKS, [
      ...['--server', '127.0.0.1', '--port', String(port)],
      ...['--from', 'ada@sender.test', '--to', to.join(','), '--ehlo', 'client.test'],
      ...['--header', 'Subject: from swaks', '--body', 'Hello', ...options],
    ])
    expect(stdout).toContain('250 2.0.0 queued as in_1')
    expect(stored[0]?.envelope).toMatchObject({ to, helo: 'client.test' })
    await stop()
  })
})

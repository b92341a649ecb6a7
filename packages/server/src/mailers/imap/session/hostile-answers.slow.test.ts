/**
 * A real connection to a server whose answers come from a seed: what each costs this thread, by CPU time.
 * Everything runs in one thread here, the server too: what is measured is more than reading costs.
 */
import {
  createImapServer,
  createRandom,
  type ImapServer,
  imapBombs,
  makeImapLine,
  makeImapLines,
} from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createEgress, type Egress } from '../../../platform/egress/index.ts'
import type { ImapSession } from './imap-session.ts'
import { openMailbox } from './open-mailbox.ts'
import { createWireGuard, type ImapBound } from './wire-guard.ts'

let imap: ImapServer
let egress: Egress
let broken: ImapBound[] = []
beforeAll(async () => {
  imap = await createImapServer()
  egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
})
afterEach(() => {
  imap.setScript(undefined)
  broken = []
})
afterAll(async () => {
  await imap.close()
  await egress.close()
})

const LIMIT = { stage: 'fetch', timeoutMs: 20_000 } as const
const BLOCK_MS_MAX = 50
/** A line costs up to twice as much CPU time where other programs take the processor's caches. */
const SLOWED = 2

async function open(): Promise<ImapSession> {
  const opened = await openMailbox(
    { egress, onImapBound: (bound) => broken.push(bound) },
    {
      host: '127.0.0.1',
      port: imap.port,
      secure: 'None',
      tlsVerify: true,
      username: 'ada@example.com',
      password: 'secret',
    },
    { timeoutMs: 10_000 },
  )
  if (!opened.ok) throw new Error(JSON.stringify(opened.failure))
  await opened.session.run(LIMIT, (client) => client.mailboxOpen('INBOX', { readOnly: true }))
  return opened.session
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** What reading costs by the guard's own measure. */
function chargeMs(text: string): number {
  const guard = createWireGuard()
  guard.begin()
  guard.beginCommand({ contentBytesMax: 1_048_576, isForMessages: true })
  const bytes = Buffer.from(text, 'latin1')
  let us = 0
  for (let at = 0; at < bytes.length; at += 65_536) {
    guard.inspect(bytes.subarray(at, at + 65_536))
    us += guard.costUs
  }
  return us / 1_000
}

const commands: Readonly<Record<string, (session: ImapSession) => Promise<unknown>>> = {
  NOOP: (session) => session.run(LIMIT, (client) => client.noop()),
  'UID FETCH': (session) =>
    session.run(LIMIT, async (client) => {
      for await (const _ of client.fetch('1:*', { uid: true, size: true }, { uid: true }));
    }),
  'UID SEARCH': (session) =>
    session.run(LIMIT, (client) => client.search({ all: true }, { uid: true })),
  LIST: (session) => session.run(LIMIT, (client) => client.list()),
  STATUS: (session) => session.run(LIMIT, (client) => client.status('INBOX', { messages: true })),
}

it('[B10] parses no accepted or refused answer for 50 ms', async () => {
  const random = createRandom(7)
  const lines = makeImapLines(random.next, { bytes: 15_500, each: 3 })
  const kinds = new Set(lines.map(({ kind }) => kind))
  expect(lines.length).toBeGreaterThan(100)
  let session = await open()
  imap.deliver('INBOX', 'Subject: one\r\n\r\n')
  for (const text of lines.slice(0, 40).map((one) => one.text)) {
    // Until the parser is compiled.
    imap.setScript(({ command }) => (command === 'NOOP' ? { before: latin1(text) } : undefined))
    await commands.NOOP?.(session).catch(() => undefined)
    if (!session.isOpen) session = await open()
  }
  const longest = { ms: 0, name: '' }
  for (const name of Object.keys(commands))
    for (const line of lines) {
      imap.setScript(({ command }) =>
        command === name ? { before: latin1(line.text) } : undefined,
      )
      const before = cpuMs()
      await commands[name]?.(session).catch(() => undefined)
      const ms = cpuMs() - before
      if (ms > longest.ms) Object.assign(longest, { ms, name: `${name}, ${line.name}` })
      imap.setScript(undefined)
      if (!session.isOpen) session = await open()
    }
  await session.close()
  process.stdout.write(`longest: ${longest.ms.toFixed(1)} ms, ${longest.name}\n`)
  expect(kinds.size).toBeGreaterThan(20)
  expect(longest.ms, longest.name).toBeLessThan(BLOCK_MS_MAX)
}, 120_000)

it.each(imapBombs)(
  '[B10] ends the connection within 50 ms at $name from the server',
  async ({ text, bound }) => {
    const session = await open()
    imap.setScript(({ command }) => (command === 'STATUS' ? { before: latin1(text) } : undefined))
    const startMs = cpuMs()
    const failed = await commands.STATUS?.(session).catch((error: unknown) => error)
    expect(cpuMs() - startMs).toBeLessThan(BLOCK_MS_MAX)
    expect(broken).toEqual([bound])
    expect(failed).toMatchObject({
      failure: { systemCode: 'ETOOMUCH', message: expect.stringContaining(bound) },
    })
  },
)

it('[B11] says so when a command times out because its connection has to wait', async () => {
  const session = await open()
  // Cheap to read, and charged as what is not.
  const flood = `* OK ${'x'.repeat(16_000)}\r\n`.repeat(240)
  imap.setScript(({ command }) => (command === 'STATUS' ? { before: flood } : undefined))
  const failed = await session
    .run({ ...LIMIT, timeoutMs: 2_000 }, (client) => client.status('INBOX', { messages: true }))
    .catch((error: unknown) => error)
  expect(failed).toMatchObject({
    failure: { systemCode: 'ETIMEDOUT', message: expect.stringContaining('the bound imap_pace') },
  })
})

it('[B11] charges a flood with more than it costs a machine that nothing else slows down', async () => {
  const random = createRandom(11)
  const header = 'Message-ID: <1.abcdefghijklmnopqrstuvwxyz@mail.example.com>\r\n\r\n'
  const floods = {
    exists: '* 5 EXISTS\r\n'.repeat(20_000),
    'blank lines': '\r\n'.repeat(20_000),
    'no response': '*\r\n'.repeat(20_000),
    flags: '* 1 FETCH (UID 1 FLAGS (\\Seen))\r\n'.repeat(10_000),
    rows: `* 1 FETCH (UID 1 INTERNALDATE "17-Jul-2026 02:44:25 +0000" RFC822.SIZE 1 BODY[HEADER.FIELDS (MESSAGE-ID)] {${header.length}}\r\n${header})\r\n`.repeat(
      4_000,
    ),
    literals: `* OK ${'{0}\r\n'.repeat(256)}\r\n`.repeat(100),
    bombs: Array.from({ length: 400 }, () => makeImapLine(random.next, 1_000).text)
      .filter((text) => createWireGuard().inspect(latin1(text)) === undefined)
      .join(''),
  }
  for (const [name, text] of Object.entries(floods)) {
    const session = await open()
    imap.setScript(({ command }) => (command === 'NOOP' ? { before: latin1(text) } : undefined))
    await commands.NOOP?.(session).catch(() => undefined)
    if (!session.isOpen) continue
    // The least of three: the processor's time grows when other programs take its caches.
    let ms = Number.POSITIVE_INFINITY
    for (let i = 0; i < 3 && session.isOpen; i += 1) {
      const startMs = cpuMs()
      await commands.NOOP?.(session).catch(() => undefined)
      ms = Math.min(ms, cpuMs() - startMs)
    }
    process.stdout.write(`${name}: ${ms.toFixed(0)} ms of ${chargeMs(text).toFixed(0)}\n`)
    expect(ms, name).toBeLessThan(SLOWED * chargeMs(text))
    session.cut()
  }
}, 120_000)

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** Servers that do what they should not: nothing is lost, and nothing is without a bound. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createMailboxBench, type MailboxBench, mail } from '../../../test/mailboxes.ts'
import { createFetchTurns } from './measured-watchers.ts'

let bench: MailboxBench
beforeAll(async () => {
  bench = await createMailboxBench()
})
afterEach(() => bench.clear())
afterAll(() => bench.close())

const idle = () => bench.server.waitFor(({ idleConnections }) => idleConnections === 1)
/** Asks for messages as a whole. */
const isWhole = (line: string) => line.includes('BODY.PEEK[]')
const asksForSecond = (line: string) => /FETCH (?:1:[23]|2|2:3) /.test(line)

describe('a server that answers the fetch of a message', () => {
  it.each([
    ['a literal that is larger than may be', { raw: '* 2 FETCH (UID 2 BODY[] {99999999}\r\nxxxx' }],
    ['a line without an end', { raw: `* 2 FETCH (UID 2 X "${'x'.repeat(600_000)}` }],
    ['a connection that ends', { ending: 'rst' }],
    [
      'a connection that ends in the middle',
      { piecesMax: 0, raw: '* 2 FETCH (UID 2 BODY[] {50}\r\nMess', ending: 'fin' },
    ],
    ['garbage, and the end', { raw: ' )]} \0\r\n* FETCH (((\r\n', ending: 'fin' }],
  ] as const)(
    '[B1] a server that answers the fetch of a message with %s has it reported by its header, and the others whole',
    async (_, action) => {
      await bench.add()
      const first = await bench.watch()
      await idle()
      await first.stop()
      for (const n of [1, 2, 3]) bench.server.deliver('INBOX', mail(n))
      bench.server.setScript(({ command, line }) =>
        command === 'UID FETCH' && isWhole(line) && asksForSecond(line) ? action : undefined,
      )
      await bench.watch()
      await bench.untilSubjects('mail 1', 'mail 2', 'mail 3')
      const problem = 'The mail server did not give the whole message: only its header is here'
      expect(await bench.stored()).toMatchObject([
        { problem: null, text: mail(1) },
        { problem, text: 'Message-ID: <2@x.test>\r\nSubject: mail 2\r\n\r\n' },
        { problem: null, text: mail(3) },
      ])
    },
  )

  it('a server that answers the fetch of a message with NIL has it reported by its Message-ID, and the next one follows', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    const nil = Buffer.from('* 1 FETCH (UID 1 BODY[] NIL BODY[HEADER]<0> NIL)\r\n')
    bench.server.setScript(({ command, line, answer }) =>
      command === 'UID FETCH' && /FETCH 1(:2)? .*BODY\.PEEK\[(HEADER)?\]/.test(line)
        ? { piecesMax: 0, raw: Buffer.concat([nil, ...answer.slice(-1)]) }
        : undefined,
    )
    bench.server.deliver('INBOX', mail(1))
    bench.server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 2')
    expect(await bench.stored()).toMatchObject([
      {
        text: 'Message-ID: <1@x.test>\r\n\r\n',
        problem: 'The mail server did not give the message',
      },
      { text: mail(2), problem: null },
    ])
  })

  it('a server that answers the fetch of a message without a size has it reported whole, without an error', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    bench.server.setScript(({ command, answer }) =>
      command === 'UID FETCH'
        ? {
            piecesMax: 0,
            raw: Buffer.from(
              Buffer.concat(answer)
                .toString('latin1')
                .replaceAll(/RFC822\.SIZE \d+ ?/g, ''),
              'latin1',
            ),
          }
        : undefined,
    )
    const large = `${mail(1)}${'x'.repeat(200_000)}`
    bench.server.deliver('INBOX', large)
    await bench.untilSubjects('mail 1')
    expect(await bench.stored()).toMatchObject([{ text: large, problem: null }])
    expect(await bench.events()).toEqual([])
  })

  it('[B4] a server that answers the fetch of a message with nothing has it reported by its Message-ID', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    bench.server.setScript(({ command, line }) =>
      command === 'UID FETCH' && /BODY\.PEEK\[(HEADER)?\]/.test(line)
        ? 'NO [SERVERBUG] broken'
        : undefined,
    )
    bench.server.deliver('INBOX', mail(1))
    const [stored] = await bench.until(bench.stored, (found) => found.length > 0)
    expect(stored).toMatchObject({
      text: 'Message-ID: <1@x.test>\r\n\r\n',
      problem: 'The mail server did not give the message',
    })
    bench.server.setScript(undefined)
    bench.server.deliver('INBOX', mail(2))
    await bench.untilSubjects('mail 2')
  })

  it('a server that answers the fetch of a message that was deleted meanwhile has the next ones reported', async () => {
    await bench.add()
    const first = await bench.watch()
    await idle()
    await first.stop()
    for (const n of [1, 2]) bench.server.deliver('INBOX', mail(n))
    let isDeleted = false
    bench.server.setScript(({ command, line }) => {
      if (command !== 'UID FETCH' || !isWhole(line) || isDeleted) return undefined
      isDeleted = true
      bench.server.account().expunge('INBOX', 1)
      return { reply: 'NO Some of the requested messages no longer exist' }
    })
    await bench.watch()
    await bench.untilSubjects('mail 2')
    expect(await bench.stored()).toHaveLength(1)
  })

  it('a server that answers the fetch of a message with more bytes than announced has its connection ended', async () => {
    await bench.add()
    await bench.watch()
    await idle()
    const flood = `* 1 FETCH (UID 1 BODY[] {200000}\r\n${'x'.repeat(200_000)})\r\n`
    bench.server.setScript(({ command, line }) =>
      command === 'UID FETCH' && isWhole(line) ? { before: flood.repeat(10) } : undefined,
    )
    bench.server.deliver('INBOX', mail(1))
    const [stored] = await bench.until(bench.stored, (found) => found.length > 0)
    expect(stored?.problem).toContain('only its header')
  })
})

describe('[B12] a server that breaks a bound', () => {
  const brackets = `* OK ${'['.repeat(30_000)}\r\n`
  it.each([
    ['GREETING', 'imap_line', brackets],
    ['AUTHENTICATE', 'imap_login', '* OK wait\r\n'.repeat(10_000)],
    ['EXAMINE', 'imap_line', `* CAPABILITY ${'A '.repeat(200_000)}\r\n`],
    ['UID FETCH', 'imap_line', `* 1 FETCH (UID 1 BODYSTRUCTURE ${'('.repeat(50_000)}\r\n`],
    ['IDLE', 'imap_unasked', '* VANISHED (EARLIER) 1:4294967295\r\n'],
    ['IDLE', 'imap_line', brackets],
  ])(
    'is reported by the name of the bound, and no mail is lost: the answer to %s breaks %s',
    async (command, bound, bomb) => {
      const broken: string[] = []
      const mailerId = await bench.add()
      bench.server.setScript((now) => (now.command === command ? { before: bomb } : undefined))
      await bench.watch({ onImapBound: (name) => broken.push(name) })
      const [event] = await bench.until(bench.events, (events) => events.length > 0)
      expect(event).toMatchObject({
        event: 'IMAP_ERROR',
        owner: mailerId,
        details: {
          failed_reason: 'The mail server sent more than was asked for',
          provider_error: expect.stringContaining(`the bound ${bound}: `),
        },
      })
      expect(new Set(broken)).toEqual(new Set([bound]))
      bench.server.deliver('INBOX', mail(1))
      bench.server.setScript(undefined)
      await bench.untilSubjects('mail 1')
      expect(await bench.stored()).toHaveLength(1)
    },
  )
})

it('[B12] delays no other mailbox while it floods without end', async () => {
  const hostile = bench.server
  hostile.setScript(({ command }) =>
    command === 'IDLE'
      ? { endless: true, raw: '* 5 EXISTS\r\n* 1 FETCH (FLAGS ())\r\n' }
      : undefined,
  )
  await bench.add()
  await bench.watch()
  await hostile.waitFor((server) => server.count('IDLE') > 0)
  const other = await bench.serve()
  await bench.add({ tenantId: 'tn_b' })
  await other.waitFor(({ idleConnections }) => idleConnections === 1)
  for (let n = 1; n <= 5; n++) {
    other.deliver('INBOX', mail(n))
    await bench.untilSubjects(`mail ${n}`)
  }
  expect(hostile.openConnections).toBe(1)
})

it('[B8] looks a few times at a storm of notifications', async () => {
  await bench.add()
  const storm = Array.from({ length: 2_000 }, (_, n) => `* ${n} EXISTS\r\n`).join('')
  bench.server.setScript(({ command }) => (command === 'IDLE' ? { before: storm } : undefined))
  await bench.watch()
  await bench.server.waitFor((server) => server.count('IDLE') >= 3)
  expect(bench.server.count('UID FETCH')).toBeLessThan(20)
  bench.server.setScript(undefined)
  bench.server.deliver('INBOX', mail(1))
  await bench.untilSubjects('mail 1')
})

it.each(['IDLE'])('polls a server that offers %s and refuses it', async (refused) => {
  bench.server.setScript(({ command }) => (command === refused ? 'NO not now' : undefined))
  await bench.add()
  await bench.watch({ pollMs: 20 })
  await bench.server.waitFor((server) => server.count('IDLE') > 0)
  bench.server.deliver('INBOX', mail(1))
  await bench.untilSubjects('mail 1')
  expect(bench.server.connections).toBe(1)
})

it('reports a server without UIDVALIDITY', async () => {
  bench.server.setScript(({ command, answer }) =>
    command === 'EXAMINE'
      ? {
          piecesMax: 0,
          raw: Buffer.concat(answer.filter((one) => !one.includes('UIDVALIDITY'))),
        }
      : undefined,
  )
  await bench.add()
  await bench.watch()
  const [event] = await bench.until(bench.events, (found) => found.length > 0)
  expect(event?.details.failed_reason).toBe(
    'The mail server does not number the messages of a watched folder',
  )
})

it('[contract 3.3] does not trust a PREAUTH greeting where TLS is required', async () => {
  bench.server.setScript(({ command }) =>
    command === 'GREETING'
      ? { piecesMax: 0, raw: '* PREAUTH [CAPABILITY IMAP4rev1] hi\r\n' }
      : undefined,
  )
  const { port } = bench.server
  const config = { host: '127.0.0.1', port, secure: 'Tls', tlsVerify: true, username: 'x' } as const
  await bench.add({ config })
  await bench.watch()
  const [event] = await bench.until(bench.events, (found) => found.length > 0)
  expect(event).toMatchObject({
    event: 'IMAP_ERROR',
    details: { failed_reason: 'The mail server could not start an encrypted connection' },
  })
})

it.each([
  ['a listing', (line: string) => line.includes('RFC822.SIZE')],
  ['IDLE', (line: string) => line === 'IDLE'],
] as const)(
  '[B5] ends the connection at %s with a literal as large as a message',
  async (_, isMeant) => {
    await bench.add()
    await bench.watch({ messageBytesMax: 25 * 1024 * 1024 })
    await idle()
    let isCut = false
    bench.server.setScript(({ connection, line }) => {
      if (connection > 1) isCut = true
      if (isCut || !isMeant(line)) return undefined
      return { before: `* 1 FETCH (UID 1 X {4000000}\r\n${'x'.repeat(100)}` }
    })
    bench.server.deliver('INBOX', mail(1))
    await bench.server.waitFor(() => isCut)
    await bench.untilSubjects('mail 1')
  },
)

it('[B7] gives the place of a slow server to others, and continues with it later', async () => {
  const slow = bench.server
  let hanging = 0
  slow.setScript(({ command, line, connection }) => {
    if (command !== 'UID FETCH' || !isWhole(line) || connection > 3) return undefined
    hanging += 1
    return 'hang'
  })
  const turns: boolean[] = []
  const inTurn = createFetchTurns()
  for (let n = 0; n < 3; n++) await bench.add()
  await bench.watch({
    turnMs: 300,
    inTurn(o, work) {
      turns.push(o.isSlow)
      return inTurn(o, work)
    },
  })
  await bench.server.waitFor(({ idleConnections }) => idleConnections === 3)
  slow.deliver('INBOX', mail(1))
  await bench.server.waitFor(() => hanging === 3)
  const other = await bench.serve()
  await bench.add()
  await bench.server.waitFor(({ idleConnections }) => idleConnections === 1)
  other.deliver('INBOX', mail(2))
  await bench.untilSubjects('mail 2')
  await bench.until(bench.stored, (found) => found.length === 4)
  expect(turns.filter((isSlow) => isSlow).length).toBeGreaterThanOrEqual(3)
  const [one] = await bench.stored()
  expect(one).toMatchObject({ problem: null })
})

it('[B7] ends a hanging fetch at a stop', async () => {
  await bench.add()
  const watchers = await bench.watch()
  await idle()
  let isHanging = false
  bench.server.setScript(({ command, line }) => {
    if (command !== 'UID FETCH' || !isWhole(line)) return undefined
    isHanging = true
    return 'hang'
  })
  bench.server.deliver('INBOX', mail(1))
  await bench.server.waitFor(() => isHanging)
  await watchers.stop()
  await bench.server.waitFor(({ openConnections }) => openConnections === 0, 1_000)
  bench.server.setScript(undefined)
  await bench.watch()
  await bench.untilSubjects('mail 1')
}, 20_000)

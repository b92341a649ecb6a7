/** What a server says is bounded before it is parsed, whatever pieces it comes in. */
import { createRandom, makeImapLines } from '@postrider/testkit'
import { ImapStream } from 'imapflow/lib/handler/imap-stream.js'
import { describe, expect, it } from 'vitest'
import { createWireGuard, type ImapBound } from './wire-guard.ts'

const MIB = 1024 * 1024
const KIB = 1024

function guard(o: { isForMessages?: boolean; isLoggedIn?: boolean } = {}) {
  const made = createWireGuard()
  if (o.isLoggedIn !== false) made.begin()
  made.beginCommand({ contentBytesMax: MIB, isForMessages: o.isForMessages === true })
  return made
}

function boundOf(text: string, piece = text.length, o = {}): ImapBound | undefined {
  const made = guard(o)
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += piece) {
    const bound = made.inspect(bytes.subarray(at, at + piece))
    if (bound !== undefined) return bound
  }
  return undefined
}

const search = (count: number) => `* SEARCH${' 4294967295'.repeat(count)}\r\n`

describe('accepted answers', () => {
  it.each([
    [
      'an ordinary dialogue',
      '* OK [CAPABILITY IMAP4rev1] hi\r\n* 5 EXISTS\r\n+ idling\r\nA1 OK x\r\n',
    ],
    ['a line of 16 KiB', `* OK ${'x'.repeat(16 * KIB - 7)}\r\n`],
    ['a search for 40,000 messages', search(40_000)],
    ['an ESEARCH of as many', '* ESEARCH (TAG "A1") UID ALL 1:40000\r\n'],
    [
      'a header as a literal',
      `* 1 FETCH (UID 1 BODY[HEADER]<0> {900000}\r\n${'x'.repeat(900_000)})\r\n`,
    ],
    ['a folder as a literal', '* LIST () "/" {5}\r\nINBOX\r\n'],
    ['NUL before a response', '\0\0* 5 EXISTS\r\n'],
    ['a literal without bytes', '* 1 FETCH (UID 1 BODY[] {0}\r\n)\r\n'],
  ])('includes %s', (_, text) => {
    for (const piece of [1, 7, 4_096, text.length]) expect(boundOf(text, piece)).toBeUndefined()
  })
})

describe('[B10] refused answers', () => {
  it.each([
    ['imap_line', 'a line of more than 16 KiB', `* OK ${'['.repeat(16 * KIB)}\r\n`],
    ['imap_line', 'a line without an end', '* CAPABILITY '.padEnd(20 * KIB, 'A ')],
    ['imap_line', 'many literals without bytes', `* OK ${'{0}\r\n'.repeat(257)}\r\n`],
    ['imap_line', 'many short literals', '{1}\r\nx '.repeat(4 * KIB)],
    ['imap_line', 'a long literal that is no message', `* LIST () "/" {20000}\r\n`],
    ['imap_line', 'message content outside of a FETCH', `* X BODY[] {20000}\r\n`],
    [
      'imap_line',
      'a search with more than numbers',
      `* SEARCH ${'1 '.repeat(9_000)}(MODSEQ 1)\r\n`,
    ],
    ['imap_line', 'a search with two blanks', `* SEARCH  ${'1 '.repeat(9_000)}\r\n`],
    ['imap_line', 'a search with a literal', `* SEARCH ${'1 '.repeat(9_000)}{9}\r\n`],
    ['imap_literal', 'content longer than was asked for', '* 1 FETCH (BODY[] {1048577}\r\n'],
    [
      'imap_literal',
      'content in many literals',
      `* 1 FETCH (BODY[] {600000}\r\n${'x'.repeat(600_000)} BODY[] {600000}\r\n`,
    ],
    ['imap_search', 'more numbers than were searched', search(40_001)],
    ['imap_search', 'short numbers', `* SEARCH${' 1'.repeat(40_001)}\r\n`],
    ['imap_search', 'several searches', search(20_001).repeat(2)],
    ['imap_search', 'a search without an end', search(60_000)],
    ['imap_search', 'a wide range', '* ESEARCH (TAG "A1") UID ALL 1:4294967295\r\n'],
    ['imap_search', 'a range of another spelling', '* ESEARCH UID ALL 1:0xffffffff\r\n'],
    ['imap_search', 'a range within quotes', '* ESEARCH UID ALL "1:42949\\67295"\r\n'],
    ['imap_search', 'a range as a literal', '* ESEARCH UID ALL {12}\r\n1:4294967295\r\n'],
    ['imap_search', 'many ranges', '* ESEARCH UID ALL 1:30000\r\n'.repeat(2)],
    ['imap_unasked', 'VANISHED', '* VANISHED (EARLIER) 1:4294967295\r\n'],
    ['imap_unasked', 'VANISHED after NUL', '\0* VANISHED 1:4294967295\r\n'],
    ['imap_unasked', 'a name after a number', '* 1 ESEARCH UID ALL 1:4294967295\r\n'],
    ['imap_unasked', 'a quoted name after a number', '* 1 "ESEAR\\CH" UID ALL 1:9999999\r\n'],
    ['imap_folders', 'a list of more than 1 MiB', '* LIST () "/" folder\r\n'.repeat(60_000)],
    ['imap_answer', 'more than 4 MiB of other answers', '* 5 EXISTS\r\n'.repeat(400_000)],
  ] as const)('breaks %s: %s', (bound, _, text) => {
    expect(boundOf(text)).toBe(bound)
    expect(boundOf(text, 1_021)).toBe(bound)
  })

  it('breaks imap_login: more than 64 KiB before the login is done', () => {
    const text = '* OK still here\r\n'.repeat(5_000)
    expect(boundOf(text, 1_021, { isLoggedIn: false })).toBe('imap_login')
    expect(boundOf(text)).toBeUndefined()
  })
})

it('[B10] counts an answer from its command on, and counts no messages', () => {
  const row = `* 1 FETCH (UID 1 BODY[] {1000000}\r\n${'x'.repeat(1_000_000)})\r\n`
  expect(boundOf(row.repeat(40))).toBe('imap_answer')
  expect(boundOf(row.repeat(40), row.length, { isForMessages: true })).toBeUndefined()
  const made = guard()
  for (let n = 0; n < 3; n++) {
    expect(made.inspect(Buffer.from(search(30_000)))).toBeUndefined()
    made.beginCommand({ contentBytesMax: MIB, isForMessages: false })
  }
})

it('[B10] finds the ends of literals where the parser finds them', async () => {
  const random = createRandom(20)
  for (const { name, text } of makeImapLines(random.next, { bytes: 300, each: 6 })) {
    const whole = Buffer.from(`${text}* OK end\r\n`, 'latin1')
    const made = guard()
    const parser = parserOf()
    for (let at = 0; at < whole.length; ) {
      const piece = whole.subarray(at, at + 1 + random.below(60))
      if (made.inspect(piece) !== undefined) break
      expect([name, at, made.literalLeft]).toEqual([name, at, await parser.leftAfter(piece)])
      at += piece.length
    }
    parser.end()
  }
})

/** The parser's own reading of lines and literals. */
function parserOf() {
  const stream = new ImapStream({ logger: false } as never)
  stream.on('readable', () => {
    for (let one = stream.read(); one !== null; one = stream.read()) one.next()
  })
  const LITERAL = 2
  return {
    async leftAfter(bytes: Buffer): Promise<number> {
      await new Promise<void>((resolve) => {
        stream.write(Buffer.from(bytes), () => resolve())
      })
      return Reflect.get(stream, 'state') === LITERAL
        ? Number(Reflect.get(stream, 'literalWaiting'))
        : 0
    },
    end: () => stream.destroy(),
  }
}

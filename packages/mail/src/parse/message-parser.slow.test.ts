import { getPriority } from 'node:os'
import { RefusedError } from '@postrider/runtime/refused-error'
import type { ThreadOutcome } from '@postrider/runtime/thread-pool'
import { loweredFrom } from '@postrider/runtime/thread-priority'
import { afterAll, describe, expect, it } from 'vitest'
import { nicenesses } from '../../../runtime/test/nicenesses.ts'
import { createMessageParser } from './message-parser.ts'
import type { ParseJob } from './parse-job.ts'
import { FALLBACK_LIMITS } from './parse-job.ts'
import { parseHeadersOnly, parseMessage } from './parse-message.ts'
import type { ParsedMessage } from './parsed-message.ts'

const parser = createMessageParser()
afterAll(() => parser.stop())

const ordinary = Buffer.from('From: ann@example.com\r\nSubject: hello\r\n\r\nthere\r\n')

function repeat(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length))
}
const MIB = 1024 * 1024
const nestedParts = Array.from(
  { length: 5_000 },
  (_, i) => `--b${i}\nContent-Type: multipart/mixed; boundary=b${i + 1}\n\n`,
)
const bombs: readonly (readonly [name: string, text: string])[] = [
  ['1.5 MB of nested elements', `Content-Type: text/html\n\n${repeat('<div>', 1.5 * MIB)}`],
  [
    '5,000 nested multiparts',
    `Subject: b\nContent-Type: multipart/mixed; boundary=b0\n\n${nestedParts.join('')}`,
  ],
  ['100,000 headers', `${repeat('X-A: 1\n', 700_000)}\nbody`],
  ['a header of 25 MB', `Subject: ${repeat('x', 25 * MIB)}`],
  ['25 MB of folds', `Subject: a\n${repeat(' \n', 25 * MIB)}`],
  ['a million lines', `Subject: a\n\n${repeat('a\n', 2 * MIB)}`],
  ['25 MB of empty lines', `Subject: a\n\n${repeat('\n', 25 * MIB)}`],
  [
    '30 MB of base64',
    `Content-Type: a/b\nContent-Transfer-Encoding: base64\n\n${repeat('QUJD\n', 30 * MIB)}`,
  ],
  [
    '25 MB of padding',
    `Content-Type: a/b\nContent-Transfer-Encoding: base64\n\n${repeat('QQ=', 25 * MIB)}`,
  ],
  [
    'millions of parts',
    `Content-Type: multipart/mixed; boundary=b\n\n${repeat('--b\n\nx\n', 20 * MIB)}`,
  ],
  ['lines like delimiters', `${nestedParts.slice(0, 50).join('')}${repeat('--bb--\n', 20 * MIB)}`],
  ['soft breaks', `Content-Transfer-Encoding: quoted-printable\n\n${repeat('=  ', 20 * MIB)}`],
  ['25 MB of NUL', `Subject: a\n\n${repeat('\0', 25 * MIB)}`],
  ['12 million ends of lines', `Subject: a\n\n${repeat('\r\n', 25 * MIB)}`],
  ['UTF-7', `Content-Type: text/plain; charset=utf-7\n\n${repeat('+AAA-', 10 * MIB)}`],
  ['encoded words', `Subject: ${repeat('=?utf-8?B?QUJD?= ', 250_000)}\n\n`],
  ['a name of encoded words', `To: ${repeat('=?utf-8?B?QUJD?= ', 250_000)}\n\n`],
  ['nested groups', `To: ${repeat('a:', 250_000)}\n\n`],
  ['brackets', `To: ${repeat('<', 250_000)}\nReferences: ${repeat('<', 10_000)}\n\n`],
  ['parameters', `Content-Type: a/b; ${repeat('n*1=x;', 100_000)} ${repeat(' ', 100_000)}=\n\n`],
]

describe('parsing in threads', () => {
  it('gives the same result as parsing in place, with the attachments', async () => {
    const raw = Buffer.concat([
      Buffer.from('Content-Type: application/pdf; name=a.pdf\r\n\r\n'),
      Buffer.alloc(MIB, 7),
    ])
    expect(await parser.parse('tn_a', raw)).toEqual(parseMessage(raw))
    expect(await parser.parse('tn_a', ordinary)).toEqual(parseMessage(ordinary))
  })

  it.each(bombs)('[P1] ends %s within the limits, and serves others meanwhile', async (_, text) => {
    const ended = parser.parse('tn_hostile', Buffer.from(text))
    const others = await Promise.all([1, 2, 3].map(() => parser.parse('tn_other', ordinary)))
    expect(others.map(({ subject }) => subject)).toEqual(['hello', 'hello', 'hello'])
    const message = await ended
    expect(JSON.stringify(message.headers).length).toBeLessThan(2 * MIB)
  })
})

const lowered = loweredFrom(getPriority())
const countLowered = () => nicenesses().filter((niceness) => niceness === lowered).length

it.skipIf(process.platform !== 'linux')('runs large messages at low priority', async () => {
  const own = createMessageParser()
  const before = countLowered()
  await own.parse('tn_a', ordinary)
  expect(countLowered()).toBe(before)
  await own.parse('tn_a', Buffer.concat([ordinary, Buffer.alloc(MIB)]))
  expect(countLowered()).toBe(before + 1)
  await own.stop()
})

/** A parser whose threads answer so. */
function createScripted(
  whole: ThreadOutcome<ParsedMessage> | Error,
  headers: (job: ParseJob) => ThreadOutcome<ParsedMessage>,
) {
  const lifecycle = { name: 'scripted', start: async () => undefined, stop: async () => undefined }
  const pool = {
    ...lifecycle,
    run: async () => {
      if (whole instanceof Error) throw whole
      return whole
    },
  }
  return createMessageParser({
    pools: {
      small: pool,
      large: pool,
      headers: { ...lifecycle, run: async (_, job) => headers(job) },
    },
  })
}

describe('[P2] a message that exceeds the limits', () => {
  const overran = { kind: 'overran', limit: 'memory' } as const
  const raw = Buffer.concat([ordinary, Buffer.alloc(MIB)])

  it('has its headers, which are read from its beginning', async () => {
    const { parse } = createScripted(overran, ({ raw: beginning, problem = '' }) => {
      expect(beginning.length).toBeLessThan(100_000)
      return { kind: 'done', output: parseHeadersOnly(beginning, FALLBACK_LIMITS, problem) }
    })
    expect(await parse('tn_a', raw)).toMatchObject({
      subject: 'hello',
      from: { email: 'ann@example.com' },
      text: '',
      problem: 'The message takes too much memory to read',
    })
  })

  it('has only its problem when the headers exceed the limits as well', async () => {
    const { parse } = createScripted({ ...overran, limit: 'time' }, () => overran)
    expect(await parse('tn_a', raw)).toMatchObject({
      subject: '',
      headers: [],
      problem: 'The message takes too much time to read',
    })
  })
  it('or causes a defect has its headers', async () => {
    const { parse } = createScripted(
      new RangeError('a defect'),
      ({ raw: beginning, problem = '' }) => ({
        kind: 'done',
        output: parseHeadersOnly(beginning, FALLBACK_LIMITS, problem),
      }),
    )
    expect(await parse('tn_a', raw)).toMatchObject({
      subject: 'hello',
      problem: 'The message could not be read',
    })
  })
})

it('passes a refusal on to the caller: the message is not at fault', async () => {
  const { parse } = createScripted(new RefusedError('test'), () => {
    throw new Error('nothing is read')
  })
  await expect(parse('tn_a', ordinary)).rejects.toMatchObject({ name: 'RefusedError' })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classifyFailure } from './classify-reply.ts'
import { AUTH_RULES, CODE_RULES, TEXT_RULES } from './reply-table.ts'
import { addressesOf, readReply } from './reply-text.ts'

const LENGTH = 4_096

/** Whatever stands in the table in letters, and what the patterns of reply-text.ts look for. */
const FRAGMENTS = [
  ...new Set([
    ...[...AUTH_RULES, ...TEXT_RULES, ...CODE_RULES].flatMap(({ words }) =>
      [...(words?.source ?? '').matchAll(/[a-z][a-z' -]*/g)].map(([found]) => found.trim()),
    ),
    ...[
      '<',
      '@',
      'a@',
      '<a@b',
      '5.',
      '5.1.1',
      '550',
      '1.2.3.',
      'http://',
      "'",
      '’',
      '(',
      '\u00a0',
      'İ',
    ],
  ]),
]

describe('the words of a reply', () => {
  it('are few and short, so that rules have little to read', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 6_000 }),
      fc.tuple(fc.constantFrom(...FRAGMENTS), fc.nat(6_000)).map(([one, n]) => one.repeat(n)),
    )
    fc.assert(
      fc.property(text, (said) => {
        const { words } = readReply({ code: 550, text: `550 ${said}` })
        expect(words.length).toBeLessThanOrEqual(2_048)
        for (const word of words.split(/\s/)) expect(word.length).toBeLessThanOrEqual(48)
      }),
    )
  })

  it('are unchanged where a server writes for people', () => {
    const text = '550-5.7.1 storedrv.submission.exception:quotaexceeded\u2019s 550 5.7.1 limit'
    expect(readReply({ code: 550, text }).words).toBe(
      "storedrv.submission.exception:quotaexceeded's limit",
    )
  })
})

describe('addresses in a text', () => {
  it('match a pattern that would cost too much for a long text', () => {
    const PATTERN = /[^\s<>@:;,()]{1,256}@(?:\[[^\s<>@\]]{1,64}\]|[^\s<>@:;,()]{1,256})/g
    const piece = fc.oneof(
      fc.constantFrom(
        '@',
        '<',
        '>',
        ' ',
        '[',
        ']',
        ':',
        ',',
        'a',
        'example.com',
        'a@example.com',
        '@@',
      ),
      fc.string({ maxLength: 5 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('')
        const found = addressesOf(text)
        expect(found.map(({ address }) => address)).toEqual(text.match(PATTERN) ?? [])
        for (const { start, end, address } of found) expect(text.slice(start, end)).toBe(address)
      }),
    )
  })

  it('are searched for near an @ only', () => {
    expect(addressesOf(`${'a'.repeat(400)}@${'b'.repeat(400)}`)).toEqual([
      { start: 144, end: 657, address: `${'a'.repeat(256)}@${'b'.repeat(256)}` },
    ])
  })
})

/**
 * In CPU time of this thread alone, which other processes and threads have no part in, however
 * loaded the machine is; the least of three, so that neither a collection of garbage nor the
 * compilation of a pattern counts. The dearest of these costs less than a tenth of the bar, and a
 * rule that goes over the same letters again and again a multiple of it.
 */
describe('a hostile reply', () => {
  const CPU_MS_MAX = 50

  const cpuMs = (text: string, stage: 'auth' | 'rcpt'): number => {
    const start = process.threadCpuUsage()
    classifyFailure({ stage, reply: { code: Number(text.slice(0, 3)), text } })
    const { user, system } = process.threadCpuUsage(start)
    return (user + system) / 1_000
  }
  const isCheap = (text: string, stage: 'auth' | 'rcpt') =>
    [1, 2, 3].some(() => cpuMs(text, stage) < CPU_MS_MAX)

  it.each([
    ['run together', (one: string) => one],
    ['one by one', (one: string) => `${one} `],
    ['in sentences', (one: string) => `${one}. `],
    ['in words as long as a word can be', (one: string) => `${one.repeat(48).slice(0, 47)} `],
  ])('costs no more than an ordinary one: %s', (_how, shape) => {
    expect(FRAGMENTS.length).toBeGreaterThan(700)
    const dear: string[] = []
    for (const fragment of FRAGMENTS) {
      const said = shape(fragment).repeat(LENGTH).slice(0, LENGTH)
      for (const code of [450, 550])
        if (!isCheap(`${code} ${said}`, 'rcpt')) dear.push(`${code} ${fragment}`)
      if (!isCheap(`535 ${said}`, 'auth')) dear.push(`535 ${fragment}`)
    }
    expect(dear).toEqual([])
  })
})

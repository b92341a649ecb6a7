import { describe, expect, it } from 'vitest'
import type { DnsAnswer } from './dns-resolver.ts'
import { rememberAnswers } from './remember-answers.ts'

const found = (...records: string[]): DnsAnswer<string> => ({ kind: 'found', records, aliases: [] })
const absent: DnsAnswer<never> = { kind: 'absent', aliases: [] }
const unknown: DnsAnswer<never> = { kind: 'unknown', why: 'timeout', aliases: [] }

/** Answers to questions for TXT, one after the other. */
function ask(...answers: (DnsAnswer<string> | Error)[]) {
  const asked: string[] = []
  const nothing = async () => absent
  let nowMs = 0
  const resolver = rememberAnswers(
    {
      async txt(name) {
        asked.push(name)
        const answer = answers.shift()
        if (answer === undefined || answer instanceof Error) throw answer
        return answer
      },
      mx: nothing,
      a: nothing,
      aaaa: nothing,
      ptr: nothing,
      aliases: nothing,
    },
    () => nowMs,
  )
  return { resolver, asked, pass: (ms: number) => (nowMs += ms) }
}

describe('answers of name servers', () => {
  it.each([
    ['found', found('v=spf1 -all')],
    ['absent', absent],
  ])('are cached for half a minute: %s', async (_, answer) => {
    const { resolver, asked, pass } = ask(answer, found('new'))
    expect(await resolver.txt('example.com')).toEqual(answer)
    pass(29_999)
    expect(await resolver.txt('Example.COM')).toEqual(answer)
    pass(1)
    expect(await resolver.txt('example.com')).toEqual(found('new'))
    expect(asked).toEqual(['example.com', 'example.com'])
  })

  it('are shared by concurrent callers', async () => {
    const { resolver, asked } = ask(found('one'))
    const all = await Promise.all([1, 2, 3].map(() => resolver.txt('example.com')))
    expect(all).toEqual([found('one'), found('one'), found('one')])
    expect(asked).toHaveLength(1)
  })

  it('are requested again when they are unknown or large', async () => {
    const large = found('x'.repeat(5_000))
    const { resolver, asked } = ask(unknown, new Error('fault'), large, found('one'))
    expect(await resolver.txt('example.com')).toEqual(unknown)
    await expect(resolver.txt('example.com')).rejects.toThrow('fault')
    expect(await resolver.txt('example.com')).toEqual(large)
    expect(await resolver.txt('example.com')).toEqual(found('one'))
    expect(asked).toHaveLength(4)
  })

  it('are not cached for overlong names', async () => {
    const { resolver, asked } = ask(absent, absent, found('one'))
    const long = `_dmarc.${'x'.repeat(250)}`
    await resolver.txt(long)
    await resolver.txt(long)
    expect(asked).toEqual([long, long])
  })

  it('are cached for a bounded number of names, the latest', async () => {
    const { resolver, asked } = ask(...Array.from({ length: 2_002 }, () => absent))
    for (let n = 0; n <= 2_000; n += 1) await resolver.txt(`${n}.example`)
    await resolver.txt('1.example')
    expect(asked).toHaveLength(2_001)
    await resolver.txt('0.example')
    expect(asked.at(-1)).toBe('0.example')
  })

  it('belong to their question', async () => {
    const types = ['txt', 'a', 'aaaa', 'ptr', 'aliases'] as const
    const [txt, a, aaaa, ptr, aliases] = types.map((type) => async () => found(type))
    const mx = async () => absent
    if (!txt || !a || !aaaa || !ptr || !aliases) throw new Error('one of them is missing')
    const resolver = rememberAnswers({ txt, mx, a, aaaa, ptr, aliases })
    for (const type of [...types, ...types])
      expect(await resolver[type]('example.com')).toEqual(found(type))
    expect(await resolver.mx('example.com')).toEqual(absent)
  })

  it('belong to their type and name', async () => {
    const { resolver, asked } = ask(found('one'), found('two'))
    await resolver.txt('one.example')
    expect(await resolver.mx('one.example')).toEqual(absent)
    expect(await resolver.txt('two.example')).toEqual(found('two'))
    expect(asked).toEqual(['one.example', 'two.example'])
  })
})

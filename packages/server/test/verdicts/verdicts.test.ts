/**
 * Verdicts on replies and bounces against labels: a set from what servers and providers publish, and from
 * what others have collected, each judged by its meaning and not by what our code answers. What is scored is
 * the half that no rule was written from. docs/testing.md tells how right the answers have to be.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { buildBounce } from './build-bounce.ts'
import { judge, type Kind, kinds } from './judge.ts'
import { halves, readBounces, readReplies } from './labels.ts'
import { describeScore, percent, problemOf, scoreOf } from './score.ts'

const replies = readReplies()
const bounces = readBounces()

/** By kind and name, as shares: rows such as `| replies | category | 85.0 % |`. */
function bounds(): readonly (readonly [kind: Kind, name: string, atLeast: number])[] {
  const page = readFileSync(new URL('../../../../docs/testing.md', import.meta.url), 'utf8')
  return kinds.flatMap((kind) =>
    [...page.matchAll(new RegExp(`^\\| ${kind} \\| ([^|]+) \\| ([\\d.]+) % \\|$`, 'gm'))].map(
      ([, name = '', value]) => [kind, name, Number(value) / 100] as const,
    ),
  )
}

describe('[contract 7.4] verdicts on what servers say', () => {
  it.each(kinds)('on %s are as right as docs/testing.md tells, in both halves', (kind) => {
    const ofKind = bounds().filter(([one]) => one === kind)
    for (const half of halves) {
      const judged = judge(kind, half)
      const score = scoreOf(judged)
      process.stdout.write(`${kind}, ${half}: ${describeScore(judged)}\n`)
      expect([...score.keys()]).toEqual(ofKind.map(([, name]) => name))
      for (const [, name, atLeast] of ofKind)
        expect(score.get(name), `${half}: ${name}`).toBeGreaterThanOrEqual(atLeast)
    }
  })
})

describe('the labelled set', () => {
  it('is large, and in two halves', () => {
    expect(replies.length).toBeGreaterThan(900)
    expect(bounces.length).toBeGreaterThan(500)
    for (const all of [replies, bounces]) {
      const ofScore = all.filter(({ half }) => half === 'score').length / all.length
      expect(ofScore).toBeGreaterThan(0.4)
      expect(ofScore).toBeLessThan(0.6)
    }
  })

  it('says nothing twice, and where each was found', () => {
    const lines = [...replies, ...bounces].map(({ line }) => line.toLowerCase())
    expect(lines.filter((line, i) => lines.indexOf(line) !== i)).toEqual([])
    expect([...replies, ...bounces].filter(({ source }) => source === '')).toEqual([])
  })

  it('names nobody: its addresses are those that are kept for examples', () => {
    const texts = [
      ...replies.map(({ text }) => text),
      ...bounces.map((one) => Buffer.from(buildBounce(one)).toString()),
    ]
    const addresses = texts.flatMap(
      (text) => text.match(/[^\s<>"'(),:;[\]=@]+@+[\w-]+(?:\.+[\w-]+)*/g) ?? [],
    )
    const strange = addresses.filter(
      (one) => !/@(?:[\w-]+\.+)*(?:example\.+(?:com|net|org)|localhost)$/.test(one),
    )
    expect(strange).toEqual([])
    const hosts = texts.flatMap(
      (text) => text.match(/(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/g) ?? [],
    )
    expect(hosts.filter((one) => !/^(?:192\.0\.2|203\.0\.113)\.\d+$/.test(one))).toEqual([])
  })
})

describe('the score', () => {
  const judged = (verdict: 'address' | 'final' | 'later', outcome: 'suppressed' | 'final') => ({
    line: verdict,
    verdict,
    categories: ['invalid_recipient'] as const,
    answer: { outcome, category: 'unknown' as const, isTemporary: false },
  })
  const all = [
    judged('address', 'suppressed'),
    judged('address', 'final'),
    judged('final', 'suppressed'),
    judged('later', 'final'),
  ]

  it('tells precision, recall and who is taken for what', () => {
    expect(Object.fromEntries(scoreOf(all))).toEqual({
      'suppressed, precision': 1 / 2,
      'suppressed, recall': 1 / 2,
      'temporary, precision': 1,
      'temporary, recall': 0,
      category: 0,
    })
    expect(describeScore(all)).toContain(
      'suppressed  final\naddress     1           1\nfinal       1           0\nlater       0           1',
    )
    expect(all.map(problemOf)).toEqual([
      'unknown',
      'does not suppress, unknown',
      'suppresses, unknown',
      'is not tried again, unknown',
    ])
  })

  it('is rounded down', () => {
    expect(percent(0.9999)).toBe('99.9 %')
    expect(percent(1)).toBe('100.0 %')
  })
})

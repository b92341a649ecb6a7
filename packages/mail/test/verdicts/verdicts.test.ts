/**
 * Verdicts on replies and bounces against labels: a set from what servers and providers publish, and from
 * what others have collected, each judged by its meaning and not by what our code answers.
 * README.md tells of its parts, and how right the answers have to be in each.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { buildBounce } from './build-bounce.ts'
import { judge, type Kind, kinds } from './judge.ts'
import { type Part, parts, readBounces, readReplies } from './labels.ts'
import { describeScore, percent, problemOf, scoreOf } from './score.ts'

const replies = readReplies()
const bounces = readBounces()

interface Bound {
  readonly name: string
  /** Shares from 0 to 1. */
  readonly atLeast: Readonly<Record<Part, number>>
}

/** From rows such as `| replies | category | 85.0 % | 75.0 % | 70.0 % |`. */
function boundsOf(kind: Kind): readonly Bound[] {
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8')
  const rows = new RegExp(
    `^\\| ${kind} \\| ([^|]+) \\| ([\\d.]+) % \\| ([\\d.]+) % \\| ([\\d.]+) % \\|$`,
    'gm',
  )
  return [...page.matchAll(rows)].map(([, name = '', work, score, blind]) => ({
    name,
    atLeast: { work: Number(work) / 100, score: Number(score) / 100, blind: Number(blind) / 100 },
  }))
}

function scored(kind: Kind, part: Part) {
  const judged = judge(kind, part)
  process.stdout.write(`${kind}, ${part}: ${describeScore(judged)}\n`)
  return scoreOf(judged)
}

describe('[contract 7.4] verdicts on what servers say', () => {
  it.each(kinds)(
    'verdicts on %s have at least the documented precision and recall, in every part',
    (kind) => {
      const bounds = boundsOf(kind)
      for (const part of parts) {
        const score = scored(kind, part)
        expect([...score.keys()]).toEqual(bounds.map(({ name }) => name))
        for (const { name, atLeast } of bounds)
          expect(score.get(name), `${part}: ${name}`).toBeGreaterThanOrEqual(atLeast[part])
      }
    },
  )
})

it('a refused attempt has a category of the address where a bounce with its words suppresses', () => {
  const suppressed = parts
    .flatMap((part) => judge('replies', part))
    .filter(({ answer }) => answer.outcome === 'suppressed')
  const others = suppressed.filter(
    ({ answer: { category } }) =>
      category !== 'invalid_recipient' &&
      category !== 'invalid_recipient_domain' &&
      category !== 'mailbox_disabled',
  )
  expect(suppressed.length).toBeGreaterThan(400)
  expect(others.length).toBe(0)
})

describe('the labelled set', () => {
  it('is large, and more than a fifth of it is for the score alone', () => {
    expect(replies.length).toBeGreaterThan(2_800)
    expect(bounces.length).toBeGreaterThan(1_700)
    for (const all of [replies, bounces]) {
      const ofScore = all.filter(({ part }) => part !== 'work').length / all.length
      expect(ofScore).toBeGreaterThan(0.2)
      expect(ofScore).toBeLessThan(0.6)
    }
  })

  it('has no entry twice but where entries are as often as they were found', () => {
    const lines = [...replies, ...bounces]
      .filter(({ mayRepeat }) => !mayRepeat)
      .map(({ line }) => line.toLowerCase())
    expect(lines.filter((line, i) => lines.indexOf(line) !== i)).toEqual([])
  })

  it('names the source of each entry', () => {
    expect([...replies, ...bounces].filter(({ source }) => source === '')).toEqual([])
  })

  it('has addresses of example domains only', () => {
    const texts = [
      ...replies.map(({ text }) => text),
      ...bounces.map((one) => Buffer.from(buildBounce(one)).toString()),
    ]
    const addresses = texts.flatMap(
      (text) => text.match(/[^\s<>"'(),:;[\]=@]+@+[\w-]+(?:\.+[\w-]+)*/g) ?? [],
    )
    const strange = addresses.filter(
      (one) => !/@(?:[\w-]+\.+)*(?:example\.+(?:com|net|org)|localhost)(?:\.{3}User)?$/.test(one),
    )
    expect(strange).toEqual([])
    const hosts = texts.flatMap(
      (text) => text.match(/(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])/g) ?? [],
    )
    // What starts with 4 is a server's number of an error, and the rest what a list of hosts answers.
    expect(
      hosts.filter(
        (one) => !/^(?:192\.0\.2|203\.0\.113|4\.1\.1|4\.16\.55|127\.0\.0)\.\d+$/.test(one),
      ),
    ).toEqual([])
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

  it('has precision, recall and confusions', () => {
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

/**
 * Every parser against hostile input of its kinds, at the size that its door lets through. The soak run
 * (`npm run test:soak`) takes three times as many, and does the same with other seeds and with all bombs.
 */
import { bombsOf, casesOf } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { found } from './found.fixture.ts'
import { judgeParser } from './judge-parser.ts'
import { mailParsers } from './mail-parsers.ts'
import { webParsers } from './web-parsers.ts'

const SEED = 15
/** Of each kind, spread over all of them. */
const BOMBS = casesOf(13, 40)
/** Growth shows at this size, and the soak run takes the full one. */
const BYTES_MAX = 512 * 1024
const parsers = [...mailParsers, ...webParsers]

const longest: string[] = []

describe.each(parsers)('[Q1] reading $name', (parser) => {
  it.each(parser.kinds)('takes bounded CPU time for every %s', async (kind) => {
    const all = bombsOf(kind, { seed: SEED })
    const step = all.length / BOMBS
    const bombs = Array.from({ length: BOMBS }, (_, i) => all[Math.floor(i * step)])
    let most = { ms: 0, name: '' }
    for (const bomb of bombs) {
      if (bomb === undefined) continue
      const { ms, problem } = await judgeParser(parser, bomb, Math.min(parser.bytesMax, BYTES_MAX))
      expect(problem, bomb.name).toBeUndefined()
      if (ms > most.ms) most = { ms, name: bomb.name }
    }
    longest.push(`${most.ms.toFixed(1)} ms: ${parser.name}, ${most.name}`)
    expect(bombs).toHaveLength(BOMBS)
  })
})

it.each(found)(
  '[Q1] reading $parser takes bounded CPU time for $name',
  async ({ parser: name, ...bomb }) => {
    const parser = parsers.find((one) => one.name === name)
    if (parser === undefined) throw new Error(`no parser is called ${name}`)
    expect((await judgeParser(parser, bomb)).problem).toBeUndefined()
  },
)

it('prints the longest time of each kind', () => {
  process.stdout.write(`CPU time of the longest:\n${longest.map((one) => `  ${one}\n`).join('')}`)
  expect(longest.length).toBe(parsers.flatMap(({ kinds }) => kinds).length)
})

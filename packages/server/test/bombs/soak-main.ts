/**
 * Hostile input for parsers for as long as it is told: round after round, each from a seed of its own.
 * What is found is printed with the seed of its round, which finds it again in the first round.
 *
 *   node packages/server/test/bombs/soak-main.ts --seconds 60 --seed 1
 */
import { parseArgs } from 'node:util'
import { bombsOf, createRandom, type Random } from '@postrider/testkit'
import { judgeParser } from './judge-parser.ts'
import { mailParsers } from './mail-parsers.ts'
import { properties } from './properties.ts'
import { webParsers } from './web-parsers.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})
const endMs = performance.now() + Number(values.seconds) * 1_000
const mayGoOn = () => performance.now() < endMs
const parsers = [...mailParsers, ...webParsers]
const EACH = 4
const counts = { tried: 0, failed: 0 }

function note(seed: number, what: string, problem: string | undefined): void {
  counts.tried += 1
  if (problem === undefined) return
  counts.failed += 1
  process.stdout.write(
    `FOUND ${what}: ${problem}\n  again: npm run test:soak -- --only parsers --minutes 1 --seed ${seed}\n`,
  )
}

async function runRound(seed: number): Promise<void> {
  const random = createRandom(seed)
  for (const parser of parsers)
    for (const kind of parser.kinds)
      for (const bomb of pick(random, bombsOf(kind, { seed }))) {
        if (!mayGoOn()) return
        const size = Math.ceil(parser.bytesMax / 2 ** random.below(4))
        const { problem } = await judgeParser(parser, bomb, size)
        note(seed, `${parser.name}, ${bomb.name}, ${size} bytes`, problem)
      }
  for (const property of properties)
    for (const kind of property.kinds)
      for (const bomb of pick(random, bombsOf(kind, { seed }))) {
        if (!mayGoOn()) return
        const size = 1 + random.below(2 ** (4 + random.below(13)))
        const problem = await checkProperty(() => property.check(bomb.make(size)))
        note(seed, `${property.name}, ${bomb.name}, ${size} bytes`, problem)
      }
}

function pick<T>(random: Random, all: readonly T[]): readonly T[] {
  return Array.from({ length: EACH }, () => random.pick(all))
}

async function checkProperty(check: () => string | undefined | Promise<string | undefined>) {
  try {
    return await check()
  } catch (error) {
    return `throws ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`
  }
}

let rounds = 0
for (let seed = Number(values.seed); mayGoOn(); seed += 1, rounds += 1) await runRound(seed)
process.stdout.write(
  `parsers: ${rounds} rounds\n${JSON.stringify({ passed: counts.tried - counts.failed, failed: counts.failed })}\n`,
)
process.exitCode = counts.failed === 0 && counts.tried > 0 ? 0 : 1

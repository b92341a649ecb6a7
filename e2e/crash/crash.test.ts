/**
 * Whatever is killed with SIGKILL at any moment, no accepted mail and no event is lost.
 *
 * `CRASH_ROUNDS=20` runs more random rounds, `CRASH_SEED=1234` repeats one. A round that is not
 * green leaves its logs, and says where: `node e2e/crash/checker-main.ts <directory>`.
 */
import { describe, expect, it } from 'vitest'
import { namedNemesis, randomNemesis } from './nemeses.ts'
import { type Nemesis, runRound } from './run-round.ts'

const ROUND_MS = 300_000
const RANDOM_KILLS = 10
const rounds = Number(process.env.CRASH_ROUNDS ?? 1)
const firstSeed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 1e9))

async function expectGreen(seed: number, nemesis: Nemesis): Promise<void> {
  const { report, directory } = await runRound({ seed, nemesis })
  const where = `seed ${seed}, logs in ${directory}`
  expect(report.violations.slice(0, 20), where).toEqual([])
  expect(report.voidBecause, where).toEqual([])
  process.stdout.write(`crash round, seed ${seed}: ${JSON.stringify(report.counts)}\n`)
}

describe('crash test', () => {
  it(
    'keeps every promise when each process dies at each named place, the database too, or stands still',
    () => expectGreen(firstSeed, namedNemesis),
    ROUND_MS,
  )

  for (let round = 1; round <= rounds; round += 1) {
    it(
      `keeps every promise when processes die at random, seed ${firstSeed + round}`,
      () => expectGreen(firstSeed + round, randomNemesis(RANDOM_KILLS)),
      ROUND_MS,
    )
  }
})

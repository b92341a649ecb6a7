/** `CRASH_ROUNDS=20` runs more rounds, `CRASH_SEED=1234` repeats one. */
import { casesOf } from '@postrider/testkit'
import { it } from 'vitest'
import { expectGreen, firstSeed, ROUND_MS } from './expect-green.ts'
import { randomNemesis } from './nemeses.ts'

const RANDOM_KILLS = casesOf(5, 10)
const rounds = Number(process.env.CRASH_ROUNDS ?? 1)

for (let round = 1; round <= rounds; round += 1) {
  it(
    `keeps every promise when processes die at random, seed ${firstSeed + round}`,
    () => expectGreen(firstSeed + round, randomNemesis(RANDOM_KILLS)),
    ROUND_MS,
  )
}

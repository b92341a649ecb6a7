/**
 * One round of the crash test as a test: whatever is killed with SIGKILL at any moment, no accepted mail and
 * no event is lost. A round that is not green leaves its logs, and says where:
 * `node e2e/crash/checker-main.ts <directory>`.
 */
import { expect } from 'vitest'
import { type Nemesis, runRound } from './run-round.ts'

export const ROUND_MS = 300_000

/** Of `CRASH_SEED=1234`, which repeats a round, or a random one. */
export const firstSeed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 1e9))

export async function expectGreen(seed: number, nemesis: Nemesis): Promise<void> {
  const { report, directory } = await runRound({ seed, nemesis })
  const where = `seed ${seed}, logs in ${directory}`
  expect(report.violations.slice(0, 20), where).toEqual([])
  expect(report.voidBecause, where).toEqual([])
  process.stdout.write(`crash round, seed ${seed}: ${JSON.stringify(report.counts)}\n`)
}

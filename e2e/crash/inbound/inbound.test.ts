/**
 * Whatever is killed with SIGKILL at any moment while mail is received, each message is reported once.
 * `CRASH_SEED=1234` repeats a round; `npm run bench:crash:inbound` runs a large one.
 */
import { casesOf } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { forget, runInboundRound } from './run-round.ts'

const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 1e9))
const ROUND_MS = 240_000

it('each message that arrives by SMTP or in a mailbox is reported once, whichever process is killed', {
  timeout: ROUND_MS,
}, async () => {
  const round = await runInboundRound({ seed, messages: casesOf(60, 200), pauseMs: 500 })
  const where = `seed ${seed}, logs in ${round.directory}`
  expect(round.report.violations.slice(0, 20), where).toEqual([])
  process.stdout.write(`inbound round, seed ${seed}: ${JSON.stringify(round)}\n`)
  forget(round)
})

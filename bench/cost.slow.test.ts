/**
 * Holds what a mail, an open and a received mail write: rows and bytes of the write-ahead log, which are the
 * same on any machine. Statements and commits depend on how many come at once, so `npm run bench` prints them.
 *
 * A change that costs more says so: UPDATE_GOLDEN=1 npx vitest run bench/cost.slow.test.ts
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Costs, measureCosts } from './cost.ts'
import { startWorker } from './worker.ts'

const golden = new URL('cost.golden.json', import.meta.url)
const held = ['inserted', 'updated', 'deleted', 'walBytes'] as const
/** More than this part of it is a change. */
const TOLERANCE = 0.1

type Held = Record<keyof Costs, Record<(typeof held)[number], number>>

const stops: (() => unknown)[] = []
let costs: Costs
beforeAll(async () => {
  costs = await measureCosts({
    warmUp: 400,
    count: 600,
    isKeptWanted: false,
    stopAtEnd: (stop) => stops.unshift(stop),
    async startWorker(file) {
      const worker = await startWorker(file)
      stops.unshift(() => worker.stop())
      return worker
    },
  })
  if (process.env.UPDATE_GOLDEN === '1')
    writeFileSync(golden, `${JSON.stringify(toHeld(costs), null, 2)}\n`)
})
afterAll(async () => {
  for (const stop of stops.splice(0)) await stop()
})

function toHeld(all: Costs): Held {
  const one = (cost: Costs[keyof Costs]) =>
    Object.fromEntries(
      held.map((name) => [name, Number(cost[name].toFixed(name === 'walBytes' ? 0 : 2))]),
    )
  return Object.fromEntries(Object.entries(all).map(([name, cost]) => [name, one(cost)])) as Held
}

describe('what is written to the database', () => {
  const expected = (): Held => JSON.parse(readFileSync(golden, 'utf8'))
  it.each(['mail', 'open', 'received'] as const)(
    'of one %s with its event is within a tenth of the golden file',
    (name) => {
      for (const what of held) {
        // How often the places of sixteen webhooks are written depends on how many messages come at once.
        if (name === 'received' && (what === 'updated' || what === 'walBytes')) continue
        // What is written by the group, such as a counter, takes fewer updates the more come at once.
        if (name === 'open' && what === 'updated') continue
        const [now, before] = [costs[name][what], expected()[name][what]]
        const says = `${what} of one ${name}`
        expect(now, says).toBeLessThanOrEqual(before * (1 + TOLERANCE) + 0.05)
        // What became cheaper is held from then on.
        expect(now, says).toBeGreaterThanOrEqual(before * (1 - 2 * TOLERANCE) - 0.05)
      }
    },
  )
})

import { createSignal } from '@postrider/testkit'
import pino from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BucketLeases } from '../db/leases.ts'
import { type BucketSweep, createBucketSweep } from './bucket-sweep.ts'

const changed = createSignal()
let owned: Set<number>
let onChange: () => void
let looks: number[][]
let ends: ((error?: Error) => void)[]
let warnings: string[]
let sweep: BucketSweep

const leases = (): BucketLeases => ({
  name: 'leases',
  owned: () => owned,
  epochOf: () => 1,
  onChange: (listener) => {
    onChange = listener
  },
  usedBy: () => () => undefined,
  runOnce: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
})

/** A look lasts until the test ends it. */
function create(sweepMs = 2 ** 31 - 1): BucketSweep {
  const log = pino({}, { write: (line: string) => warnings.push(JSON.parse(line).msg) })
  return createBucketSweep({
    ...{ name: 'test', log, failed: 'test.failed' },
    leases: leases(),
    sweepMs,
    look: (buckets) =>
      new Promise((resolve, reject) => {
        looks.push([...buckets])
        ends.push((error) => (error === undefined ? resolve() : reject(error)))
        changed.notify()
      }),
  })
}
const until = (count: number) =>
  changed.until(() => looks.length >= count, { describe: () => `${count} looks: ${looks}` })
/** Ends the look under way and lets what follows from it happen. */
async function end(error?: Error): Promise<void> {
  ends.at(-1)?.(error)
  await new Promise((resolve) => setImmediate(resolve))
}

beforeEach(() => {
  owned = new Set([1, 2, 3])
  looks = []
  ends = []
  warnings = []
  sweep = create()
})
afterEach(async () => {
  const stopped = sweep.stop()
  for (const one of ends) one()
  await stopped
})

it('looks at all owned buckets at the start and after a change', async () => {
  await sweep.start()
  expect(looks).toEqual([[1, 2, 3]])
  await end()
  owned = new Set([7])
  onChange()
  expect(looks).toEqual([[1, 2, 3], [7]])
})

it('looks at all buckets repeatedly', async () => {
  await sweep.stop()
  sweep = create(1)
  await sweep.start()
  for (let i = 1; i <= 3; i += 1) {
    await until(i)
    await end()
  }
  expect(looks.slice(0, 3)).toEqual(Array(3).fill([1, 2, 3]))
})

it('looks at once at an owned bucket that another process announces', async () => {
  await sweep.start()
  await end()
  sweep.lookAt([2, 9])
  sweep.lookAt([9])
  expect(looks.slice(1)).toEqual([[2]])
})

it('looks once more after any number of announcements during a look', async () => {
  await sweep.start()
  for (let i = 0; i < 5; i += 1) sweep.lookAt([1, 3])
  onChange()
  expect(looks).toHaveLength(1)
  await end()
  expect(looks).toEqual([
    [1, 2, 3],
    [1, 3, 2],
  ])
  await end()
  expect(looks).toHaveLength(2)
})

it('looks at all again after a look that failed', async () => {
  await sweep.start()
  await end()
  sweep.lookAt([1])
  await end(new Error('away'))
  expect(warnings).toEqual(['test.failed'])
  await until(3)
  expect(looks).toEqual([[1, 2, 3], [1], [1, 2, 3]])
})

it('does nothing without buckets, before the start and after the stop', async () => {
  sweep.lookAt([1])
  onChange()
  owned = new Set()
  await sweep.start()
  owned = new Set([1])
  await sweep.stop()
  sweep.lookAt([1])
  onChange()
  expect(looks).toEqual([])
})

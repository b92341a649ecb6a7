/** A thread for the tests of the pool: does what it is told. */
import { openSync, readSync } from 'node:fs'
import { answerJobs, totalUs } from './thread-jobs.ts'

const hoard: unknown[] = []
answerJobs<string, unknown>((input) => {
  // biome-ignore lint/style/noProcessEnv: that there is none is what is tested
  if (input === 'env') return { output: Object.keys(process.env) }
  if (input === 'spin') for (;;);
  if (input === 'work') spinFor(300)
  if (input === 'hoard') for (;;) hoard.push(new Array(10_000).fill(hoard.length))
  // Nothing interrupts a call that waits for a byte.
  if (input.startsWith('/')) readSync(openSync(input, 'r'), Buffer.alloc(1))
  if (input === 'leave') process.exit(3)
  if (input === 'leave later') setImmediate(() => process.exit(3))
  if (input === 'throw') throw new Error('a defect')
  return { output: input.toUpperCase() }
})

function spinFor(cpuMs: number): void {
  const before = process.threadCpuUsage()
  while (totalUs(process.threadCpuUsage(before)) < cpuMs * 1_000);
}

/** A thread for the tests of the pool: does what it is told. */
import { openSync, readSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import { threadReady } from './thread-pool.ts'

const port = parentPort
const hoard: unknown[] = []
port?.on('message', (input: string) => {
  // biome-ignore lint/style/noProcessEnv: that there is none is what is tested
  if (input === 'env') return port.postMessage(Object.keys(process.env))
  if (input === 'spin') for (;;);
  if (input === 'hoard') for (;;) hoard.push(new Array(10_000).fill(hoard.length))
  // Nothing interrupts a call that waits for a byte.
  if (input.startsWith('/')) readSync(openSync(input, 'r'), Buffer.alloc(1))
  if (input === 'leave') process.exit(3)
  if (input === 'leave later') setImmediate(() => process.exit(3))
  if (input === 'throw') throw new Error('a defect')
  port.postMessage(input.toUpperCase())
})
port?.postMessage(threadReady)

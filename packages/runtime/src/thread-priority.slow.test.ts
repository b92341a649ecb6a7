import { getPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { nicenesses } from '../test/nicenesses.ts'
import { loweredFrom } from './thread-priority.ts'

const module = new URL('./thread-priority.ts', import.meta.url).href
const code = `import(${JSON.stringify(module)}).then(({ lowerPriority }) => {
  const { parentPort } = require('node:worker_threads')
  parentPort.postMessage(lowerPriority())
  parentPort.once('message', () => process.exit())
})`

it.skipIf(process.platform !== 'linux')(
  'lowers the priority of one thread, and of no other',
  async () => {
    const lowered = loweredFrom(getPriority())
    const before = nicenesses().filter((niceness) => niceness === lowered).length
    const worker = new Worker(code, { eval: true })
    const isLowered = await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    expect(isLowered).toBe(true)
    expect(nicenesses().filter((niceness) => niceness === lowered)).toHaveLength(before + 1)
    await worker.terminate()
  },
)

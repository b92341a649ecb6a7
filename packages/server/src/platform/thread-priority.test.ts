import { readdirSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { LOWERED } from './thread-priority.ts'

const module = new URL('./thread-priority.ts', import.meta.url).href
const code = `import(${JSON.stringify(module)}).then(({ lowerPriority }) => {
  const { parentPort } = require('node:worker_threads')
  parentPort.postMessage(lowerPriority())
  parentPort.once('message', () => process.exit())
})`

/** Of the threads of this process (proc(5)). */
function nicenesses(): number[] {
  return readdirSync('/proc/self/task').map((id) => {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'utf8')
    // After the name, which may hold anything.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })
}

it.skipIf(process.platform !== 'linux')('a thread is lowered, and no other', async () => {
  const before = nicenesses().filter((niceness) => niceness === LOWERED).length
  const worker = new Worker(code, { eval: true })
  const isLowered = await new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  expect(isLowered).toBe(true)
  expect(nicenesses().filter((niceness) => niceness === LOWERED)).toHaveLength(before + 1)
  await worker.terminate()
})

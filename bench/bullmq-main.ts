/**
 * A BullMQ worker that posts one event a job with undici, as a Node team would build webhooks: ten
 * attempts with exponential back-off, completed jobs removed, no record of what was delivered.
 */
import { Queue, Worker } from 'bullmq'
import { Pool } from 'undici'
import { serveParent } from './worker.ts'

export interface FillOrder {
  readonly redisPort: number
  readonly jobs: number
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface DrainOrder {
  readonly redisPort: number
  readonly jobs: number
  readonly origin: string
  readonly concurrency: number
  readonly timeoutMs: number
}

interface Job {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const name = 'webhooks'
const FILL_AT_ONCE = 1000
const connectionTo = (port: number) => ({
  host: '127.0.0.1',
  port,
  maxRetriesPerRequest: null,
})

async function fill(o: FillOrder): Promise<void> {
  const queue = new Queue<Job>(name, { connection: connectionTo(o.redisPort) })
  const opts = {
    attempts: 10,
    backoff: { type: 'exponential', delay: 5000 },
    removeOnComplete: true,
  } as const
  for (let from = 0; from < o.jobs; from += FILL_AT_ONCE) {
    const count = Math.min(FILL_AT_ONCE, o.jobs - from)
    const jobs = Array.from({ length: count }, (_, i) => {
      const path = o.paths[(from + i) % o.paths.length] ?? '/'
      return { name: 'event', data: { path, headers: o.headers, body: o.body }, opts }
    })
    await queue.addBulk(jobs)
  }
  await queue.close()
}

async function drain(o: DrainOrder): Promise<void> {
  const pool = new Pool(o.origin, { connections: o.concurrency, pipelining: 1 })
  let completed = 0
  let isDone = (): void => undefined
  const done = new Promise<void>((resolve) => {
    isDone = resolve
  })
  const worker = new Worker<Job>(
    name,
    async ({ data: { path, headers, body } }) => {
      const answer = await pool.request({ path, method: 'POST', headers, body })
      await answer.body.dump()
      if (answer.statusCode >= 300) throw new Error(`answered ${answer.statusCode}`)
    },
    { connection: connectionTo(o.redisPort), concurrency: o.concurrency, autorun: false },
  )
  worker.on('completed', () => {
    completed += 1
    if (completed === o.jobs) isDone()
  })
  const run = worker.run()
  const late = setTimeout(isDone, o.timeoutMs)
  await Promise.race([done, run])
  clearTimeout(late)
  await worker.close()
  await pool.close()
  if (completed < o.jobs) throw new Error(`${completed} of ${o.jobs} jobs were completed`)
}

serveParent({ fill, drain })

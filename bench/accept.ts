/** Accepting sends: the service's API alone, durable before the 202, against the bare route. */
import { operations } from '@postrider/contract'
import type { LoadOrder, LoadResult } from './load-main.ts'
import { mailOf } from './mail.ts'
import { cpuSeconds, treeCpuSeconds } from './measure.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import { startService } from './service.ts'
import type { Worker } from './worker.ts'

const callers = 64

export async function measureAccept(o: BenchOrder): Promise<void> {
  heading(`Accepting sends over HTTP, ${callers} callers, body of 1 kB, ${o.seconds} s a run`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const bare = await o.startWorker('./bare-route-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const service = await startService({
    roles: 'api',
    sinkPort: await sink.call('port'),
    receiverPort: await receiver.call('port'),
    connections: 16,
    logLevel: o.logLevel,
    profileDir: o.profileDir,
  })
  o.stopAtEnd(() => service.stop())
  const order = {
    path: operations.sendEmail.path,
    headers: service.headers,
    bodies: [JSON.stringify(mailOf(600))],
    callers,
  }
  const bareOrder = { ...order, origin: `http://127.0.0.1:${await bare.call('port')}` }
  const serviceOrder = { ...order, origin: service.origin }
  await post(load, { ...bareOrder, durationMs: 2000 })
  await post(load, { ...serviceOrder, durationMs: 2000 })
  const bareSamples: Sample[] = []
  const samples: Sample[] = []
  const latencies: string[] = []
  const durationMs = o.seconds * 1000
  for (let run = 0; run < o.runs; run += 1) {
    bareSamples.push(
      await sampleOf(clocksOf({ route: bare.pid, callers: load.pid }), async () => {
        const { completed, elapsedMs } = await post(load, { ...bareOrder, durationMs })
        return { units: completed, elapsedMs }
      }),
    )
    const clocks = {
      ...clocksOf({ service: service.pid, callers: load.pid }),
      postgres: () => treeCpuSeconds(service.databasePid),
    }
    samples.push(
      await sampleOf(clocks, async () => {
        const result = await post(load, { ...serviceOrder, durationMs })
        latencies.push(`${result.p50Ms.toFixed(1)}/${result.p99Ms.toFixed(1)} ms`)
        return { units: result.completed, elapsedMs: result.elapsedMs }
      }),
    )
  }
  reportRate('the same route without a database', bareSamples)
  reportRate('accepted, durable before the 202', samples)
  console.log(`  ${''.padEnd(34)} p50/p99: ${latencies.join(', ')}`)
  reportRatios('ratio', samples, bareSamples, 'at least 0.20, aim 0.25')
}

function clocksOf(pids: Readonly<Record<string, number>>): Record<string, () => number> {
  return Object.fromEntries(
    Object.entries(pids).map(([name, pid]) => [name, () => cpuSeconds(pid)]),
  )
}

async function post(load: Worker, order: LoadOrder): Promise<LoadResult> {
  const result = await load.call<LoadResult>('post', order)
  const wrong = Object.keys(result.statuses).filter((status) => status !== '202')
  if (wrong.length > 0) throw new Error(`answers: ${JSON.stringify(result.statuses)}`)
  return result
}

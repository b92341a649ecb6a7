/**
 * What 500 emails cost in one request against 500 requests: processor time of the service and of PostgreSQL for
 * 1,000 emails, both ways in one run. And what the single mails of another tenant wait beside batches.
 * The service's API alone, durable before the 202.
 */
import { batchMessagesMax, operations } from '@postrider/contract'
import type { LoadOrder, LoadResult } from './load-main.ts'
import { mailOf } from './mail.ts'
import { cpuSeconds, median, treeCpuSeconds } from './measure.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatio,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import { startService } from './service.ts'
import { setUpTenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const singleCallers = 4
const otherCallers = 4
const batchCallers = 2

export async function measureBatches(o: BenchOrder): Promise<void> {
  heading(`Batches of ${batchMessagesMax} emails of 1 kB against single requests, ${o.count} a run`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const other = await o.startWorker('./load-main.ts')
  const sinkPort = await sink.call<number>('port')
  const receiverPort = await receiver.call<number>('port')
  const service = await startService({
    ...{ roles: 'api', sinkPort, receiverPort, connections: 16, logLevel: o.logLevel },
  })
  o.stopAtEnd(() => service.stop())
  const tenant = await setUpTenant(service.origin, {
    ...{ name: 'other', sender: 'other@example.com', smtp: { port: sinkPort, connections: 1 } },
    hookUrl: `http://127.0.0.1:${receiverPort}/events`,
  })
  const { origin } = service
  const mail = mailOf(600)
  const single: LoadOrder = {
    ...{ origin, path: operations.sendEmail.path, headers: service.headers },
    ...{ bodies: [JSON.stringify(mail)], callers: singleCallers },
  }
  const messages = Array.from({ length: batchMessagesMax }, () => mail)
  const batch: LoadOrder = {
    ...single,
    path: operations.sendBatch.path,
    bodies: [JSON.stringify({ messages })],
    callers: 1,
  }
  const batches = Math.ceil(o.count / batchMessagesMax)
  const emails = batches * batchMessagesMax
  await post(load, { ...single, count: 1_000 })
  await post(load, { ...batch, count: 4 })

  const clocks = {
    service: () => cpuSeconds(service.pid),
    postgres: () => treeCpuSeconds(service.databasePid),
  }
  const samples: Record<'single' | 'batch', Sample[]> = { single: [], batch: [] }
  const ways = [
    ['single', { ...single, count: emails }],
    ['batch', { ...batch, count: batches }],
  ] as const
  for (let run = 0; run < o.runs * 2; run += 1) {
    // The table grows: each is first as often as the other.
    for (const [name, order] of run % 2 === 0 ? ways : ways.toReversed())
      samples[name].push(
        await sampleOf(clocks, async () => {
          const { elapsedMs } = await post(load, order)
          return { units: emails, elapsedMs }
        }),
      )
  }
  reportRate(`single, ${singleCallers} callers`, samples.single)
  reportRate('in batches, 1 caller', samples.batch)
  reportRatios('ratio', samples.batch, samples.single)
  const costs = samples.batch.map((one, i) => costOf(one) / costOf(samples.single[i]))
  const all = costs.map((cost) => cost.toFixed(2)).join(', ')
  reportRatio('CPU of both, batch to single', median(costs), `${all}; below 0.33`)

  const durationMs = o.seconds * 1000
  const own: LoadOrder = {
    ...{ ...single, headers: tenant.headers, callers: otherCallers, durationMs },
    bodies: [JSON.stringify(mailOf(600, tenant.sender))],
  }
  const ratios: number[] = []
  for (let run = 0; run < o.runs; run += 1) {
    const alone = await post(other, own)
    const flood = load.call<LoadResult>('post', {
      ...{ ...batch, callers: batchCallers, durationMs: durationMs + 1_000 },
    })
    const beside = await post(other, own)
    const { completed } = await flood
    ratios.push(beside.p99Ms / alone.p99Ms)
    console.log(
      `  single mails of another tenant, p50/p99: alone ${timesOf(alone)}, beside ${completed} batches ${timesOf(beside)}`,
    )
  }
  const times = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
  reportRatio('p99, beside batches against alone', median(ratios), times)
}

function costOf(sample: Sample | undefined): number {
  return (sample?.cpu.service ?? Number.NaN) + (sample?.cpu.postgres ?? Number.NaN)
}

function timesOf({ p50Ms, p99Ms }: LoadResult): string {
  return `${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)} ms`
}

async function post(load: Worker, order: LoadOrder): Promise<LoadResult> {
  const result = await load.call<LoadResult>('post', order)
  const wrong = Object.keys(result.statuses).filter((status) => status !== '202')
  if (wrong.length > 0) throw new Error(`answers: ${JSON.stringify(result.statuses)}`)
  return result
}

/**
 * What quotas cost the sends of a tenant that has them; and what a tenant that floods beyond its quota costs the
 * sends of others. The service's API alone, durable before the 202.
 */
import { operations } from '@postrider/contract'
import { request } from 'undici'
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
import { adminToken, setUpTenant, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const callers = 64
const others = { callers: 4, flooding: 16 }
/** None of them is reached. */
const large = {
  emails_per_second: 1_000_000,
  emails_per_day: 1_000_000_000,
  queued_max: 1_000_000_000,
  storage_bytes_max: 1_000_000_000_000,
}

export async function measureQuotas(o: BenchOrder): Promise<void> {
  heading(`Quotas: ${callers} callers, body of 1 kB, ${o.seconds} s a run`)
  const sink = await o.startWorker('./sink-main.ts')
  const receiver = await o.startWorker('./receiver-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const flood = await o.startWorker('./load-main.ts')
  const sinkPort = await sink.call<number>('port')
  const receiverPort = await receiver.call<number>('port')
  const service = await startService({
    ...{ roles: 'api', sinkPort, receiverPort, connections: 16, logLevel: o.logLevel },
  })
  o.stopAtEnd(() => service.stop())
  const tenant = async (name: string, quotas: object | null): Promise<Tenant> => {
    const made = await setUpTenant(service.origin, {
      ...{ name, sender: `${name}@example.com`, smtp: { port: sinkPort, connections: 1 } },
      hookUrl: `http://127.0.0.1:${receiverPort}/events`,
    })
    const answer = await request(`${service.origin}/admin/v1/tenants/${made.tenantId}`, {
      ...{ method: 'PUT', body: JSON.stringify({ quotas }) },
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    })
    if (answer.statusCode !== 200) throw new Error(await answer.body.text())
    await answer.body.dump()
    return made
  }
  const orderOf = ({ headers, sender }: Tenant, durationMs: number): LoadOrder => ({
    ...{ origin: service.origin, path: operations.sendEmail.path, headers, callers, durationMs },
    bodies: [JSON.stringify(mailOf(600, sender))],
  })
  const [free, limited, spent] = [
    await tenant('free', null),
    await tenant('limited', large),
    await tenant('spent', { emails_per_second: 20 }),
  ]
  const durationMs = o.seconds * 1000
  for (const one of [free, limited]) await post(load, orderOf(one, 2_000))

  const clocks = {
    service: () => cpuSeconds(service.pid),
    postgres: () => treeCpuSeconds(service.databasePid),
  }
  const rates: Record<'free' | 'limited', Sample[]> = { free: [], limited: [] }
  for (let run = 0; run < o.runs * 2; run += 1) {
    // The table grows: each is first as often as the other.
    const pair = [['free', free] as const, ['limited', limited] as const]
    for (const [name, one] of run % 2 === 0 ? pair : pair.toReversed())
      rates[name].push(
        await sampleOf(clocks, async () => {
          const { completed, elapsedMs } = await post(load, orderOf(one, durationMs))
          return { units: completed, elapsedMs }
        }),
      )
  }
  reportRate('accepted without quotas', rates.free)
  reportRate('accepted with four quotas', rates.limited)
  reportRatios('ratio', rates.limited, rates.free, 'at least 0.97')

  const refused = await sampleOf(clocks, async () => {
    const order = { ...orderOf(spent, durationMs), callers: others.flooding }
    const { completed, elapsedMs } = await flood.call<LoadResult>('post', order)
    return { units: completed, elapsedMs }
  })
  reportRate('refused by a quota, flood alone', [refused])

  const ratios: number[] = []
  for (let run = 0; run < o.runs; run += 1) {
    const own = { ...orderOf(limited, durationMs), callers: others.callers }
    const alone = await post(load, own)
    const flooding = flood.call<LoadResult>('post', {
      ...orderOf(spent, durationMs + 1_000),
      callers: others.flooding,
    })
    const beside = await post(load, own)
    const { statuses, completed } = await flooding
    ratios.push(beside.p99Ms / alone.p99Ms)
    console.log(
      `  p50/p99 alone ${timesOf(alone)}, beside ${completed} requests of the flood ${JSON.stringify(statuses)} ${timesOf(beside)}`,
    )
  }
  const all = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
  reportRatio('p99, beside a flood against alone; below 1.5', median(ratios), all)
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

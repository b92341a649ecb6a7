/**
 * Webhook events out of a backlog, in batches and one a request, by a dispatcher process of the
 * service; against undici posting the same bytes to the same receiver with nothing behind it, and
 * against a BullMQ worker on a Redis that flushes every write.
 *
 * 200 tenants with a webhook each. The backlog is made by `seed.ts`; measured is from the first
 * request until the last is settled, and that every event came once.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort } from '@postrider/testkit'
import type { DrainOrder, FillOrder } from './bullmq-main.ts'
import { type Cluster, startCluster } from './cluster.ts'
import type { HookCounts } from './hooks-main.ts'
import type { LoadResult } from './load-main.ts'
import { cpuSeconds, treeCpuSeconds } from './measure.ts'
import { type RedisServer, redisHindrance, startRedis } from './redis.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import {
  activate,
  type EventTemplate,
  recordTemplate,
  seedEvents,
  waitUntilSettled,
} from './seed.ts'
import { setUpTenants, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const webhooks = 200
const timeoutMs = 180_000
/** As POSTRIDER_WEBHOOK_BATCH_EVENTS is by default. */
const batchEvents = 500
/** What undici and BullMQ are tried with; the best of each is what counts. */
const concurrencies = [16, 50, 200]
const sentHeaders = {
  'content-type': 'application/json',
  'user-agent': 'Bench',
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
}

interface Parts {
  readonly cluster: Cluster
  readonly hooks: Worker
  readonly hooksPort: number
  readonly load: Worker
  readonly tenants: readonly Tenant[]
  readonly template: EventTemplate
}

interface Mode {
  readonly title: string
  readonly eventsPerRequest: number
  readonly events: number
  readonly env: Readonly<Record<string, string | number>>
}

export async function measureWebhooks(o: BenchOrder): Promise<void> {
  heading(`Webhook events to ${webhooks} webhooks; setting up`)
  const parts = await setUp(o)
  const batches: Mode = {
    title: `in batches of up to ${batchEvents}, ${o.events} events a run`,
    eventsPerRequest: batchEvents,
    events: o.events,
    env: {},
  }
  const singles: Mode = {
    title: `one a request, ${Math.ceil(o.events / 5)} events a run`,
    eventsPerRequest: 1,
    events: Math.ceil(o.events / 5),
    env: { WEBHOOK_BATCH_EVENTS: 1, WEBHOOK_BATCH_LINGER: '0ms' },
  }
  await compareBatches(o, parts, batches)
  await compareSingles(o, parts, singles)
}

async function setUp(o: BenchOrder): Promise<Parts> {
  const hooks = await o.startWorker('./hooks-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const cluster = await startCluster(o)
  const hooksPort = await hooks.call<number>('port')
  const smtp = { port: await sink.call<number>('port'), connections: 1 }
  const service = await cluster.start('api,sender')
  const tenants = await setUpTenants(
    service.origin,
    Array.from({ length: webhooks }, (_, i) => ({
      name: `bench ${i}`,
      sender: `bench-${i}@example.com`,
      hookUrl: `http://127.0.0.1:${hooksPort}/count/${i}`,
      ...(i === 0 ? { smtp } : {}),
    })),
  )
  const [first] = tenants
  if (first === undefined) throw new Error('no tenant')
  const template = await recordTemplate(cluster, service.origin, first)
  await service.stop()
  await sink.stop()
  return { cluster, hooks, hooksPort, load, tenants, template }
}

async function compareBatches(o: BenchOrder, parts: Parts, mode: Mode): Promise<void> {
  heading(`Webhook events ${mode.title}`)
  const connections = await bestOf(
    async (tried) => (await byUndici(parts, mode, tried, 2)).perSecond,
  )
  const service = await startDispatcher(o, parts, mode)
  const byPool: Sample[] = []
  const byUs: Sample[] = []
  for (let run = 0; run < o.runs; run += 1) {
    byPool.push(await byUndici(parts, mode, connections, o.seconds))
    byUs.push(await service.drain())
  }
  await service.stop()
  reportRate(`undici alone, ${connections} connections`, byPool)
  reportRate('the service', byUs)
  reportRatios('against undici alone', byUs, byPool)
}

async function compareSingles(o: BenchOrder, parts: Parts, mode: Mode): Promise<void> {
  heading(`Webhook events ${mode.title}`)
  const connections = await bestOf(
    async (tried) => (await byUndici(parts, mode, tried, 2)).perSecond,
  )
  const hindrance = redisHindrance()
  const queue = hindrance === undefined ? await startBullMq(o, parts, mode) : undefined
  const service = await startDispatcher(o, parts, mode)
  const byPool: Sample[] = []
  const byQueue: Sample[] = []
  const byUs: Sample[] = []
  for (let run = 0; run < o.runs; run += 1) {
    byPool.push(await byUndici(parts, mode, connections, o.seconds))
    if (queue) byQueue.push(await queue.drain())
    byUs.push(await service.drain())
  }
  await service.stop()
  reportRate(`undici alone, ${connections} connections`, byPool)
  if (queue) reportRate(`BullMQ, concurrency ${queue.concurrency}`, byQueue)
  else
    console.log(`  !! BullMQ IS NOT MEASURED: ${hindrance} (Debian: apt-get install redis-server)`)
  reportRate('the service', byUs)
  reportRatios('against undici alone', byUs, byPool)
  if (queue) reportRatios('against BullMQ', byUs, byQueue, 'above 1')
}

/** Tries each once, shortly, and answers the fastest. */
async function bestOf(measure: (tried: number) => Promise<number>): Promise<number> {
  const rates: (readonly [number, number])[] = []
  for (const tried of concurrencies) rates.push([tried, await measure(tried)])
  const told = rates.map(([tried, rate]) => `${tried}: ${Math.round(rate)}/s`).join(', ')
  console.log(`  tried with ${told}`)
  return rates.reduce((best, one) => (one[1] > best[1] ? one : best))[0]
}

function byUndici(
  { load, hooks, hooksPort, template }: Parts,
  mode: Mode,
  connections: number,
  seconds: number,
): Promise<Sample> {
  const clocks = {
    undici: () => cpuSeconds(load.pid),
    receiver: () => cpuSeconds(hooks.pid),
  }
  return sampleOf(clocks, async () => {
    const result = await load.call<LoadResult>('post', {
      origin: `http://127.0.0.1:${hooksPort}`,
      path: '/count/undici',
      headers: sentHeaders,
      bodies: [bodyOf(template, mode.eventsPerRequest)],
      callers: connections,
      durationMs: seconds * 1000,
    })
    if (result.statuses['200'] !== result.completed)
      throw new Error(`answers: ${JSON.stringify(result.statuses)}`)
    return { units: result.completed * mode.eventsPerRequest, elapsedMs: result.elapsedMs }
  })
}

/** As long as what the service sends. */
function bodyOf({ body }: EventTemplate, events: number): string {
  const addressed = body.replace('"webhook_id":""', `"webhook_id":"wh_${'0'.repeat(26)}"`)
  return `[${Array.from({ length: events }, () => addressed).join(',')}]`
}

interface Drain {
  drain(): Promise<Sample>
}

async function startDispatcher(
  o: BenchOrder,
  { cluster, hooks, tenants, template }: Parts,
  mode: Mode,
): Promise<Drain & { stop(): Promise<void> }> {
  const service = await cluster.start('dispatcher', mode.env, o.profileDir)
  const perTenant = Math.ceil(mode.events / tenants.length)
  const drain = async (events: number): Promise<Sample> => {
    await seedEvents(cluster.sql, template, tenants, events)
    await hooks.call('clear')
    const expected = events * tenants.length
    const clocks = {
      service: () => cpuSeconds(service.pid),
      postgres: () => treeCpuSeconds(cluster.databasePid),
      receiver: () => cpuSeconds(hooks.pid),
    }
    const sample = await sampleOf(clocks, async () => {
      await activate(cluster.sql, tenants)
      const { elapsedMs } = await hooks.call<HookCounts>('waitFor', { events: expected, timeoutMs })
      const cameAt = performance.now()
      await waitUntilSettled(cluster.sql)
      return { units: expected, elapsedMs: elapsedMs + performance.now() - cameAt }
    })
    const counts = await hooks.call<HookCounts>('counts')
    if (counts.events !== expected)
      throw new Error(`${counts.events} events came instead of ${expected}`)
    return sample
  }
  // Connections, statements and code are warm in a dispatcher that has run for a while.
  await drain(Math.ceil(perTenant / 5))
  return { drain: () => drain(perTenant), stop: () => service.stop() }
}

async function startBullMq(
  o: BenchOrder,
  { hooks, hooksPort, tenants, template }: Parts,
  mode: Mode,
): Promise<Drain & { readonly concurrency: number }> {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-bench-redis-'))
  o.stopAtEnd(() => rmSync(dir, { recursive: true, force: true }))
  const redis: RedisServer = await startRedis({ dir, port: await findFreePort() })
  o.stopAtEnd(() => redis.stop())
  const worker = await o.startWorker('./bullmq-main.ts')
  const drain = async (jobs: number, concurrency: number): Promise<Sample> => {
    const fillOrder: FillOrder = {
      redisPort: redis.port,
      jobs,
      paths: tenants.map((_, i) => `/count/${i}`),
      headers: sentHeaders,
      body: bodyOf(template, 1),
    }
    await worker.call('fill', fillOrder)
    await hooks.call('clear')
    const clocks = {
      worker: () => cpuSeconds(worker.pid),
      redis: () => treeCpuSeconds(redis.pid),
      receiver: () => cpuSeconds(hooks.pid),
    }
    return sampleOf(clocks, async () => {
      const origin = `http://127.0.0.1:${hooksPort}`
      const order: DrainOrder = { redisPort: redis.port, jobs, origin, concurrency, timeoutMs }
      await worker.call('drain', order)
      const { elapsedMs } = await hooks.call<HookCounts>('counts')
      return { units: jobs, elapsedMs }
    })
  }
  const concurrency = await bestOf(
    async (tried) => (await drain(Math.ceil(mode.events / 5), tried)).perSecond,
  )
  return { concurrency, drain: () => drain(mode.events, concurrency) }
}

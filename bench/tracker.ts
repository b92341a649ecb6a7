/**
 * Opens and clicks: the service's pixel and redirect, each with its event on the disk before the
 * answer, in a file or in the database, against a bare Fastify route that answers the same bytes; and
 * what becomes of them while the database is suspended for five seconds.
 *
 * The addresses are those in mail that the service has sent. The tenant's webhook takes opens and
 * clicks, so that each is queued as well; no dispatcher runs.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { operations } from '@postrider/contract'
import { createSmtpServer, type SmtpTransaction } from '@postrider/testkit'
import { request } from 'undici'
import { type Cluster, startCluster } from './cluster.ts'
import type { GetOrder, LoadResult } from './load-main.ts'
import { cpuSeconds, treeCpuSeconds, treeOf } from './measure.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import type { ServiceProcess } from './service-process.ts'
import { setUpTenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const callers = 256
const recipients = 1000
/** So many, because fifty hits of one recipient in an hour are recorded; the last are for the outage. */
const emails = 16
const emailsOfOutage = 4
const sentWithinMs = 120_000
const stopMs = 5_000
const recordedWithinMs = 60_000
const userAgent =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

interface Tracked {
  readonly cluster: Cluster
  /** Where trackers keep their files. */
  readonly directory: string
  readonly forRates: Addresses
  readonly forOutage: Addresses
}

interface Addresses {
  readonly pixels: readonly string[]
  /** Two of each recipient. */
  readonly links: readonly string[]
  /** One of each, that nobody follows until the database is suspended. */
  readonly unused: readonly string[]
}

export async function measureTracker(o: BenchOrder): Promise<void> {
  heading(`Opens and clicks of ${recipients * emails} recipients, ${callers} callers`)
  const bare = await o.startWorker('./bare-route-main.ts')
  const load = await o.startWorker('./load-main.ts')
  const service = await startTracked(o)
  for (const durability of ['disk', 'database'] as const) {
    const tracker = await service.cluster.start(
      'tracker',
      { TRACKER_DURABILITY: durability, DATA_DIR: join(service.directory, durability) },
      o.profileDir,
    )
    await measureRates(o, { bare, load, durability, tracker, service })
    if (durability === 'disk') await measureOutage(load, service, tracker.origin)
    await tracker.stop()
  }
}

async function measureRates(
  o: BenchOrder,
  m: {
    readonly bare: Worker
    readonly load: Worker
    readonly durability: 'disk' | 'database'
    readonly tracker: ServiceProcess
    readonly service: Tracked
  },
): Promise<void> {
  const { bare, load, durability, tracker, service } = m
  const bareOrigin = `http://127.0.0.1:${await bare.call('port')}`
  const { pixels, links } = service.forRates
  const kinds = { pixel: pixels, redirect: links } as const
  for (const [kind, paths] of Object.entries(kinds)) {
    const order = { headers: { 'user-agent': userAgent }, paths, callers }
    const bareOrder = { ...order, origin: bareOrigin }
    const serviceOrder = { ...order, origin: tracker.origin }
    const durationMs = o.seconds * 1000
    await get(load, { ...bareOrder, durationMs: 1000 })
    await get(load, { ...serviceOrder, durationMs: 2000 })
    const [bareSamples, samples]: [Sample[], Sample[]] = [[], []]
    const latencies: string[] = []
    const behindMs: number[] = []
    for (let run = 0; run < o.runs; run += 1) {
      await waitUntilRecorded(tracker.origin, performance.now())
      bareSamples.push(
        await sampleOf({ route: () => cpuSeconds(bare.pid) }, () =>
          get(load, { ...bareOrder, durationMs }),
        ),
      )
      const clocks = {
        service: () => cpuSeconds(tracker.pid),
        postgres: () => treeCpuSeconds(service.cluster.databasePid),
        callers: () => cpuSeconds(load.pid),
      }
      samples.push(
        await sampleOf(clocks, async () => {
          const result = await get(load, { ...serviceOrder, durationMs })
          latencies.push(`${result.p50Ms.toFixed(1)}/${result.p99Ms.toFixed(1)} ms`)
          // What is left to do is part of what they cost.
          behindMs.push(await waitUntilRecorded(tracker.origin, performance.now()))
          return result
        }),
      )
    }
    reportRate(`${kind} without a database`, bareSamples)
    reportRate(`${kind}, in the ${durability} before the answer`, samples)
    const recorded = behindMs.map((ms) => `${Math.round(ms)} ms`).join(', ')
    console.log(`  ${''.padEnd(34)} p50/p99: ${latencies.join(', ')}`)
    console.log(`  ${''.padEnd(34)} all in the database after the last answer: ${recorded}`)
    reportRatios('ratio', samples, bareSamples, 'at least 0.35')
  }
}

/**
 * What is asked for meanwhile: pixels, links that were followed before, and links that were not. Counted
 * is in the database, when it goes on and everything has come in.
 */
async function measureOutage(load: Worker, service: Tracked, origin: string): Promise<void> {
  heading(`The database stands still for ${stopMs / 1000} s under load`)
  const { cluster } = service
  const { pixels, links, unused } = service.forOutage
  const order = { origin, headers: { 'user-agent': userAgent }, callers }
  const before = await countRecorded(cluster)
  const known = links.slice(0, pixels.length)
  const first = await get(load, { ...order, paths: known, count: known.length })
  const paths = pixels.flatMap((pixel, i) => [pixel, known[i] ?? '', unused[i] ?? ''])
  const frozen = treeOf(cluster.databasePid)
  for (const pid of frozen) process.kill(pid, 'SIGSTOP')
  const during = await get(load, { ...order, paths, durationMs: stopMs })
  for (const pid of frozen) process.kill(pid, 'SIGCONT')
  const goesOnAt = performance.now()
  const after = await get(load, { ...order, paths, durationMs: stopMs })
  const recordedMs = await waitUntilRecorded(origin, goesOnAt)
  const answered = [first, during, after].reduce(
    (sum, { statuses }) => sum + answersOf(statuses),
    0,
  )
  const recorded = (await countRecorded(cluster)) - before
  const counts = (statuses: LoadResult['statuses']) =>
    Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  console.log(`  while it stands still: ${counts(during.statuses).join(', ')}`)
  const slowest = Object.entries(during.slowestMs).map(([s, ms]) => `${s} ${Math.round(ms)} ms`)
  console.log(`  the slowest answers: ${slowest.join(', ')} (503 within 1000 ms)`)
  console.log(`  in the five seconds after: ${counts(after.statuses).join(', ')}`)
  console.log(`  answered ${answered}, recorded ${recorded}, lost ${answered - recorded} (0)`)
  console.log(`  everything is recorded ${Math.round(recordedMs)} ms after it goes on`)
}

function answersOf(statuses: LoadResult['statuses']): number {
  return (statuses[200] ?? 0) + (statuses[302] ?? 0)
}

async function countRecorded({ sql }: Cluster): Promise<number> {
  const { rows } = await sql.query<{ count: string }>(
    `select count(*) from tracking_hits h join webhooks_event e
        on e.tenant_id = h.tenant_id and e.ref_id = h.ref_id and e.event_at = h.hit_at`,
  )
  return Number(rows[0]?.count)
}

async function waitUntilRecorded(origin: string, fromMs: number): Promise<number> {
  for (;;) {
    const { body } = await request(`${origin}/metrics`)
    const text = await body.text()
    const read = (what: string) =>
      new RegExp(`^postrider_tracking_spool\\{what="${what}"\\} (\\S+)`, 'm').exec(text)?.[1]
    const elapsedMs = performance.now() - fromMs
    if (read('bytes') === '0' && read('database_away') === '0') return elapsedMs
    if (elapsedMs > recordedWithinMs) throw new Error('hits are kept in files still')
    await delay(50)
  }
}

/** Sends the mail, and reads the addresses in it as recipients' programs do. */
async function startTracked(o: BenchOrder): Promise<Tracked> {
  const sink = await createSmtpServer()
  o.stopAtEnd(() => sink.close())
  const receiver = await o.startWorker('./receiver-main.ts')
  const cluster = await startCluster(o)
  const directory = mkdtempSync(join(tmpdir(), 'postrider-bench-hits-'))
  o.stopAtEnd(() => rmSync(directory, { recursive: true, force: true }))
  const { origin } = await cluster.start('api,sender')
  const tenant = await setUpTenant(origin, {
    name: 'bench',
    sender: 'bench@example.com',
    hookUrl: `http://127.0.0.1:${await receiver.call('port')}/events`,
    events: { open: true, click: true },
    smtp: { port: sink.port, connections: 16 },
  })
  const html = [1, 2, 3].map((i) => `<a href="https://shop.example.com/offers/${i}">${i}</a>`)
  const { method, path } = operations.sendEmail
  for (let email = 0; email < emails; email += 1) {
    const to = Array.from({ length: recipients }, (_, i) => ({ email: `r${i}@example.com` }))
    const answer = await request(origin + path, {
      method,
      headers: tenant.headers,
      body: JSON.stringify({
        from: { email: tenant.sender },
        to: to.slice(0, 1),
        bcc: to.slice(1),
        subject: 'Offers',
        content: [{ type: 'text/html', value: html.join(' ') }],
        settings: { open_tracking: true, click_tracking: true },
      }),
    })
    if (answer.statusCode !== 202) throw new Error(await answer.body.text())
    await answer.body.dump()
  }
  const messages = await sink.waitForMessages(recipients * emails, sentWithinMs)
  const found = messages.map(addressesIn)
  const outageFrom = found.length - recipients * emailsOfOutage
  return {
    cluster,
    directory,
    forRates: toAddresses(found.slice(0, outageFrom)),
    forOutage: toAddresses(found.slice(outageFrom)),
  }
}

function toAddresses(found: readonly ReturnType<typeof addressesIn>[]): Addresses {
  return {
    pixels: found.flatMap(({ pixel }) => pixel),
    links: found.flatMap(({ links }) => links.slice(0, 2)),
    unused: found.flatMap(({ links }) => links.slice(2)),
  }
}

function addressesIn({ raw }: SmtpTransaction): { pixel: string[]; links: string[] } {
  const text = raw.toString('latin1').replace(/=\r\n/g, '')
  const all = (shape: RegExp) => [...text.matchAll(shape)].map(([path]) => path)
  return { pixel: all(/\/t\/o\/[\w-]+\.gif/g).slice(0, 1), links: all(/\/t\/c\/[\w-]+/g) }
}

async function get(load: Worker, order: GetOrder): Promise<LoadResult & { units: number }> {
  const result = await load.call<LoadResult>('get', order)
  return { ...result, units: result.completed }
}

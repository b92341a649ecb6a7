/**
 * How long an event takes to its webhook while other webhooks hang: 200 tenants send mail through the
 * service, at a steady rate whatever comes back; then the webhooks of 150 of them take requests and
 * never answer. Measured at the webhooks of the other 50, from `event_at` (before the commit that
 * records the event) until the request is there, all by one machine's clock.
 *
 * Sender and dispatcher are one process, as by default; apart, the news of an event also travels
 * through PostgreSQL, which gathers it for up to 100 ms and hides what else there is.
 */
import { operations } from '@postrider/contract'
import { startCluster } from './cluster.ts'
import type { Latency } from './hooks-main.ts'
import { mailOf } from './mail.ts'
import { median } from './measure.ts'
import { type BenchOrder, heading, reportHistogram, reportRatio } from './report.ts'
import { setUpTenants, type Tenant } from './set-up.ts'
import type { SteadyOrder, SteadyResult } from './steady-main.ts'
import type { Worker } from './worker.ts'

const groups = { healthy: 50, others: 150 }
/** Mails a second. */
const rates = { healthy: 200, others: 30 }
const warmUpMs = 5000
const quietMs = 20_000
/** The dispatcher meets 150 hanging webhooks at once and knows nothing of them. */
const firstMs = 3000
/** Longer than POSTRIDER_WEBHOOK_TIMEOUT, its back-off and the next time-out. */
const hangingMs = 37_000
const arrivalWithinMs = 30_000
const windowNames = ['quiet', 'first', 'hanging'] as const
type WindowName = (typeof windowNames)[number]
type Windows = Readonly<Record<WindowName, readonly number[]>>

const titles: Readonly<Record<WindowName, string>> = {
  quiet: 'nobody hangs',
  first: `the first ${firstMs / 1000} s of 150 of 200 hanging`,
  hanging: '150 of 200 hang, from then on',
}

export async function measureIsolation(o: BenchOrder): Promise<void> {
  heading(
    `From event_at to 50 webhooks that answer, ${rates.healthy} mails/s to them, ${rates.others}/s to 150 others`,
  )
  const runs: Windows[] = []
  for (let run = 0; run < o.runs; run += 1) runs.push(await measureOnce(o))
  for (const name of windowNames) {
    const of = (pick: (sorted: readonly number[]) => number): string =>
      `${median(runs.map((windows) => pick(windows[name]))).toFixed(1)} ms`
    console.log(
      `  ${titles[name].padEnd(44)} p50 ${of(percentile(0.5))}, p99 ${of(percentile(0.99))}, max ${of(percentile(1))}`,
    )
    reportHistogram(runs.flatMap((windows) => windows[name]))
  }
  const ratios = runs.map(
    ({ quiet, hanging }) => percentile(0.99)(hanging) / percentile(0.99)(quiet),
  )
  const all = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
  reportRatio('p99, 150 hanging against none', median(ratios), all)
}

const percentile =
  (share: number) =>
  (sorted: readonly number[]): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** With everything of its own: streams that failed once are not as they were. */
async function measureOnce(o: BenchOrder): Promise<Windows> {
  const hooks = await o.startWorker('./hooks-main.ts')
  const steady = await o.startWorker('./steady-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const cluster = await startCluster(o)
  const service = await cluster.start('api')
  const processes = [service]
  for (const roles of o.isApart ? ['sender', 'dispatcher'] : ['sender,dispatcher'])
    processes.push(await cluster.start(roles, {}, o.profileDir))
  const smtp = { port: await sink.call<number>('port'), connections: 1 }
  const hooksPort = await hooks.call<number>('port')
  const tenantsOf = (group: keyof typeof groups): Promise<Tenant[]> =>
    setUpTenants(
      service.origin,
      Array.from({ length: groups[group] }, (_, i) => ({
        name: `${group} ${i}`,
        sender: `${group}-${i}@example.com`,
        hookUrl: `http://127.0.0.1:${hooksPort}/time/${group}/${i}`,
        smtp,
      })),
    )
  const orderOf = (
    tenants: readonly Tenant[],
    perSecond: number,
    durationMs: number,
  ): SteadyOrder => ({
    origin: service.origin,
    path: operations.sendEmail.path,
    requests: tenants.map(({ headers, sender }) => ({
      headers,
      body: JSON.stringify(mailOf(600, sender)),
    })),
    perSecond,
    durationMs,
  })
  const healthy = await tenantsOf('healthy')
  const others = await tenantsOf('others')
  const send = (order: SteadyOrder): Promise<SteadyResult> => steady.call('send', order)

  const totalMs = warmUpMs + quietMs + firstMs + hangingMs
  const startedAt = Date.now()
  const load = send(orderOf(healthy, rates.healthy, totalMs))
  const noise = send(orderOf(others, rates.others, totalMs))
  // What goes wrong with them is told when they are waited for.
  for (const one of [load, noise]) one.catch(() => undefined)
  await pause(startedAt + warmUpMs + quietMs - Date.now())
  const hangingSince = Date.now()
  await hooks.call('hang', 'others')
  // One event each, so that all of them hang at once.
  const burst = send(orderOf(others, 500, (groups.others / 500) * 1000))
  const [{ sent, lateMs }] = await Promise.all([load, noise, burst])
  const latencies = await waitForAll(hooks, sent)
  console.log(`  ${sent} mails to the healthy; the latest left ${lateMs.toFixed(0)} ms late`)
  for (const one of processes.reverse()) await one.stop()
  await Promise.all([hooks.stop(), steady.stop(), sink.stop()])
  const between = (fromMs: number, toMs: number): number[] =>
    latencies
      .flatMap(([at, latencyMs]) => (at >= fromMs && at < toMs ? [latencyMs] : []))
      .sort((a, b) => a - b)
  return {
    quiet: between(startedAt + warmUpMs, hangingSince),
    first: between(hangingSince, hangingSince + firstMs),
    hanging: between(hangingSince + firstMs, Number.POSITIVE_INFINITY),
  }
}

/** Those that never came would be missing from the slowest. */
async function waitForAll(hooks: Worker, count: number): Promise<Latency[]> {
  const endsAt = performance.now() + arrivalWithinMs
  for (;;) {
    const latencies = await hooks.call<Latency[]>('latencies', 'healthy')
    if (latencies.length >= count) return latencies
    if (performance.now() > endsAt)
      throw new Error(`${latencies.length} of ${count} events came to healthy webhooks`)
    await pause(500)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)))
}

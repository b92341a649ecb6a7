/**
 * Mail that is received: accepted, which is stored before the answer; and read, recorded and delivered to
 * the webhook. Against smtp-server alone, which keeps nothing; Haraka, which queues on the disk; and Postfix,
 * which queues and delivers into a sink; all with the same messages over the same connections. And how
 * long a message of one tenant takes to its webhook while another gets messages of 24 MB that are made
 * to be hard to read.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { findFreePort } from '@postrider/testkit'
import { type Cluster, startCluster } from './cluster.ts'
import { type Haraka, harakaHindrance, startHaraka } from './haraka.ts'
import { inboundEnv, type RoutedTenant, setUpRouted, startDns } from './inbound-world.ts'
import type { BombName, LettersOrder, SentAt, SteadyLetters } from './letters-main.ts'
import { cpuSeconds, treeCpuSeconds } from './measure.ts'
import { type PostfixServer, postfixHindrance, startPostfix } from './postfix.ts'
import {
  type BenchOrder,
  heading,
  reportRate,
  reportRatios,
  type Sample,
  sampleOf,
} from './report.ts'
import type { Worker } from './worker.ts'

const connections = 16
const bytes = 5_000
/** Of each tenant: a webhook is told of one message after the other. */
const webhooks = 16
const timeoutMs = 180_000
/** Of the tenant that is looked at while the other is bombed. */
const steadyPerSecond = 20
const steadyConnections = 32
const bombConnections = 4
const bombs: readonly BombName[] = ['attachment', 'parts', 'nested', 'words', 'html']

interface World {
  readonly cluster: Cluster
  readonly pid: number
  readonly port: number
  readonly load: Worker
  readonly otherLoad: Worker
  readonly receiver: Worker
  readonly one: RoutedTenant
  readonly other: RoutedTenant
}

export async function measureInbound(o: BenchOrder): Promise<void> {
  heading(`Mail received: ${o.count} messages of 5 kB a run, ${connections} connections`)
  const world = await startWorld(o)
  const bare = await o.startWorker('./smtp-server-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const barePort = await bare.call<number>('port')
  const haraka = await startPeer(o, 'Haraka', harakaHindrance(), startHaraka)
  const relayPort = await sink.call<number>('port')
  const postfix = await startPeer(o, 'Postfix', postfixHindrance(), async (where) =>
    startPostfix({ ...where, relayPort }),
  )
  const samples = await compare(o, world, {
    bare: { port: barePort, cpu: () => cpuSeconds(bare.pid) },
    haraka: haraka && { port: haraka.port, cpu: () => cpuSeconds(haraka.pid) },
    postfix: postfix && { port: postfix.port, cpu: () => treeCpuSeconds(postfix.masterPid) },
    sink,
  })
  report(samples)
  await postfix?.stop()
  await haraka?.stop()
  await bare.stop()
  await measureBombs(o, world)
}

interface Peer {
  readonly port: number
  readonly cpu: () => number
}

interface Peers {
  readonly bare: Peer
  readonly haraka: Peer | undefined
  readonly postfix: Peer | undefined
  readonly sink: Worker
}

type Samples = Readonly<
  Record<'bare' | 'haraka' | 'postfix' | 'accepted' | 'recorded' | 'delivered', Sample[]>
>

async function compare(o: BenchOrder, world: World, peers: Peers): Promise<Samples> {
  const samples: Samples = {
    bare: [],
    haraka: [],
    postfix: [],
    accepted: [],
    recorded: [],
    delivered: [],
  }
  const { load, receiver, one } = world
  const { count } = o
  const orderOf = (port: number, prefix: string) => ({
    ...{ port, prefix, connections, count, bytes },
    to: one.addresses,
  })
  // The first warms all of them up.
  for (let run = 0; run <= o.runs; run += 1) {
    const keep = (list: Sample[], sample: Sample): void => {
      if (run > 0) list.push(sample)
    }
    const send = async (order: LettersOrder & { readonly count: number }) => {
      const { elapsedMs } = await load.call<{ elapsedMs: number }>('send', order)
      return { units: count, elapsedMs }
    }
    const { bare, haraka, postfix, sink } = peers
    const byPeer = (name: string, { port, cpu }: Peer) =>
      sampleOf({ [name]: cpu }, () => send(orderOf(port, `${name}-${run}`)))
    keep(samples.bare, await byPeer('smtp-server', bare))
    if (haraka !== undefined) keep(samples.haraka, await byPeer('haraka', haraka))
    if (postfix !== undefined) {
      await sink.call('clear')
      const delivered = async () => {
        const startedAt = performance.now()
        await send(orderOf(postfix.port, `postfix-${run}`))
        await sink.call('waitFor', { count, timeoutMs })
        return { units: count, elapsedMs: performance.now() - startedAt }
      }
      keep(samples.postfix, await sampleOf({ postfix: postfix.cpu }, delivered))
    }
    await receiver.call('clear')
    const clocks = {
      service: () => cpuSeconds(world.pid),
      postgres: () => treeCpuSeconds(world.cluster.databasePid),
      senders: () => cpuSeconds(load.pid),
      receiver: () => cpuSeconds(receiver.pid),
    }
    const prefix = `run${run}`
    const startedAt = performance.now()
    const since = () => ({ units: count, elapsedMs: performance.now() - startedAt })
    const delivered = sampleOf(clocks, async () => {
      await receiver.call('waitFor', { prefix, count, timeoutMs })
      return since()
    })
    // Told of where it is waited for.
    delivered.catch(() => undefined)
    const recorded = await sampleOf(clocks, async () => {
      keep(samples.accepted, await sampleOf(clocks, () => send(orderOf(world.port, prefix))))
      await waitUntilRecorded(world)
      return since()
    })
    keep(samples.recorded, recorded)
    keep(samples.delivered, await delivered)
  }
  return samples
}

/** Whatever was accepted has its event. */
async function waitUntilRecorded({ cluster }: World): Promise<void> {
  const endsAt = performance.now() + timeoutMs
  for (;;) {
    const { rows } = await cluster.sql.query<{ count: string }>(WAITING)
    if (rows[0]?.count === '0') return
    if (performance.now() > endsAt) throw new Error(`${rows[0]?.count} messages wait`)
    await delay(20)
  }
}

const WAITING = 'select count(*) from inbound_queue'

function report({ bare, haraka, postfix, accepted, recorded, delivered }: Samples): void {
  reportRate('smtp-server alone, kept nowhere', bare)
  if (haraka.length > 0) reportRate('Haraka, queued on the disk', haraka)
  if (postfix.length > 0) reportRate('Postfix, queued and delivered', postfix)
  reportRate('accepted, stored before the 250', accepted)
  reportRate('read and recorded', recorded)
  reportRate(`delivered to ${webhooks} webhooks`, delivered)
  reportRatios('accepted, against smtp-server', accepted, bare)
  reportRatios('delivered, against smtp-server', delivered, bare)
  if (haraka.length > 0) reportRatios('accepted, against Haraka', accepted, haraka)
  if (haraka.length > 0) reportRatios('delivered, against Haraka', delivered, haraka)
  if (postfix.length > 0) reportRatios('delivered, against Postfix', delivered, postfix)
}

async function startPeer<Server extends Haraka | PostfixServer>(
  o: BenchOrder,
  name: string,
  hindrance: string | undefined,
  start: (where: { dir: string; port: number }) => Promise<Server>,
): Promise<Server | undefined> {
  if (hindrance !== undefined) {
    console.log(`  ${name.padEnd(34)} ${hindrance}`)
    return undefined
  }
  const dir = mkdtempSync(join(tmpdir(), 'postrider-bench-peer-'))
  o.stopAtEnd(() => rmSync(dir, { recursive: true, force: true }))
  const server = await start({ dir, port: await findFreePort() })
  let isStopped = false
  const stop = async (): Promise<void> => {
    if (isStopped) return
    isStopped = true
    await server.stop()
  }
  o.stopAtEnd(stop)
  return { ...server, stop }
}

async function measureBombs(o: BenchOrder, { otherLoad, load, receiver, one, other, port }: World) {
  heading(
    `From the first byte to the webhook, ${steadyPerSecond} messages/s of one tenant, p50/p99/max`,
  )
  const order = {
    port,
    connections: steadyConnections,
    bytes,
    to: one.addresses,
    localAddress: '127.0.0.3',
  }
  const measure = async (prefix: string): Promise<string> => {
    const durationMs = o.seconds * 1000
    const steady: SteadyLetters = { ...order, prefix, perSecond: steadyPerSecond, durationMs }
    const sentAt = await load.call<SentAt>('steady', steady)
    const count = Object.keys(sentAt).length
    await receiver.call('waitFor', { prefix, count, timeoutMs })
    const arrivedAt = await receiver.call<SentAt>('arrivals', prefix)
    return describeLatencies(
      Object.entries(sentAt).map(([id, at]) => (arrivedAt[id] ?? Number.NaN) - at),
    )
  }
  // The first ones wait for threads and connections.
  await measure('warm')
  console.log(`  ${'alone'.padEnd(34)} ${await measure('alone')}`)
  for (const bomb of bombs) {
    const bombing = otherLoad.call<number>('keepSending', {
      ...{ port, prefix: `bomb-${bomb}`, connections: bombConnections, bytes: bomb },
      localAddress: '127.0.0.2',
      to: other.addresses,
    })
    const latencies = await measure(`during-${bomb}`)
    await otherLoad.call('enough')
    const sent = await bombing
    console.log(`  ${`another gets 24 MB: ${bomb}`.padEnd(34)} ${latencies} (${sent} of them)`)
  }
}

function describeLatencies(latencies: readonly number[]): string {
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0)
  return `${at(0.5)}/${at(0.99)}/${at(1)} ms`
}

async function startWorld(o: BenchOrder): Promise<World> {
  const [load, otherLoad, receiver, dns, port] = [
    await o.startWorker('./letters-main.ts'),
    await o.startWorker('./letters-main.ts'),
    await o.startWorker('./incoming-main.ts'),
    await startDns(o),
    await findFreePort(),
  ]
  const cluster = await startCluster(o)
  const roles = 'api,inbound,dispatcher'
  // Without the rest between two requests of a webhook: what is measured is what can be done.
  const env = { ...inboundEnv(dns, port), WEBHOOK_BATCH_LINGER: '0ms' }
  const { origin, pid } = await cluster.start(roles, env, o.profileDir)
  const hookUrl = `http://127.0.0.1:${await receiver.call('port')}/`
  const [one, other] = [
    await setUpRouted(origin, { dns, name: 'one', hookUrl, webhooks }),
    await setUpRouted(origin, { dns, name: 'other', hookUrl, webhooks }),
  ]
  return { cluster, pid, port, load, otherLoad, receiver, one, other }
}

/**
 * What one mail with its event, one open with its event and one received mail with its event write to the
 * database: counts that hold on any machine. `cost.slow.test.ts` compares them with a golden file.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { operations, type SendEmailBody } from '@postrider/contract'
import {
  copyPreparedData,
  createSmtpServer,
  findFreePort,
  type SmtpServer,
} from '@postrider/testkit'
import { measureIdle } from './idle.ts'
import { inboundEnv, type RoutedTenant, setUpRouted, startDns } from './inbound-world.ts'
import { type Cost, type Ledger, openLedger, type PartCost, prepareLedger } from './ledger.ts'
import type { LoadResult } from './load-main.ts'
import { honestMail } from './mail.ts'
import { type BenchOrder, heading } from './report.ts'
import { sender } from './service.ts'
import { type ServiceProcess, startServiceProcess } from './service-process.ts'
import { adminToken, setUpTenant, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const timeoutMs = 120_000
const callers = 64
const SHOWN_BYTES_MIN = 5
const userAgent =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'

export interface CostOrder extends Pick<BenchOrder, 'startWorker' | 'stopAtEnd'> {
  readonly warmUp: number
  readonly count: number
  /** What is left after a vacuum, too: takes its time. */
  readonly isKeptWanted: boolean
}

export type MeasuredCost = Cost & {
  readonly parts: readonly PartCost[]
  readonly keptBytes?: number
  /** Of tables and indexes that grew, the largest growth first. */
  readonly keptParts?: readonly { readonly name: string; readonly bytes: number }[]
}
export type Costs = Readonly<Record<'mail' | 'open' | 'received', MeasuredCost>>

interface World {
  readonly service: ServiceProcess
  readonly ledger: Ledger
  readonly tenant: Tenant
  readonly sink: SmtpServer
  readonly load: Worker
  readonly receiver: Worker
  readonly incoming: Worker
  readonly letters: Worker
  readonly inboundPort: number
  readonly routed: RoutedTenant
}

export async function measureCost(o: BenchOrder): Promise<void> {
  await measureIdle(o)
  heading('What is written to the database, over 1,500 after 4,000 to warm up, 64 callers')
  const order = { ...o, warmUp: 4_000, count: 1_500, isKeptWanted: true }
  for (const [name, cost] of Object.entries(await measureCosts(order))) {
    const rows = [cost.inserted, cost.updated, cost.deleted].map((one) => one.toFixed(1))
    console.log(
      `  ${`one ${name}, with its event`.padEnd(34)} ${cost.statements.toFixed(1)} statements, ${cost.commits.toFixed(2)} commits; rows inserted, updated, deleted: ${rows.join(', ')}`,
    )
    console.log(
      `  ${''.padEnd(34)} ${kB(cost.walBytes)} of WAL records, ${kB(cost.keptBytes ?? Number.NaN)} kept`,
    )
    for (const part of cost.parts)
      if (part.walBytes >= SHOWN_BYTES_MIN)
        console.log(
          `    ${part.name.padEnd(34)} ${part.what.padEnd(22)} ${part.records.toFixed(2)} records, ${part.walBytes.toFixed(0)} bytes`,
        )
    for (const { name: part, bytes } of cost.keptParts ?? [])
      if (bytes >= SHOWN_BYTES_MIN)
        console.log(`    ${part.padEnd(57)} ${bytes.toFixed(0)} bytes kept`)
  }
}

const kB = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

export async function measureCosts(o: CostOrder): Promise<Costs> {
  const world = await startWorld(o)
  await sendMails(world, o.warmUp, 'warm-up')
  const mail = await costOf(o, world, () => sendMails(world, o.count, 'measured'))
  const pixels = await sendTracked(world, o.count)
  const open = await costOf(o, world, () => openAll(world, pixels))
  await sendLetters(world, Math.ceil(o.warmUp / 4), 'warm')
  const received = await costOf(o, world, () => sendLetters(world, o.count, 'counted'))
  return { mail, open, received }
}

async function costOf(
  o: CostOrder,
  { ledger }: World,
  work: () => Promise<number>,
): Promise<MeasuredCost> {
  if (!o.isKeptWanted) return await ledger.costOf(work)
  const before = await ledger.keptParts()
  const cost = await ledger.costOf(work)
  const keptParts = [...(await ledger.keptParts())]
    .map(([name, bytes]) => ({ name, bytes: (bytes - (before.get(name) ?? 0)) / o.count }))
    .sort((a, b) => b.bytes - a.bytes)
  const keptBytes = keptParts.reduce((sum, { bytes }) => sum + bytes, 0)
  return { ...cost, keptBytes, keptParts }
}

/** With counters of statements in its database, which are loaded when that starts: so it starts twice. */
async function startWorld(o: CostOrder): Promise<World> {
  const dataDir = mkdtempSync(join(tmpdir(), 'postrider-bench-'))
  o.stopAtEnd(() => rmSync(dataDir, { recursive: true, force: true }))
  const dns = await startDns(o)
  const inboundPort = await findFreePort()
  const env = {
    ...inboundEnv(dns, inboundPort),
    DATA_DIR: dataDir,
    ROLES: 'all',
    ADMIN_TOKEN: adminToken,
    ALLOW_NETWORKS: '127.0.0.0/8',
    ALLOW_HTTP_WEBHOOKS: 'true',
    // Recorded with the answer, so that nothing is left to do after the last.
    TRACKER_DURABILITY: 'database',
  }
  const start = () => startServiceProcess({ logFile: join(dataDir, 'service.log'), env })
  if (!copyPreparedData(dataDir)) await (await start()).stop()
  prepareLedger(dataDir)
  const service = await start()
  o.stopAtEnd(() => service.stop())
  const ledger = await openLedger(dataDir)
  o.stopAtEnd(() => ledger.close())
  const sink = await createSmtpServer()
  o.stopAtEnd(() => sink.close())
  const receiver = await o.startWorker('./receiver-main.ts')
  const incoming = await o.startWorker('./incoming-main.ts')
  const tenant = await setUpTenant(service.origin, {
    name: 'bench',
    sender,
    hookUrl: `http://127.0.0.1:${await receiver.call('port')}/events`,
    events: { open: true },
    smtp: { port: sink.port, connections: 16 },
  })
  const routed = await setUpRouted(service.origin, {
    dns,
    name: 'received',
    hookUrl: `http://127.0.0.1:${await incoming.call('port')}/`,
    webhooks: 16,
  })
  return {
    ...{ service, ledger, tenant, sink, receiver, incoming, inboundPort, routed },
    load: await o.startWorker('./load-main.ts'),
    letters: await o.startWorker('./letters-main.ts'),
  }
}

/** Until the last event is at the webhook. */
async function sendMails(world: World, count: number, seed: string): Promise<number> {
  world.sink.clear()
  await world.receiver.call('clear')
  await Promise.all([
    post(world, count, (i) => honestMail(`${seed} ${i}`)),
    world.receiver.call('waitFor', { count, timeoutMs }),
  ])
  return count
}

async function post(
  { load, service, tenant }: World,
  count: number,
  mailOf: (i: number) => SendEmailBody,
): Promise<void> {
  const { statuses } = await load.call<LoadResult>('post', {
    origin: service.origin,
    path: operations.sendEmail.path,
    headers: tenant.headers,
    bodies: Array.from({ length: count }, (_, i) => JSON.stringify(mailOf(i))),
    ...{ callers, count },
  })
  if (statuses['202'] !== count) throw new Error(`answers: ${JSON.stringify(statuses)}`)
}

/** Answers the address of the pixel in each. */
async function sendTracked(world: World, count: number): Promise<string[]> {
  world.sink.clear()
  await world.receiver.call('clear')
  const settings = { open_tracking: true }
  await post(world, count, (i) => ({ ...honestMail(`tracked ${i}`), settings }))
  await world.receiver.call('waitFor', { count, timeoutMs })
  const messages = await world.sink.waitForMessages(count, timeoutMs)
  return messages.map(({ raw }) => {
    const text = raw.toString('latin1').replace(/=\r\n/g, '')
    return /\/t\/o\/[\w-]+\.gif/.exec(text)?.[0] ?? ''
  })
}

/** Until the last event is at the webhook. */
async function openAll(world: World, paths: readonly string[]): Promise<number> {
  const { load, service, receiver } = world
  await receiver.call('clear')
  const { statuses } = await load.call<LoadResult>('get', {
    origin: service.origin,
    headers: { 'user-agent': userAgent },
    ...{ paths, callers, count: paths.length },
  })
  if (statuses['200'] !== paths.length) throw new Error(`answers: ${JSON.stringify(statuses)}`)
  const endsAt = performance.now() + timeoutMs
  while ((await receiver.call<{ others: number }>('counts')).others < paths.length) {
    if (performance.now() > endsAt) throw new Error('opens were not reported')
    await delay(20)
  }
  return paths.length
}

async function sendLetters(world: World, count: number, prefix: string): Promise<number> {
  await world.incoming.call('clear')
  await Promise.all([
    world.letters.call('send', {
      ...{ port: world.inboundPort, to: world.routed.addresses, prefix, count },
      ...{ connections: 16, bytes: 5_000 },
    }),
    world.incoming.call('waitFor', { prefix, count, timeoutMs }),
  ])
  return count
}

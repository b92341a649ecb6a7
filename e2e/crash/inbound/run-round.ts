/**
 * One round of received mail: everything is started, letters come by SMTP and into a mailbox, a nemesis
 * kills processes meanwhile, all is healed, and when it is quiet the webhooks' requests are judged.
 *
 * A process that dies by its failpoint is started again by the nemesis at its next turn, or by the healing.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Postrider } from '@postrider/client'
import {
  createDnsServer,
  createImapServer,
  createRandom,
  createWebhookReceiver,
  findFreePort,
  openNdjsonLog,
  readNdjson,
  type WebhookReceiver,
} from '@postrider/testkit'
import { type Cluster, createCluster } from '../cluster.ts'
import type { NemesisFact } from '../history.ts'
import { checkInbound, type InboundReport, type Told } from './check.ts'
import { mailboxPath, makeLetters, usernames } from './letters.ts'
import { startInboundLoad } from './load.ts'
import { disturb } from './nemesis.ts'

export interface InboundRound {
  readonly report: InboundReport
  /** By process: by the nemesis, or by a failpoint of its own. */
  readonly kills: Readonly<Record<string, number>>
  readonly imapFaults: number
  /** Of sending by SMTP. */
  readonly attempts: number
  readonly directory: string
}

const DRAIN_WITHIN_MS = 120_000
/** Each look reads all requests. */
const DRAIN_POLL_MS = 1_000
/** Longer than any lease: what a lost owner or a second one would still do has happened by then. */
const QUIET_MS = 4_000
const DOMAIN = 'routed.test'
/** Mostly good; with refusals, and with answers that are cut off. */
const ANSWERS = [200, 200, 204, 200, 503, 200, 200, 'rst', 200, 200, 429, 200] as const

export async function runInboundRound(o: {
  readonly seed: number
  readonly messages: number
  readonly pauseMs: number
  readonly parent?: string
}): Promise<InboundRound> {
  const directory = mkdtempSync(join(o.parent ?? tmpdir(), 'postrider-inbound-'))
  const random = createRandom(o.seed)
  const letters = makeLetters(random, o.messages)
  const log = openNdjsonLog(join(directory, 'nemesis.ndjson'))
  const [dns, imap, smtpPort] = await Promise.all([
    createDnsServer(),
    createImapServer(),
    findFreePort(),
  ])
  const receiver = await createWebhookReceiver({
    script({ request }) {
      const answer = ANSWERS[request % ANSWERS.length] ?? 200
      return answer === 'rst' ? { ending: 'rst' } : answer
    },
  })
  const cluster = await createCluster({
    directory,
    log,
    env: {
      INBOUND_PORT: smtpPort,
      INBOUND_HOST: 'mx.postrider.test',
      DNS_SERVERS: dns.address,
    },
  })
  try {
    await cluster.start('database')
    await cluster.start('api')
    for (const name of ['inbound', 'mailbox', 'dispatcher'] as const) await cluster.start(name)
    await setUp(cluster, { dns, imapPort: imap.port, receiver })
    await imap.waitFor(({ idleConnections }) => idleConnections === 1)
    const load = startInboundLoad({ ...o, letters, smtpPort, domain: DOMAIN, imap })
    const imapFaults = await disturb({
      ...{ cluster, imap, random },
      isOver: () => load.handedOver === letters.length,
    })
    await heal(cluster)
    await load.complete()
    await drain(() => {
      const { expected, taken } = checkInbound(letters, receiver.requests.map(toTold)).counts
      return taken === expected
    })
    await delay(QUIET_MS)
    const told = receiver.requests.map(toTold)
    writeFileSync(join(directory, 'told.json'), JSON.stringify(told))
    const report = checkInbound(letters, told)
    const kills = countKills(join(directory, 'nemesis.ndjson'))
    return { report, kills, imapFaults, attempts: load.attempts, directory }
  } finally {
    await cluster.stopAll()
    await Promise.all([dns.close(), imap.close(), receiver.close()])
    log.close()
  }
}

/** Of a round that is not to be looked into. */
export function forget({ directory }: InboundRound): void {
  rmSync(directory, { recursive: true, force: true })
}

/** A process that does not run, or is about to die, is started without failpoints. */
async function heal(cluster: Cluster): Promise<void> {
  for (const name of ['inbound', 'mailbox', 'dispatcher'] as const) {
    await cluster.stop(name)
    await cluster.start(name)
  }
}

async function setUp(
  { origin, adminToken }: Cluster,
  o: {
    readonly dns: Awaited<ReturnType<typeof createDnsServer>>
    readonly imapPort: number
    readonly receiver: WebhookReceiver
  },
): Promise<void> {
  const response = await fetch(`${origin}/admin/v1/tenants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'crash' }),
  })
  const { api_key: apiKey } = (await response.json()) as { api_key: string }
  const client = new Postrider({ apiKey, basePath: origin })
  const url = o.receiver.origin
  const configured = await client.configureInboundRouting({ domain: DOMAIN, url: `${url}/other` })
  o.dns.publish(configured.inbound_domain.records)
  const { inbound_domain } = await client.getInboundDomain(DOMAIN)
  if (!inbound_domain.verified) throw new Error('the domain is not verified')
  for (const username of usernames)
    await client.createInboundUsername({ domain: DOMAIN, username, url: `${url}/${username}` })
  await client.configureIMAP({
    name: 'Box',
    email: 'ada@example.com',
    config_type: 'imap',
    connection_type: 'basic',
    config: {
      ...{ host: '127.0.0.1', port: o.imapPort, secure: 'None' },
      ...{ username: 'ada@example.com', password: 'secret' },
    },
    webhook: { webhook_url: `${url}${mailboxPath}`, method: 'POST' },
  })
}

function toTold({ path, body, answer, answerFlushed }: WebhookReceiver['requests'][number]): Told {
  const { status = 0, ending } = answer
  const isTaken = status >= 200 && status < 300 && ending === undefined && answerFlushed
  return { path, body: body.toString(), isTaken }
}

function countKills(file: string): Record<string, number> {
  const kills: Record<string, number> = {}
  for (const fact of readNdjson(file) as NemesisFact[])
    if (fact.fact === 'process.died' && fact.signal === 'SIGKILL')
      kills[fact.process] = (kills[fact.process] ?? 0) + 1
  return kills
}

async function drain(isDone: () => boolean): Promise<void> {
  const endsAt = performance.now() + DRAIN_WITHIN_MS
  while (!isDone() && performance.now() < endsAt) await delay(DRAIN_POLL_MS)
}

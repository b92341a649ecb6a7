/**
 * Mailboxes that are watched: what each costs the process that watches a thousand of them while nothing
 * happens, in memory and in processor time; and how long a message takes from APPEND to the webhook.
 *
 * They are at a Dovecot where it is installed, else at the scripted server of the tests.
 */
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { operations } from '@postrider/contract'
import { createRawClient } from '@postrider/testkit'
import { createDovecot, dovecotHindrance } from '@postrider/testkit/mail-servers'
import { request } from 'undici'
import { type Cluster, startCluster } from './cluster.ts'
import { startDns } from './inbound-world.ts'
import type { SentAt } from './letters-main.ts'
import { cpuSeconds, residentMib } from './measure.ts'
import { type BenchOrder, heading, reportRatio } from './report.ts'
import { setUpTenants, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const mailboxes = 1_000
const tenants = 10
const password = 'secret'
const appends = 200
const appendEveryMs = 50
const watchedWithinMs = 300_000
const settleMs = 15_000
const idleMs = 30_000
const arrivalWithinMs = 60_000
const callers = 8
/** Of Dovecot: there are inotify instances for a few of its mailboxes alone. */
const idleCheckS = 1
const retriesMax = 50

export async function measureMailboxes(o: BenchOrder): Promise<void> {
  const users = Object.fromEntries(
    Array.from({ length: mailboxes }, (_, i) => [`box-${i}@example.com`, password]),
  )
  const hindrance = dovecotHindrance()
  heading(
    `${mailboxes} mailboxes at ${hindrance === undefined ? `Dovecot, which looks at them every ${idleCheckS} s` : `the scripted server: ${hindrance}`}`,
  )
  const port =
    hindrance === undefined ? await startDovecot(o, users) : await startScripted(o, users)
  const receiver = await o.startWorker('./incoming-main.ts')
  const hookUrl = `http://127.0.0.1:${await receiver.call('port')}/`
  const cluster = await startCluster(o)
  const api = await cluster.start('api,dispatcher')
  // Authors' domains are asked about.
  const dns = await startDns(o)
  const watcher = await cluster.start('mailbox', { DNS_SERVERS: dns.address }, o.profileDir)
  await delay(settleMs)
  const emptyMib = residentMib(watcher.pid)
  await connectAll(api.origin, await setUpTenants(api.origin, ordersOf(hookUrl)), {
    port,
    hookUrl,
    users,
  })
  const startedAt = performance.now()
  await waitUntilWatched(cluster)
  const watchedMs = performance.now() - startedAt
  await delay(settleMs)
  const fullMib = residentMib(watcher.pid)
  const before = cpuSeconds(watcher.pid)
  await delay(idleMs)
  const idleCpu = (cpuSeconds(watcher.pid) - before) / (idleMs / 1000)
  console.log(
    `  all watched within ${(watchedMs / 1000).toFixed(1)} s of the last one's configuration`,
  )
  console.log(
    `  memory: ${emptyMib.toFixed(0)} MiB with none, ${fullMib.toFixed(0)} MiB with ${mailboxes}: ${(((fullMib - emptyMib) * 1024) / mailboxes).toFixed(0)} KiB each`,
  )
  console.log(`  processor while nothing happens: ${(idleCpu * 100).toFixed(1)} % of one core`)
  const latencies = await measureAppends(port, receiver)
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? 0
  console.log(
    `  APPEND to webhook, ${latencies.length} messages: p50 ${at(0.5).toFixed(0)}, p99 ${at(0.99).toFixed(0)}, max ${at(1).toFixed(0)} ms`,
  )
  reportRatio('p99 in seconds', at(0.99) / 1000, 'below 2')
}

async function startDovecot(o: BenchOrder, users: Readonly<Record<string, string>>) {
  const pem = (name: string): string =>
    readFileSync(new URL(`../packages/testkit/certs/${name}`, import.meta.url), 'utf8')
  const certificate = { key: pem('localhost.key'), cert: pem('localhost.pem') }
  const dovecot = await createDovecot({
    users,
    certificate,
    connectionsMax: 2 * mailboxes,
    idleCheckS,
  })
  o.stopAtEnd(() => dovecot.destroy())
  await dovecot.start()
  return dovecot.port
}

async function startScripted(o: BenchOrder, users: Readonly<Record<string, string>>) {
  const server = await o.startWorker('./imap-main.ts')
  return server.call<number>('start', users)
}

function ordersOf(hookUrl: string) {
  return Array.from({ length: tenants }, (_, i) => ({ name: `tenant ${i}`, sender: '', hookUrl }))
}

/** Without a login before each answer: the watcher logs in. */
async function connectAll(
  origin: string,
  owners: readonly Tenant[],
  o: { readonly port: number; readonly hookUrl: string; readonly users: Record<string, string> },
): Promise<void> {
  const { method, path } = operations.configureIMAP
  const emails = Object.keys(o.users)
  let next = 0
  const work = async (): Promise<void> => {
    for (let i = next++; i < emails.length; i = next++) {
      const owner = owners[i % owners.length]
      const body = JSON.stringify({
        name: 'Box',
        email: emails[i],
        config_type: 'imap',
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: o.port, username: emails[i], password, secure: 'None' },
        webhook: { webhook_url: o.hookUrl, method: 'POST' },
        verify: false,
      })
      for (let tries = 0; ; tries += 1) {
        const answer = await request(origin + path, { method, headers: owner?.headers ?? {}, body })
        const text = await answer.body.text()
        if (answer.statusCode < 300) break
        if (answer.statusCode !== 429 || tries === retriesMax)
          throw new Error(`configureIMAP: ${answer.statusCode} ${text}`)
        await delay(Number(answer.headers['retry-after'] ?? 1) * 1000)
      }
    }
  }
  await Promise.all(Array.from({ length: callers }, work))
}

/** Every mailbox has been looked at. */
async function waitUntilWatched({ sql }: Cluster): Promise<void> {
  const endsAt = performance.now() + watchedWithinMs
  for (;;) {
    const { rows } = await sql.query<{ count: string }>(WATCHED)
    if (Number(rows[0]?.count) >= mailboxes) return
    if (performance.now() > endsAt) throw new Error(`${rows[0]?.count} mailboxes are watched`)
    await delay(500)
  }
}

const WATCHED = 'select count(*) from mailboxes_folder'

async function measureAppends(port: number, receiver: Worker): Promise<number[]> {
  const prefix = 'appended'
  const sentAt: Record<string, number> = {}
  const underWay: Promise<void>[] = []
  for (let n = 0; n < appends; n += 1) {
    const id = `${prefix}-${n}`
    const email = `box-${(n * 37) % mailboxes}@example.com`
    underWay.push(
      append(port, email, id).then((at) => {
        sentAt[id] = at
      }),
    )
    await delay(appendEveryMs)
  }
  await Promise.all(underWay)
  await receiver.call('waitFor', { prefix, count: appends, timeoutMs: arrivalWithinMs })
  const arrivedAt = await receiver.call<SentAt>('arrivals', prefix)
  return Object.entries(sentAt)
    .map(([id, at]) => (arrivedAt[id] ?? Number.NaN) - at)
    .toSorted((a, b) => a - b)
}

/** Answers when the message was written, in milliseconds since the epoch. */
async function append(port: number, email: string, id: string): Promise<number> {
  const client = createRawClient(port)
  await client.see(/^\* OK.*\r\n/)
  client.send(`a LOGIN ${email} ${password}\r\n`)
  await client.see(/^a OK.*\r\n/m)
  const raw = `From: ada@sender.test\r\nTo: ${email}\r\nMessage-ID: <${id}@sender.test>\r\nSubject: ${id}\r\n\r\nHello\r\n`
  client.send(`b APPEND INBOX {${raw.length}}\r\n`)
  await client.see(/^\+.*\r\n/)
  const at = performance.timeOrigin + performance.now()
  client.send(`${raw}\r\n`)
  await client.see(/^b OK.*\r\n/m)
  client.close()
  return at
}

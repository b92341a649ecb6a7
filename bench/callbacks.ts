/**
 * Callbacks of a relay provider: 50,000 events in batches of 350, one in five a repetition, in no
 * order. How fast they are taken, each batch on the disk before its answer, against a bare Fastify route
 * that parses the same JSON; how fast they are applied; what an email of another tenant waits for the
 * API meanwhile; and whether anything is lost or told twice, by counting.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { operations } from '@postrider/contract'
import { request } from 'undici'
import { type Cluster, startCluster } from './cluster.ts'
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
import { setUpTenant, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const events = 50_000
const batch = 350
/** Of all events those that were not told before. */
const distinct = 40_000
const recipients = 1000
/** A provider posts from a few machines at once. */
const callers = 8
const senders = 4
const appliedWithinMs = 120_000
/** Of each hundred recipients; the others are delivered to. */
const kinds = { bounce: 6, spam_complaint: 1, list_unsubscribe: 1 } as const

interface World {
  readonly cluster: Cluster
  readonly origin: string
  readonly pid: number
  readonly reported: Tenant
  readonly sending: Tenant
  /** Where the provider posts. */
  readonly callbackPath: string
}

export async function measureCallbacks(o: BenchOrder): Promise<void> {
  heading(`${events} callback events, ${batch} a batch, ${callers} callers`)
  const bare = await o.startWorker('./bare-route-main.ts')
  const bareOrigin = `http://127.0.0.1:${await bare.call('port')}`
  const load = await o.startWorker('./load-main.ts')
  const otherLoad = await o.startWorker('./load-main.ts')
  const world = await startWorld(o)
  const json = { 'content-type': 'application/json' }
  const [bareSamples, taken, applied]: [Sample[], Sample[], Sample[]] = [[], [], []]
  const latencies = { alone: [] as string[], meanwhile: [] as string[] }
  for (let run = 0; run < o.runs; run += 1) {
    const bodies = toBatches(await sendMail(world, `a${run}`))
    const order = { headers: json, bodies, callers, count: bodies.length }
    bareSamples.push(
      await sampleOf({ route: () => cpuSeconds(bare.pid) }, () =>
        postAll(load, { ...order, origin: bareOrigin, path: '/callbacks' }),
      ),
    )
    const startedAt = performance.now()
    const callbacks = { ...order, origin: world.origin, path: world.callbackPath }
    taken.push(await sampleOf(clocksOf(world), () => postAll(load, callbacks)))
    applied.push(
      await sampleOf(clocksOf(world), async () => {
        await waitUntilApplied(world)
        return { units: events, elapsedMs: performance.now() - startedAt }
      }),
    )
    await checkCounts(world)

    const more = toBatches(await sendMail(world, `b${run}`))
    const sends = sendsOf(world, o.seconds * 1000)
    latencies.alone.push(latencyOf(await otherLoad.call<LoadResult>('post', sends)))
    const sending = otherLoad.call<LoadResult>('post', sends)
    await postAll(load, { ...callbacks, bodies: more })
    await waitUntilApplied(world)
    latencies.meanwhile.push(latencyOf(await sending))
    await checkCounts(world)
  }
  reportRate('the same JSON parsed, and no more', bareSamples)
  reportRate('taken, durable before the answer', taken)
  reportRatios('ratio', taken, bareSamples)
  reportRate('applied, from the first callback on', applied)
  reportRatios('ratio', applied, bareSamples, 'at least 5,000 a second')
  console.log(`  another tenant's sends, ${senders} callers, p50/p99`)
  console.log(`  ${'alone'.padEnd(34)} ${latencies.alone.join(', ')}`)
  console.log(`  ${'meanwhile'.padEnd(34)} ${latencies.meanwhile.join(', ')}`)
}

function clocksOf({ pid, cluster }: World): Record<string, () => number> {
  return { service: () => cpuSeconds(pid), postgres: () => treeCpuSeconds(cluster.databasePid) }
}

const latencyOf = ({ p50Ms, p99Ms }: LoadResult) => `${p50Ms.toFixed(1)}/${p99Ms.toFixed(1)} ms`

async function postAll(load: Worker, order: LoadOrder) {
  const { statuses, elapsedMs } = await load.call<LoadResult>('post', order)
  if (Object.keys(statuses).join() !== '200')
    throw new Error(`answers: ${JSON.stringify(statuses)}`)
  return { units: events, elapsedMs }
}

function sendsOf({ origin, sending }: World, durationMs: number): LoadOrder {
  const { path } = operations.sendEmail
  const mail = { ...mailOf(600), from: { email: sending.sender } }
  const bodies = [JSON.stringify(mail)]
  return { origin, path, headers: sending.headers, bodies, callers: senders, durationMs }
}

async function startWorld(o: BenchOrder): Promise<World> {
  const receiver = await o.startWorker('./receiver-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const cluster = await startCluster(o)
  const { origin, pid } = await cluster.start('api,tracker', {}, o.profileDir)
  const smtp = { port: await sink.call<number>('port'), connections: 1 }
  const hookUrl = `http://127.0.0.1:${await receiver.call('port')}/events`
  const [reported, sending] = [
    await setUpTenant(origin, {
      name: 'reported',
      sender: 'news@example.com',
      hookUrl,
      events: { bounce: true, spam: true, unsubscribe: true },
      smtp,
    }),
    await setUpTenant(origin, { name: 'sending', sender: 'shop@example.com', hookUrl, smtp }),
  ]
  const { method, path } = operations.configureRelay
  const answer = await request(origin + path.replace('{kind}', 'sparkpost'), {
    method,
    headers: reported.headers,
    body: JSON.stringify({ api_key: 'a-key-of-the-bench' }),
  })
  const { relay } = (await answer.body.json()) as { relay: { callback_url: string } }
  const callbackPath = new URL(relay.callback_url).pathname
  return { cluster, origin, pid, reported, sending, callbackPath }
}

/**
 * Accepted by the service; that a provider has taken it is written into the record. To new addresses:
 * some are suppressed by what is reported.
 */
async function sendMail(
  { cluster, origin, reported }: World,
  name: string,
): Promise<readonly SentCopy[]> {
  const { method, path } = operations.sendEmail
  const copies: SentCopy[] = []
  for (let sent = 0; sent < distinct; sent += recipients) {
    const to = Array.from({ length: recipients }, (_, i) => ({
      email: `${name}.${sent + i}@example.com`,
    }))
    const answer = await request(origin + path, {
      method,
      headers: reported.headers,
      body: JSON.stringify({
        ...mailOf(600),
        from: { email: reported.sender },
        to: to.slice(0, 1),
        bcc: to.slice(1),
      }),
    })
    if (answer.statusCode !== 202) throw new Error(await answer.body.text())
    const { ref_id: refId } = (await answer.body.json()) as { ref_id: string }
    for (const [n, { email }] of to.entries()) copies.push({ ref: `${refId}.${n}`, email })
  }
  const { sql } = cluster
  const own = [reported.tenantId]
  await sql.query(
    `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
       started_at, finished_at, outcome, retry_scheduled)
     select q.tenant_id, q.ref_id, q.n, 1, r.day, q.mailer_id, 5, now(), now(), 'accepted', false
       from sending_queue q join sending_recipient r using (tenant_id, ref_id, n)
      where q.tenant_id = $1`,
    own,
  )
  await sql.query(
    `update sending_recipient set status = 'sent', attempts = 1 where tenant_id = $1 and status = 'queued'`,
    own,
  )
  await sql.query('delete from sending_queue where tenant_id = $1', own)
  await sql.query('analyze')
  return copies
}

interface SentCopy {
  readonly ref: string
  readonly email: string
}

/** As SparkPost writes them. */
function toBatches(copies: readonly SentCopy[]): string[] {
  const told = copies.map(eventOf)
  const all = [...told, ...told.slice(0, events - distinct)]
  for (let i = all.length - 1; i > 0; i -= 1) {
    const j = Math.floor(Math.random() * (i + 1))
    const one = all[i] ?? ''
    all[i] = all[j] ?? ''
    all[j] = one
  }
  return Array.from(
    { length: Math.ceil(all.length / batch) },
    (_, i) => `[${all.slice(i * batch, (i + 1) * batch).join()}]`,
  )
}

function eventOf({ ref, email }: SentCopy, i: number): string {
  const id = `${ref}.${i}`
  const fields = {
    type: typeOf(i),
    event_id: id,
    timestamp: String(Math.floor(Date.now() / 1000)),
    message_id: `m-${id}`,
    transmission_id: `t-${ref}`,
    campaign_id: 'spring',
    customer_id: '17',
    friendly_from: 'news@example.com',
    ip_pool: 'shared',
    msg_from: 'msprvs1=19=bounces-1@example.com',
    msg_size: '1337',
    rcpt_meta: { postrider_ref: ref },
    rcpt_tags: [],
    rcpt_to: email,
    raw_rcpt_to: email,
    routing_domain: 'example.com',
    sending_ip: '192.0.2.10',
    ip_address: '192.0.2.25',
    subaccount_id: '0',
    subject: 'Offers',
    template_id: 'template_65832150921904138',
    template_version: '0',
    ...(typeOf(i) === 'bounce'
      ? {
          bounce_class: '10',
          error_code: '550',
          num_retries: '2',
          raw_reason: '550 5.1.1 no such user',
        }
      : {}),
  }
  return JSON.stringify({ msys: { message_event: fields } })
}

function typeOf(i: number): string {
  let rest = i % 100
  for (const [type, share] of Object.entries(kinds)) {
    if (rest < share) return type
    rest -= share
  }
  return 'delivery'
}

async function waitUntilApplied({ cluster }: World): Promise<void> {
  const startedAt = performance.now()
  while (performance.now() - startedAt < appliedWithinMs) {
    const { rows } = await cluster.sql.query<{ left: boolean }>(
      'select exists (select from feedback_inbox) as left',
    )
    if (rows[0]?.left === false) return
    await delay(20)
  }
  throw new Error('callbacks are not applied in time')
}

/** Every event once, as events and as statuses; then they go, so that the next run counts its own. */
async function checkCounts({ cluster, reported }: World): Promise<void> {
  const told = await cluster.sql.query<{ name: string; count: string }>(
    'select event as name, count(*) from webhooks_event where tenant_id = $1 group by 1',
    [reported.tenantId],
  )
  const stand = await cluster.sql.query<{ name: string; count: string }>(
    'select status as name, count(*) from sending_recipient where tenant_id = $1 group by 1',
    [reported.tenantId],
  )
  const share = (type: keyof typeof kinds) => (distinct / 100) * kinds[type]
  const rest = distinct - Object.values(kinds).reduce((sum, n) => sum + (distinct / 100) * n, 0)
  expectCounts('events', told.rows, {
    MAIL_DELIVERED: rest,
    MAIL_BOUNCE: share('bounce'),
    MAIL_SPAM: share('spam_complaint'),
    MAIL_UNSUBSCRIBED: share('list_unsubscribe'),
  })
  expectCounts('recipients', stand.rows, {
    delivered: rest,
    bounced: share('bounce'),
    sent: share('spam_complaint') + share('list_unsubscribe'),
  })
  for (const table of ['webhooks_event', 'webhooks_pending', 'sending_recipient', 'feedback_fact'])
    await cluster.sql.query(`delete from ${table} where tenant_id = $1`, [reported.tenantId])
}

function expectCounts(
  what: string,
  rows: readonly { name: string; count: string }[],
  wanted: Readonly<Record<string, number>>,
): void {
  const counts = Object.fromEntries(rows.map(({ name, count }) => [name, Number(count)]))
  const isRight =
    Object.keys(counts).length === Object.keys(wanted).length &&
    Object.entries(wanted).every(([name, count]) => counts[name] === count)
  if (!isRight)
    throw new Error(`${what}: ${JSON.stringify(counts)} instead of ${JSON.stringify(wanted)}`)
}

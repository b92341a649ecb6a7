/** What is counted as it happens equals what a scan of the tables finds, after traffic of every kind in a random order. */
import { casesOf, createRandom, createSmtpServer, type SmtpServer } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { groupedReason } from '../src/sending/record/counter-groups.ts'
import { ADMIN_TOKEN, composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const SEEDS = [1, 2, 3].slice(0, casesOf(1, 3))
const EMAILS = 60
const HOUR_MS = 3_600_000
/** What the simulator makes of them is in docs/relays.md. Without `throttled`, for which all mail of the domain waits. */
const SIMULATED = [
  ...['delivered', 'deferred', 'bounce-hard', 'bounce-soft', 'out-of-band', 'complaint'],
  ...['unsubscribe', 'policy', 'generation-failure', 'generation-rejection', 'refused'],
]
const PERSON = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'

let database: TestDatabase
let app: App
let smtp: SmtpServer
let origin: string
beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  smtp = await createSmtpServer({
    script: ({ phase, recipient = '' }) => {
      if (phase !== 'rcpt') return undefined
      if (recipient.startsWith('no')) return '550 5.1.1 no such user'
      return recipient.startsWith('busy') ? '451 4.3.0 busy' : undefined
    },
  })
  app = composeForTest(database.url, {
    env: {
      ...{ POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8', POSTRIDER_SEND_RETRY_SCHEDULE: '200ms' },
      POSTRIDER_DATABASE_POOL: '10',
    },
  })
  await app.start()
  origin = `http://127.0.0.1:${app.address().port}`
}, 60_000)
afterAll(async () => {
  await app.stop()
  await smtp.close()
  await database.close()
})

async function call(method: string, path: string, token: string, body?: object) {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  const answer = (await response.json()) as any
  expect([path, response.status < 300, answer]).toEqual([path, true, expect.anything()])
  return answer
}

async function newTenant(name: string) {
  const { tenant_id: id, api_key: key } = await call('POST', '/admin/v1/tenants', ADMIN_TOKEN, {
    name,
  })
  await call('PUT', `/admin/v1/tenants/${id}`, ADMIN_TOKEN, {
    quotas: { emails_per_day: 100_000, queued_max: 100_000, storage_bytes_max: 1_000_000_000 },
  })
  await call('PUT', '/v1/relay/simulator', key, {})
  await call('POST', '/v1/domain', key, { domain: `${name}.test`, relay: 'simulator' })
  await call('POST', '/v1/smtp', key, {
    ...{ name: 'News', email: 'news@sender.test', config_type: 'smtp', connection_type: 'basic' },
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  await call('PUT', '/v1/phishing', key, { blocked_domains: ['phishing.test'] })
  await call('POST', '/v1/suppressions', key, { email: 'gone@recipient.test' })
  return { id, key, name }
}
type Tenant = Awaited<ReturnType<typeof newTenant>>

/** One email at random. */
async function send({ key, name }: Tenant, random: ReturnType<typeof createRandom>, n: number) {
  const isSimulated = random.below(2) === 0
  const names = isSimulated ? SIMULATED : ['ada', 'bob', 'no', 'busy']
  const to = Array.from({ length: 1 + random.below(4) }, (_, i) => ({
    email: `${random.pick(names)}+${n}x${i}@${random.pick(['recipient', 'other'])}.test`,
  }))
  if (random.below(4) === 0) to.push({ email: 'gone@recipient.test' })
  const isAhead = random.below(4) === 0
  const isPhishing = random.below(8) === 0
  // Then recipients that are busy are tried until the time is over.
  const ends = random.below(4) === 0 ? { max_attempts: 20, expires_in: '1s' } : { max_attempts: 2 }
  const link = isPhishing ? 'https://phishing.test/' : 'https://a.example/'
  const { ref_id: refId } = await call('POST', '/v1/email/send', key, {
    from: { email: isSimulated ? `news@${name}.test` : 'news@sender.test' },
    ...{ to, subject: 'Hello', campaign_id: random.pick(['spring', 'autumn']) },
    content: [{ type: 'text/html', value: `<a href="${link}">a</a>` }],
    settings: { ...ends, open_tracking: true, click_tracking: true },
    ...(isAhead ? { send_at: new Date(Date.now() + HOUR_MS).toISOString() } : {}),
  })
  if (isAhead && random.below(2) === 0)
    await call('POST', '/v1/email/cancel', key, { ref_ids: [refId] })
}

/** Opens and clicks of messages that came by SMTP, some by a program. */
async function read(random: ReturnType<typeof createRandom>): Promise<void> {
  for (const { raw } of smtp.messages) {
    const text = raw.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
    const links = text.match(/https?:\/\/[^"\s]+\/t\/[^"\s]+/g) ?? []
    for (const link of links) {
      const { pathname, search } = new URL(link)
      for (let times = random.below(3); times > 0; times--)
        await fetch(`${origin}${pathname}${search}`, {
          ...{ redirect: 'manual', headers: { 'user-agent': random.pick([PERSON, 'curl/8']) } },
        })
    }
  }
}

const number = async (text: string, id: string) => {
  const { rows } = await database.db.query<{ n: number }>(`select (${text})::int as n`, [id])
  return rows[0]?.n ?? -1
}
const events = (event: string) =>
  `select count(*) from webhooks_event where tenant_id = $1 and event = '${event}'`
const recipients = (where: string) =>
  `select count(*) from sending_recipient where tenant_id = $1 and ${where}`
/** Hits of programs are recorded, and not counted. */
const hits = (kind: string, what = '*') => `select count(${what}) from tracking_hits
  where tenant_id = $1 and kind = '${kind}' and not bot`
const BY_RELAY = `mailer_id not like 'smtp%'`

const SCANS: Readonly<Record<string, string>> = {
  accepted: recipients(`not (status = 'suppressed' and attempts = 0)`),
  suppressed: recipients(`status = 'suppressed'`),
  sent: `select count(*) from sending_attempts where tenant_id = $1 and outcome = 'accepted' and ${BY_RELAY}`,
  delivered: events('MAIL_DELIVERED'),
  deferred: 'select count(*) from sending_attempt where tenant_id = $1 and retry_scheduled',
  failed: recipients(`status = 'failed'`),
  expired: recipients(`status = 'expired'`),
  blocked: recipients(`status = 'blocked'`),
  rejected: recipients(`status = 'rejected'`),
  bounced: events('MAIL_BOUNCE'),
  opens: hits('open'),
  clicks: hits('click'),
  unique_opens: hits('open', 'distinct (ref_id, n)'),
  unique_clicks: hits('click', 'distinct (ref_id, n)'),
  unsubscribed: events('MAIL_UNSUBSCRIBED'),
  complained: events('MAIL_SPAM'),
}

/** By reason, what is counted with one: each recipient under its end, and each attempt that another follows. */
async function scanReasons(id: string) {
  const { rows } = await database.db.query<{ name: string; reason: string }>(
    `select status as name, failed_reason as reason from sending_recipient
      where tenant_id = $1
        and status in ('failed', 'expired', 'blocked', 'bounced', 'rejected', 'suppressed')
     union all
     select 'deferred', failed_reason from sending_attempt where tenant_id = $1 and retry_scheduled`,
    [id],
  )
  const reasons = new Map<string, Record<string, number>>()
  for (const { name, reason } of rows) {
    if (reason === '') continue
    const key = groupedReason(reason)
    const counts = reasons.get(key) ?? {}
    reasons.set(key, { ...counts, [name]: (counts[name] ?? 0) + 1 })
  }
  return Object.fromEntries(reasons)
}

const scan = async (id: string) =>
  Object.fromEntries(
    await Promise.all(
      Object.entries(SCANS).map(async ([name, text]) => [name, await number(text, id)] as const),
    ),
  )

it.each(SEEDS)(
  'sums equal scans of the tables after random traffic, seed %i',
  async (seed) => {
    const random = createRandom(seed)
    smtp.clear()
    const [staying, leaving] = [
      await newTenant(`staying${seed}`),
      await newTenant(`leaving${seed}`),
    ]
    for (let n = 0; n < EMAILS; n++) await send(random.pick([staying, staying, leaving]), random, n)
    await call('DELETE', `/admin/v1/tenants/${leaving.id}?confirm=${leaving.name}`, ADMIN_TOKEN)
    const queued = async () => {
      const { rows } = await database.db.query<{ row: string }>(
        `select r.email || ' ' || q.phase || ' ' || q.attempt || ' ' || (q.due_at - now()) as row
           from sending_queue q join sending_recipient r using (tenant_id, ref_id, n)
          where q.tenant_id = $1`,
        [staying.id],
      )
      return rows.map(({ row }) => row)
    }
    await expect.poll(queued, { timeout: 30_000 }).toEqual([])
    // Clicks within seconds of the delivery are those of programs.
    await new Promise((resolve) => setTimeout(resolve, 3_500))
    await read(random)
    // Until hits and reports of the provider have been recorded.
    let before = ''
    await expect
      .poll(
        async () => {
          const now = JSON.stringify(await scan(staying.id))
          const isSame = now === before
          before = now
          return isSame
        },
        { timeout: 30_000, interval: 2_000 },
      )
      .toBe(true)

    const wanted = await scan(staying.id)
    const { overview } = await call('GET', '/v1/overview', staying.key)
    expect(overview.counts).toMatchObject(wanted)
    expect(wanted.accepted).toBeGreaterThan(EMAILS / 2)
    for (const name of ['deferred', 'failed', 'expired', 'blocked', 'bounced'])
      expect([name, wanted[name]]).not.toEqual([name, 0])
    expect(overview.queue).toMatchObject({
      waiting: 0,
      scheduled: await number(
        'select count(*) from sending_scheduled where tenant_id = $1',
        staying.id,
      ),
    })
    const stats = async (groupBy: string) =>
      (await call('GET', `/v1/statistics?interval=hour&group_by=${groupBy}`, staying.key))
        .statistics
    for (const [groupBy, column] of [
      ['recipient_domain', `split_part(r.email, '@', 2)`],
      ['campaign_id', 'e.campaign_id'],
      ['mailer_id', 'e.mailer_id'],
    ] as const) {
      const { rows } = await database.db.query<{ key: string }>(
        `select ${column} as key,
              count(*) filter (where not (r.status = 'suppressed' and r.attempts = 0))::int as accepted,
              count(*) filter (where r.status = 'rejected')::int as rejected,
              count(*) filter (where r.status = 'failed')::int as failed,
              count(*) filter (where r.status = 'expired')::int as expired,
              count(*) filter (where r.status = 'blocked')::int as blocked
         from sending_recipient r join sending_email e using (tenant_id, ref_id, day)
        where r.tenant_id = $1 group by 1 order by 1`,
        [staying.id],
      )
      const { groups } = await stats(groupBy)
      const told = groups.map((one: Record<string, unknown>) => {
        const { accepted, rejected, failed, expired, blocked } = one.totals as Record<
          string,
          number
        >
        return { key: one[groupBy], accepted, rejected, failed, expired, blocked }
      })
      const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
      expect(told.toSorted(byKey)).toEqual(rows.toSorted(byKey))
    }

    const { groups: reasons } = await stats('failed_reason')
    const isCounted = ([, n]: [string, unknown]) => n !== 0
    const told = reasons.map((one: { failed_reason: string; totals: object }) => [
      one.failed_reason,
      Object.fromEntries(Object.entries(one.totals).filter(isCounted)),
    ])
    expect(Object.fromEntries(told)).toEqual(await scanReasons(staying.id))

    const usage = {
      emails_today: wanted.accepted,
      queued: overview.queue.scheduled,
      storage_bytes: expect.any(Number),
    }
    const { tenant } = await call('GET', `/admin/v1/tenants/${staying.id}`, ADMIN_TOKEN)
    expect(tenant.usage).toEqual(usage)
    const { rows } = await database.db.query<{ inDay: number; storageBytes: number }>(
      `select in_day::int as "inDay", storage_bytes::int as "storageBytes" from tenants_usage
      where tenant_id = $1`,
      [staying.id],
    )
    expect(rows).toEqual([{ inDay: wanted.accepted, storageBytes: tenant.usage.storage_bytes }])
  },
  180_000,
)

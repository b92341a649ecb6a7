/**
 * How long a page of email logs takes over HTTP in a record of --recipients, by each filter and by
 * common pairs: the first page and the thousandth, against a row by its primary key.
 *
 * The record is that of 30 days: half of the recipients are of emails to one, half of campaigns'
 * emails to a hundred. It is seeded without the indexes of the logs, which are made afterwards.
 */
import { operations } from '@postrider/contract'
import type pg from 'pg'
import { request } from 'undici'
import { startCluster } from './cluster.ts'
import { type BenchOrder, heading } from './report.ts'
import { ULID } from './seed.ts'
import { setUpTenants, type Tenant } from './set-up.ts'

const DAYS = 30
const BLOCK = 200
const CHUNK_BLOCKS = 2_500
const ROUNDS = 25
const PAGE = 50
const DEEP_PAGES = 1_000
const LONG_PAGE = 500
const LIMIT_MS = 50

const TABLES = ['email', 'content', 'recipient', 'attempt', 'stopped'].map(
  (name) => `sending_${name}`,
)

export async function measureLogs(o: BenchOrder): Promise<void> {
  heading(`Pages of ${PAGE} email logs in a record of ${o.recipients} recipients`)
  const { origin, sql, tenant } = await startWithLogs(o)
  await measureKey(sql, tenant)
  for (const [name, query] of await questions(sql, tenant))
    await measureQuestion(origin, tenant, name, query)
}

/** The API over a record of so many recipients, all of one tenant. */
export async function startWithLogs(o: BenchOrder) {
  const hooks = await o.startWorker('./hooks-main.ts')
  const cluster = await startCluster(o, { shared_buffers: '1GB', max_wal_size: '8GB' })
  const { origin } = await cluster.start('api')
  const hookUrl = `http://127.0.0.1:${await hooks.call<number>('port')}/count/logs`
  const order = { name: 'logs', sender: 'news@example.com', hookUrl }
  const [tenant] = await setUpTenants(origin, [order])
  if (tenant === undefined) throw new Error('no tenant')
  const startedMs = performance.now()
  await seed(cluster.sql, tenant, o.recipients)
  console.log(`  seeded in ${Math.round((performance.now() - startedMs) / 1000)} s`)
  await reportSizes(cluster.sql)
  return { origin, sql: cluster.sql, tenant }
}

/** In one statement for each chunk of each table; ids, times and contents follow from the numbers. */
async function seed(sql: pg.Client, { tenantId }: Tenant, recipients: number): Promise<void> {
  await sql.query(ULID)
  for (const table of TABLES)
    await sql.query('select platform_ensure_day_partitions($1, $2)', [table, DAYS])
  const { rows: indexes } = await sql.query<{ name: string; ddl: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as ddl from pg_index
      where indrelid = any($1::regclass[]) and not indisprimary`,
    [TABLES],
  )
  for (const { name } of indexes) await sql.query(`drop index ${name}`)
  await sql.query(`set synchronous_commit = off`)
  const blocks = Math.ceil(recipients / BLOCK)
  const newestMs = Date.now() - 60_000
  for (let from = 0; from < blocks; from += CHUNK_BLOCKS) {
    const to = Math.min(from + CHUNK_BLOCKS, blocks) - 1
    for (const insert of INSERTS) await sql.query(insert, [tenantId, from, to, blocks, newestMs])
  }
  for (const { ddl } of indexes) await sql.query(ddl.replace(' ON ONLY ', ' ON '))
  await sql.query(`vacuum (analyze) ${TABLES.join()}, sending_queue`)
  await sql.query('checkpoint')
}

const MADE = `
  with email as (
    select b, j, b * 101 + j as e,
           $5::bigint
             - ((($4::bigint - b) * 101 - j) * ${DAYS * 86_400_000}.0 / ($4::bigint * 101))::bigint as ms
      from generate_series($2::bigint, $3::bigint) b, generate_series(0, 100) j),
  placed as (
    select *, pg_temp.ulid(ms, e) as ref, to_timestamp(ms / 1000.0) as at,
           (to_timestamp(ms / 1000.0) at time zone 'UTC')::date as day
      from email),
  recipient as (
    select p.*, n, abs(hashint8(e * 1000 + n)) as h, abs(hashint8(e * 7919 + n)) as s
      from placed p, lateral generate_series(0, case when j = 100 then 99 else 0 end) n),
  known as (
    select *, case when h % 100 < 30 then 'd0.example' when h % 100 < 50 then 'd1.example'
                   when h % 100 < 90 then 'd' || 2 + h % 97 || '.example'
                   else 'rare' || h % 100003 || '.example' end as domain,
           'user' || h % 2000003 as local,
           case when s % 1000 < 20 then 'failed' when s % 1000 < 22 then 'expired'
                when s % 1000 < 27 then 'suppressed' when s % 1000 < 28 then 'blocked'
                when s % 1000 < 30 then 'bounced' when $4 - b < $4 / 100 and s % 1000 < 100 then 'queued'
                when s % 5000 < 160 then 'deferred' else 'delivered' end as status
      from recipient)`

const INSERTS = [
  `${MADE}
   insert into sending_email (tenant_id, ref_id, day, mailer_id, from_email, subject, campaign_id,
                              max_attempts, expires_at, traceparent, created_at)
   select $1, ref, day, 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8', 'news@example.com',
          case when j = 100 then 'Newsletter of week ' || b * 1000 / $4 || ' is here'
               else 'Your order #' || e || ' has been shipped' end,
          case when j = 100 then 'campaign-' || b * 1000 / $4 end,
          5, at + interval '3 days',
          '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', at
     from placed`,
  `${MADE}
   insert into sending_content (tenant_id, ref_id, day, content)
   select $1, ref, day, convert_to('{"text":"' || repeat('x', 500) || '"}', 'utf8') from placed`,
  `${MADE}
   insert into sending_recipient (tenant_id, ref_id, n, day, email, address_key, type, status, attempts,
                                  message_id, created_at, delivered_at)
   select $1, ref, n, day, local || '@' || domain, domain || '@' || local,
          case when s % 50 = 0 then 'cc' when s % 50 = 1 then 'bcc' else 'to' end, status, 1,
          '<' || ref || '.' || n || '@example.com>', at,
          case when status = 'delivered' then at + interval '3 s' end
     from known`,
  `${MADE}
   insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts, started_at,
                                finished_at, outcome, category, retry_scheduled)
   select $1, ref, n, 1, day, 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8', 5, at, at + interval '3 s',
          case when status = 'delivered' then 'accepted' else 'failed' end,
          case when status = 'expired' then 'expired' end, false
     from known where status in ('failed', 'expired')
       or status = 'delivered' and ((at + interval '3 s') at time zone 'UTC')::date > day`,
  `${MADE}
   insert into sending_stopped (tenant_id, status, ref_id, n, day)
   select $1, status, ref, n, day from known where status in ('suppressed', 'blocked', 'bounced')`,
  `${MADE}
   insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, attempt, max_attempts,
                              expires_at, content_bytes)
   select $1, ref, n, 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8', 1, now() + interval '1 day',
          case when status = 'deferred' then 2 else 1 end, 5, now() + interval '3 days', 500
     from known where status in ('queued', 'deferred')`,
]

async function reportSizes(sql: pg.Client): Promise<void> {
  const { rows } = await sql.query<{ name: string; gb: number }>(
    `select regexp_replace(relname, '_\\d{8}(_\\w+)?$', '\\1') as name,
            (sum(pg_relation_size(oid)) / 1e9)::float8 as gb
       from pg_class where relkind in ('r', 'i') and relname ~ '^sending_(email|recipient|attempt)_\\d{8}'
      group by 1 order by 2 desc limit 9`,
  )
  console.log(`  GB: ${rows.map(({ name, gb }) => `${name} ${gb.toFixed(2)}`).join(', ')}`)
}

async function measureKey(sql: pg.Client, { tenantId }: Tenant): Promise<void> {
  const { rows } = await sql.query<{ ref_id: string; day: string }>(
    `select ref_id, day::text from sending_recipient tablesample system (0.1) limit $1`,
    [ROUNDS],
  )
  const text =
    'select * from sending_recipient where tenant_id = $1 and ref_id = $2 and day = $3 and n = 0'
  const times: number[] = []
  for (const { ref_id: refId, day } of rows)
    times.push(await timed(() => sql.query({ name: 'key', text, values: [tenantId, refId, day] })))
  report('a row by its primary key, without HTTP', times)
}

type Questions = [name: string, query: (round: number) => string][]

/** Values that there are, another one each time where that matters. */
async function questions(sql: pg.Client, { tenantId }: Tenant): Promise<Questions> {
  const { rows } = await sql.query<{ email: string; ref_id: string; subject: string; at: Date }>(
    `select email, r.ref_id, e.subject, r.created_at as at
       from (select * from sending_recipient tablesample system (0.1) limit 200) r
       join sending_email e on e.tenant_id = $1 and e.ref_id = r.ref_id and e.day = r.day`,
    [tenantId],
  )
  const some = (round: number) => {
    const row = rows[(round * 7) % rows.length]
    if (row === undefined) throw new Error('nothing was seeded')
    return row
  }
  const q = (of: (round: number) => Record<string, string>) => (round: number) =>
    new URLSearchParams(of(round)).toString()
  const day = (round: number) => some(round).at.toISOString().slice(0, 10)
  const campaign = (round: number) => `campaign-${(round * 37) % 1000}`
  const statuses = [
    'queued',
    'deferred',
    'held',
    'delivered',
    'failed',
    'expired',
    'suppressed',
  ].concat(['blocked', 'bounced', 'rejected', 'scheduled', 'sent', 'opened'])
  return [
    ['no filter', q(() => ({}))],
    ['email', q((i) => ({ email: some(i).email }))],
    ['email of nobody', q((i) => ({ email: `nobody${i}@example.com` }))],
    ['recipientDomain, of 30 %', q(() => ({ recipientDomain: 'd0.example' }))],
    ['recipientDomain, of 0.4 %', q((i) => ({ recipientDomain: `d${2 + i}.example` }))],
    ['recipientDomain, rare', q((i) => ({ recipientDomain: `rare${i}.example` }))],
    ['refId', q((i) => ({ refId: some(i).ref_id }))],
    ['startCreatedAt', q((i) => ({ startCreatedAt: day(i) }))],
    ['endCreatedAt', q((i) => ({ endCreatedAt: some(i).at.toISOString() }))],
    ...statuses.map((status): Questions[number] => [`status ${status}`, q(() => ({ status }))]),
    ['subject, of half', q(() => ({ subject: 'ORDER' }))],
    ['subject, of one email', q((i) => ({ subject: some(i).subject }))],
    ['campaignId', q((i) => ({ campaignId: campaign(i) }))],
    ['recipientType to', q(() => ({ recipientType: 'to' }))],
    ['recipientType bcc', q(() => ({ recipientType: 'bcc' }))],
    ['startDeliveredDate', q((i) => ({ startDeliveredDate: day(i) }))],
    ['endDeliveredDate', q((i) => ({ endDeliveredDate: day(i) }))],
    ['a day of deliveries', q((i) => ({ startDeliveredDate: day(i), endDeliveredDate: day(i) }))],
    ['email + status', q((i) => ({ email: some(i).email, status: 'failed' }))],
    ['domain of 30 % + failed', q(() => ({ recipientDomain: 'd0.example', status: 'failed' }))],
    ['rare domain + failed', q((i) => ({ recipientDomain: `rare${i}.example`, status: 'failed' }))],
    ['campaign + failed', q((i) => ({ campaignId: campaign(i), status: 'failed' }))],
    ['campaign + delivered', q((i) => ({ campaignId: campaign(i), status: 'delivered' }))],
    [
      'campaign + domain of 30 %',
      q((i) => ({ campaignId: campaign(i), recipientDomain: 'd0.example' })),
    ],
    [
      'failed + a day',
      q((i) => ({ status: 'failed', startCreatedAt: day(i), endCreatedAt: day(i) })),
    ],
    [
      'subject + a day',
      q((i) => ({ subject: 'week', startCreatedAt: day(i), endCreatedAt: day(i) })),
    ],
    ['bcc + failed', q(() => ({ recipientType: 'bcc', status: 'failed' }))],
  ]
}

interface Page {
  readonly count: number
  readonly next: string | undefined
}

async function measureQuestion(
  origin: string,
  { headers }: Tenant,
  name: string,
  query: (round: number) => string,
): Promise<void> {
  const ask = async (round: number, more: string): Promise<Page> => {
    const { method, path } = operations.getEmailLogs
    const answer = await request(`${origin}${path}?${query(round)}${more}`, { method, headers })
    const text = await answer.body.text()
    if (answer.statusCode !== 200) throw new Error(`${name}: ${answer.statusCode} ${text}`)
    const body = JSON.parse(text) as { logs: unknown[]; nextPageToken?: string }
    return { count: body.logs.length, next: body.nextPageToken }
  }
  const first: number[] = []
  let found = 0
  let cut = 0
  for (let round = 0; round < ROUNDS; round += 1)
    first.push(
      await timed(async () => {
        const page = await ask(round, `&pageSize=${PAGE}`)
        found += page.count
        if (page.count < PAGE && page.next !== undefined) cut += 1
      }),
    )
  report(
    `${name}: first page`,
    first,
    `${found / ROUNDS} logs${cut > 0 ? `, ${cut} cut short` : ''}`,
  )
  let deep: string | undefined = ''
  let passed = 0
  for (let i = 0; passed < DEEP_PAGES * PAGE && deep !== undefined && i < 3 * DEEP_PAGES; i += 1) {
    const { count, next }: Page = await ask(0, `&pageSize=${LONG_PAGE}${tokenOf(deep)}`)
    passed += count
    deep = next
  }
  if (deep === undefined || passed < DEEP_PAGES * PAGE) return
  const thousandth: number[] = []
  for (let round = 0; round < ROUNDS; round += 1)
    thousandth.push(await timed(() => ask(0, `&pageSize=${PAGE}${tokenOf(deep)}`)))
  report(`${name}: thousandth`, thousandth)
}

function tokenOf(token: string | undefined): string {
  return token === undefined || token === '' ? '' : `&pageToken=${token}`
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

function report(name: string, times: readonly number[], more = ''): void {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) =>
    (sorted[Math.ceil(sorted.length * part) - 1] ?? Number.NaN).toFixed(1)
  const mark = Number(at(0.95)) > LIMIT_MS ? '  ABOVE 50 ms' : ''
  console.log(
    `  ${name.padEnd(44)} p50 ${at(0.5).padStart(6)}  p95 ${at(0.95).padStart(6)}  max ${at(1).padStart(6)} ms  ${more}${mark}`,
  )
}

/**
 * How long a single mail takes while a campaign waits: of another tenant, and of the same mailer;
 * what a claim costs then against a short queue; and what mailers cost with nothing due.
 *
 * Times of mails are the database's, from acceptance to the commit of their delivery. The API and
 * the sender are processes of their own, so a mail is heard of as it is where they are several.
 */
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { operations } from '@postrider/contract'
import { request } from 'undici'
import { type Cluster, startCluster } from './cluster.ts'
import { mailOf } from './mail.ts'
import { cpuSeconds, median } from './measure.ts'
import { type BenchOrder, heading, reportRatio } from './report.ts'
import { ULID } from './seed.ts'
import { setUpTenants, type Tenant } from './set-up.ts'

const PER_EMAIL = 1_000
const SHORT_ROUNDS = 10
const SINGLES = 20
const MAILERS = 10_000
const IDLE_MS = 10_000
const TIMEOUT_MS = 120_000
const CHUNK_EMAILS = 20

interface Parts {
  readonly cluster: Cluster
  readonly api: string
  readonly other: Tenant
  readonly own: Tenant
}

export async function measureQueue(o: BenchOrder): Promise<void> {
  heading(`A single mail while a campaign of ${o.backlog} waits`)
  const parts = await setUp(o)
  const { cluster, other, own } = parts
  const sender = await cluster.start('sender')
  for (let round = 0; round < SHORT_ROUNDS; round += 1) {
    const refId = await send(parts, own, PER_EMAIL)
    await waitUntil(cluster, `select from sending_queue limit 1`, [], 0)
    if (round === 0) await resetStatements(cluster)
    else await delivered(cluster, [refId])
  }
  const short = await claimMs(cluster)
  await sender.stop()

  await seedCampaign(parts, await send(parts, own, PER_EMAIL), o.backlog / PER_EMAIL - 1)
  await resetStatements(cluster)
  const busy = await cluster.start('sender')
  const latencies: Record<'other' | 'own', number[]> = { other: [], own: [] }
  for (let i = 0; i < SINGLES; i += 1) {
    const [ofOther, ofOwn] = [await send(parts, other, 1), await send(parts, own, 1)]
    latencies.other.push(...(await delivered(cluster, [ofOther])))
    latencies.own.push(...(await delivered(cluster, [ofOwn])))
  }
  const long = await claimMs(cluster)
  await busy.stop()
  for (const [name, ms] of Object.entries(latencies)) {
    const most = Math.max(...ms)
    console.log(
      `  ${`of ${name === 'own' ? 'its own mailer' : 'another tenant'}`.padEnd(34)} ${median(ms).toFixed(0).padStart(7)} ms  (longest ${most.toFixed(0)} ms of ${ms.length})`,
    )
    reportRatio('longest, in seconds', most / 1000, 'below 1')
  }
  console.log(
    `  a claim: ${(short * 1000).toFixed(0)} µs with ${PER_EMAIL} queued, ${(long * 1000).toFixed(0)} µs with ${o.backlog}`,
  )
  reportRatio('claim, long queue to short', long / short, 'at most 2')
  await measureIdle(parts)
}

async function setUp(o: BenchOrder): Promise<Parts> {
  const hooks = await o.startWorker('./hooks-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const cluster = await startCluster(o, { shared_preload_libraries: 'pg_stat_statements' })
  await cluster.sql.query('create extension pg_stat_statements')
  const { origin } = await cluster.start('api')
  const hooksPort = await hooks.call<number>('port')
  const smtp = { port: await sink.call<number>('port'), connections: 5 }
  const [other, own] = await setUpTenants(
    origin,
    ['other', 'own'].map((name) => ({
      name,
      sender: `${name}@example.com`,
      hookUrl: `http://127.0.0.1:${hooksPort}/count/${name}`,
      smtp,
    })),
  )
  if (other === undefined || own === undefined) throw new Error('no tenants')
  return { cluster, api: origin, other, own }
}

/** To many it is a campaign's. Answers its ref_id. */
async function send({ api }: Parts, { headers, sender }: Tenant, count: number): Promise<string> {
  const { method, path } = operations.sendEmail
  const to = Array.from({ length: count }, (_, i) => ({ email: `r${i}@example.com` }))
  const body = { ...mailOf(600, sender), to, ...(count > 1 ? { campaign_id: 'bench' } : {}) }
  const answer = await request(api + path, { method, headers, body: JSON.stringify(body) })
  const text = await answer.body.text()
  if (answer.statusCode !== 202) throw new Error(`${path}: ${answer.statusCode} ${text}`)
  return String((JSON.parse(text) as { ref_id: unknown }).ref_id)
}

/** Copies of an email with all that belongs to it, under ids of their own. */
async function seedCampaign({ cluster }: Parts, refId: string, copies: number): Promise<void> {
  const { sql } = cluster
  await sql.query(ULID)
  await sql.query(
    `create temp table copy as
     select k, pg_temp.ulid(floor(extract(epoch from clock_timestamp()) * 1000)::bigint + k, k) as ref
       from generate_series(1, $1::bigint) k`,
    [copies],
  )
  for (let from = 1; from <= copies; from += CHUNK_EMAILS) {
    const chunk = [refId, from, Math.min(from + CHUNK_EMAILS - 1, copies)]
    for (const table of ['sending_email', 'sending_recipient', 'sending_queue']) {
      await sql.query(
        `insert into ${table}
         select (json_populate_record(r, json_build_object('ref_id', ref))).*
           from copy cross join ${table} r where r.ref_id = $1 and k between $2 and $3`,
        chunk,
      )
    }
    await copyContent(sql, chunk)
  }
  await sql.query(
    'vacuum (analyze) sending_queue, sending_email, sending_content, sending_recipient',
  )
  await sql.query('checkpoint')
}

/** The content of an email has its id in it. */
async function copyContent(
  sql: Cluster['sql'],
  [refId, from, to]: readonly unknown[],
): Promise<void> {
  const { rows } = await sql.query<{ content: Buffer; ref: string }>(
    `select r.content, ref from copy cross join sending_content r
      where r.ref_id = $1 and k between $2 and $3`,
    [refId, from, to],
  )
  const contents = rows.map(({ content, ref }) =>
    zstdCompressSync(zstdDecompressSync(content).toString().replaceAll(String(refId), ref)),
  )
  await sql.query(
    `insert into sending_content (tenant_id, ref_id, day, content)
     select tenant_id, ref, day, c
       from sending_content r cross join unnest($2::text[], $3::bytea[]) as made (ref, c)
      where r.ref_id = $1`,
    [refId, rows.map(({ ref }) => ref), contents],
  )
}

async function resetStatements({ sql }: Cluster): Promise<void> {
  await sql.query('select pg_stat_statements_reset()')
}

/** Of the statement that claims a queue's rows, per row, in milliseconds. */
async function claimMs({ sql }: Cluster): Promise<number> {
  const { rows } = await sql.query<{ ms: number }>(
    `select sum(total_exec_time) / sum(rows) as ms from pg_stat_statements
      where query like $$with due as%update sending_queue%$$`,
  )
  return rows[0]?.ms ?? Number.NaN
}

/** From acceptance to delivery, in milliseconds: of the first recipient of each. */
async function delivered(cluster: Cluster, refIds: readonly string[]): Promise<number[]> {
  const ended =
    'from sending_recipient where ref_id = any($1) and n = 0 and delivered_at is not null'
  await waitUntil(cluster, `select ${ended}`, [refIds], refIds.length)
  const { rows } = await cluster.sql.query<{ ms: number }>(
    `select (extract(epoch from delivered_at - created_at) * 1000)::float8 as ms ${ended}`,
    [refIds],
  )
  return rows.map(({ ms }) => ms)
}

async function waitUntil(
  { sql }: Cluster,
  query: string,
  values: readonly unknown[],
  count: number,
): Promise<void> {
  const endsAt = performance.now() + TIMEOUT_MS
  while ((await sql.query(query, [...values])).rows.length !== count) {
    if (performance.now() > endsAt) throw new Error(`not within ${TIMEOUT_MS} ms: ${query}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Mailers whose only mail waits for a retry in an hour. */
async function measureIdle({ cluster, own }: Parts): Promise<void> {
  const { sql } = cluster
  await sql.query('truncate sending_queue')
  await sql.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
                                expires_at, content_bytes)
     select $1, 'idle' || n, 0, 'smtp_idle_' || n, n % 64, now() + interval '1 hour', 5,
            now() + interval '1 day', 100
       from generate_series(1, $2::integer) n`,
    [own.tenantId, MAILERS],
  )
  await sql.query('vacuum analyze sending_queue')
  const sender = await cluster.start('sender')
  await resetStatements(cluster)
  const before = cpuSeconds(sender.pid)
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
  const { rows } = await sql.query<{ calls: number; ms: number }>(
    `select sum(calls)::float8 as calls, sum(total_exec_time) as ms from pg_stat_statements
      where query like 'with recursive lane as%'`,
  )
  const [sweeps] = rows
  const share = (cpuSeconds(sender.pid) - before) / (IDLE_MS / 1000)
  console.log(
    `  ${MAILERS} mailers with nothing due: ${sweeps?.calls ?? 0} sweeps of ${((sweeps?.ms ?? 0) / (sweeps?.calls || 1)).toFixed(1)} ms in PostgreSQL, ${(share * 100).toFixed(1)}% of a core in the sender`,
  )
  reportRatio('PostgreSQL, share of a core', (sweeps?.ms ?? 0) / IDLE_MS, 'at most 0.05')
  await sender.stop()
}

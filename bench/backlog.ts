/**
 * What one stream's events cost while millions of rows wait: for another stream, which is in
 * back-off, or for its own. Every event alone (a take, a request and a settlement each), and in
 * batches of 500; one stream has one request in flight, so the rate is the time of a step.
 *
 * PostgreSQL's own statistics tell what each statement of the dispatcher costs there.
 */
import { type Cluster, startCluster } from './cluster.ts'
import type { HookCounts } from './hooks-main.ts'
import { median } from './measure.ts'
import { type BenchOrder, heading, reportRatio } from './report.ts'
import { activate, type EventTemplate, recordTemplate, seedEvents } from './seed.ts'
import { setUpTenants, type Tenant } from './set-up.ts'
import type { Worker } from './worker.ts'

const modes = {
  singly: { events: 3000, warmUp: 500, env: { WEBHOOK_BATCH_EVENTS: 1 } },
  'in batches': { events: 60_000, warmUp: 10_000, env: {} },
} as const
type Mode = keyof typeof modes
const modeNames: readonly Mode[] = ['singly', 'in batches']
const states = {
  empty: 'nothing else waits',
  other: 'others wait in back-off',
  own: 'its own wait behind',
} as const
type State = keyof typeof states

const timeoutMs = 120_000
/** What takes less of the time than this is not worth a line. */
const SHARE_MIN = 0.02

interface Statement {
  readonly id: string
  readonly query: string
  readonly calls: number
  readonly total_ms: number
}

interface Cost {
  readonly perSecond: number
  /** Of one event, in all statements of the service. */
  readonly databaseMs: number
  readonly statements: readonly Statement[]
}

interface Parts {
  readonly cluster: Cluster
  readonly hooks: Worker
  readonly template: EventTemplate
  readonly small: Tenant
  readonly big: Tenant
}

export async function measureBacklog(o: BenchOrder): Promise<void> {
  heading(`One stream's events while ${o.backlog} rows wait`)
  const parts = await setUp(o)
  const { cluster, template, small, big } = parts
  const costs: Record<State, Record<Mode, Cost[]>> = {
    empty: { singly: [], 'in batches': [] },
    other: { singly: [], 'in batches': [] },
    own: { singly: [], 'in batches': [] },
  }
  const measure = async (state: State, tenant: Tenant): Promise<void> => {
    for (let run = 0; run < o.runs; run += 1) {
      for (const mode of modeNames) {
        const { events, warmUp } = modes[mode]
        // What comes between the warming up and the measuring is counted for neither.
        const enough = events + 2 * warmUp
        if (tenant === small) await seedEvents(cluster.sql, template, [small], enough)
        costs[state][mode].push(await measureStream(parts, tenant, mode))
      }
    }
  }
  await measure('empty', small)
  await seedEvents(cluster.sql, template, [big], o.backlog)
  await setWait(cluster, big, true)
  await measure('other', small)
  await setWait(cluster, big, false)
  await measure('own', big)
  for (const mode of modeNames) reportMode(mode, costs)
}

async function setUp(o: BenchOrder): Promise<Parts> {
  const hooks = await o.startWorker('./hooks-main.ts')
  const sink = await o.startWorker('./sink-main.ts')
  const cluster = await startCluster(o, { shared_preload_libraries: 'pg_stat_statements' })
  await cluster.sql.query('create extension pg_stat_statements')
  const service = await cluster.start('api,sender')
  const hooksPort = await hooks.call<number>('port')
  const smtp = { port: await sink.call<number>('port'), connections: 1 }
  const [small, big] = await setUpTenants(
    service.origin,
    ['small', 'big'].map((name) => ({
      name,
      sender: `${name}@example.com`,
      hookUrl: `http://127.0.0.1:${hooksPort}/count/${name}`,
      smtp,
    })),
  )
  if (small === undefined || big === undefined) throw new Error('no tenants')
  const template = await recordTemplate(cluster, service.origin, small)
  await service.stop()
  await sink.stop()
  return { cluster, hooks, template, small, big }
}

/** As a dispatcher leaves a stream whose receiver fails, and as it leaves it after a success. */
async function setWait({ sql }: Cluster, tenant: Tenant, isFailing: boolean): Promise<void> {
  await sql.query(
    isFailing
      ? `update webhooks_stream
            set state = 'active', not_before = now() + interval '6 hours', fail_count = 9,
                first_failure_at = now() - interval '1 hour'
          where tenant_id = $1 and webhook_id = $2`
      : `update webhooks_stream
            set not_before = '-infinity', fail_count = 0, first_failure_at = null
          where tenant_id = $1 and webhook_id = $2`,
    [tenant.tenantId, tenant.webhookId],
  )
}

/** By a dispatcher of its own, so that no state begins with what another has learned. */
async function measureStream({ cluster, hooks }: Parts, tenant: Tenant, mode: Mode): Promise<Cost> {
  const { events, warmUp, env } = modes[mode]
  const service = await cluster.start('dispatcher', { ...env, WEBHOOK_BATCH_LINGER: '0ms' })
  await hooks.call('clear')
  await activate(cluster.sql, [tenant])
  await hooks.call('waitFor', { events: warmUp, timeoutMs })
  await cluster.sql.query('select pg_stat_statements_reset()')
  await hooks.call('clear')
  const counts = await hooks.call<HookCounts>('waitFor', { events, timeoutMs })
  const { rows } = await cluster.sql.query<Statement>(
    `select queryid::text as id, query, calls::int, total_exec_time as total_ms from pg_stat_statements
      where query not like '%pg_stat_statements%' order by total_exec_time desc`,
  )
  await service.stop()
  const totalMs = rows.reduce((sum, row) => sum + row.total_ms, 0)
  return {
    perSecond: (counts.events / counts.elapsedMs) * 1000,
    databaseMs: totalMs / counts.events,
    statements: rows,
  }
}

function reportMode(mode: Mode, costs: Record<State, Record<Mode, Cost[]>>): void {
  console.log(`\n  ${mode}`)
  const stateNames: readonly State[] = ['empty', 'other', 'own']
  const rateOf = (state: State): number => median(costs[state][mode].map((one) => one.perSecond))
  const databaseOf = (state: State): number =>
    median(costs[state][mode].map((one) => one.databaseMs))
  for (const state of stateNames) {
    const all = costs[state][mode].map((one) => Math.round(one.perSecond)).join(', ')
    console.log(
      `  ${states[state].padEnd(34)} ${Math.round(rateOf(state)).toString().padStart(7)}/s  (${all}), PostgreSQL ${(databaseOf(state) * 1000).toFixed(0)} µs an event`,
    )
  }
  for (const state of ['other', 'own'] as const) {
    reportRatio(`rate, ${states[state]}`, rateOf(state) / rateOf('empty'), 'at least 0.50')
    const ratio = databaseOf(state) / databaseOf('empty')
    reportRatio(`PostgreSQL, ${states[state]}`, ratio, 'at most 2')
  }
  const meanOf = (state: State, id: string): number =>
    median(
      costs[state][mode].flatMap(({ statements }) => {
        const found = statements.find((one) => one.id === id)
        return found === undefined ? [] : [(found.total_ms / found.calls) * 1000]
      }),
    )
  console.log('  µs a call: empty, other, own')
  for (const [id, query] of statementsOf(costs, mode)) {
    const means = stateNames.map((state) => meanOf(state, id).toFixed(0).padStart(7))
    console.log(`    ${means.join('')}  ${query.replace(/\s+/g, ' ').slice(0, 90)}`)
  }
}

/** Those that matter in any state, and those that find the streams, which are called seldom. */
function statementsOf(costs: Record<State, Record<Mode, Cost[]>>, mode: Mode): Map<string, string> {
  const found = new Map<string, string>()
  for (const cost of Object.values(costs).flatMap((byMode) => byMode[mode])) {
    const total = cost.statements.reduce((sum, one) => sum + one.total_ms, 0)
    for (const { id, query, total_ms } of cost.statements) {
      const isDiscovery = query.includes('as b(bucket, after)')
      if (total_ms >= total * SHARE_MIN || isDiscovery) found.set(id, query)
    }
  }
  return found
}

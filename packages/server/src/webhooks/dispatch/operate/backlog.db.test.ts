import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { emptyTables } from '../../../../test/empty-tables.ts'
import { createMetrics, type Metrics } from '../../../platform/metrics.ts'
import { createBacklog } from './backlog.ts'

let database: TestDatabase
let metrics: Metrics
let lines: Record<string, unknown>[]

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  lines = []
  await emptyTables(database.db, 'webhooks_stream', 'webhooks_pending', 'webhooks_open')
})

function backlog(o: { buckets?: number[]; exactMax?: number; db?: TestDatabase['db'] } = {}) {
  metrics = createMetrics()
  return createBacklog({
    db: o.db ?? database.db,
    leases: { owned: () => new Set(o.buckets ?? [0, 1]) },
    metrics,
    log: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) }),
    ...(o.exactMax === undefined ? {} : { exactMax: o.exactMax }),
  })
}

/** By the value of its label, or under the empty name. */
async function gauge(name: string): Promise<Record<string, number>> {
  const metric = await metrics.registry.getSingleMetric(`postrider_${name}`)?.get()
  return Object.fromEntries(
    metric?.values.map(({ labels, value }) => [Object.values(labels)[0] ?? '', value]) ?? [],
  )
}

/** One that fails has a delivery under way, unless that was given up. */
async function addStream(
  id: string,
  o: {
    bucket?: number
    state?: string
    failingFor?: string
    isGivenUp?: boolean
    isPaused?: boolean
    parkedInRow?: number
  } = {},
): Promise<void> {
  const deliveryId = o.failingFor === undefined || o.isGivenUp === true ? null : `dlv_of_${id}`
  await database.db.query(
    `insert into webhooks_stream
       (tenant_id, webhook_id, bucket, mode, state, first_failure_at, paused_at, delivery_id,
        parked_in_row)
     values ('tn_a', $1, $2, 'array', $3, now() - $4::interval,
             case when $5::boolean then now() end, $6, $7)`,
    [
      ...[id, o.bucket ?? 0, o.state ?? 'active', o.failingFor ?? null, o.isPaused ?? false],
      ...[deliveryId, o.parkedInRow ?? 0],
    ],
  )
}

/** The first is that many seconds old, the others are new. */
async function addPending(
  webhookId: string,
  o: { count: number; oldestS: number; lane?: number },
): Promise<void> {
  await database.db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, lane, event_id, day, bytes, queued_at)
     select 'tn_a', $1, $2, 'evt_' || lpad(n::text, 8, '0'), current_date, 100,
            now() - case when n = 1 then $3::int else 0 end * interval '1 second'
       from generate_series(1, $4::int) n`,
    [webhookId, o.lane ?? 0, o.oldestS, o.count],
  )
}

async function addOpen(status: string, o: { count: number; bucket?: number }): Promise<void> {
  await database.db.query(
    `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation, status,
       event_ids, event_days, traceparent)
     select 'tn_a', 'dlv_' || $1 || $2::int || n, current_date, 'wh_1', $2, 0, $1, '{}', '{}', ''
       from generate_series(1, $3::int) n`,
    [status, o.bucket ?? 0, o.count],
  )
}

describe('the metrics of the backlog', () => {
  it('count events, deliveries and streams of the owned buckets', async () => {
    await addStream('wh_1')
    await addPending('wh_1', { count: 3, oldestS: 10 })
    await addPending('wh_1', { count: 2, oldestS: 40, lane: 1 })
    await addStream('wh_2', { bucket: 1 })
    await addPending('wh_2', { count: 1, oldestS: 5 })
    await addStream('wh_3', { bucket: 2 })
    await addPending('wh_3', { count: 100, oldestS: 5000 })
    await addStream('wh_idle', { state: 'idle' })
    await addOpen('pending', { count: 1 })
    await addOpen('retrying', { count: 2 })
    await addOpen('parked', { count: 3, bucket: 1 })
    await addOpen('parked', { count: 50, bucket: 2 })
    await backlog().runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 6 })
    expect(await gauge('webhook_streams')).toEqual({ active: 2, failing: 0, dormant: 0, paused: 0 })
    expect(await gauge('webhook_deliveries_open')).toEqual({ pending: 1, retrying: 2, parked: 3 })
    const ages = await gauge('webhook_pending_age_seconds')
    expect(Math.floor((ages.active ?? 0) / 40)).toBe(1)
  })

  it('add up over processes', async () => {
    for (const [bucket, count] of [5, 7, 11].entries()) {
      await addStream(`wh_${bucket}`, { bucket })
      await addPending(`wh_${bucket}`, { count, oldestS: 0 })
    }
    let sum = 0
    for (const buckets of [[0], [1, 2], []]) {
      await backlog({ buckets }).runOnce()
      sum += (await gauge('webhook_events_pending'))[''] ?? 0
    }
    expect(sum).toBe(23)
  })

  it('separate failing, dormant and paused streams from the rest', async () => {
    await addStream('wh_1')
    await addStream('wh_2', { failingFor: '1 hour' })
    await addPending('wh_2', { count: 2, oldestS: 3_000 })
    await addStream('wh_3', { failingFor: '5 days' })
    await addPending('wh_3', { count: 2, oldestS: 400_000 })
    await addStream('wh_4', { state: 'idle', isPaused: true })
    await addStream('wh_5', { failingFor: '6 days', isPaused: true })
    await addPending('wh_5', { count: 3, oldestS: 0 })
    await backlog().runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 7 })
    expect(await gauge('webhook_streams')).toEqual({ active: 1, failing: 1, dormant: 1, paused: 2 })
    const ages = await gauge('webhook_pending_age_seconds')
    expect(ages.active).toBe(0)
    expect(ages.paused).toBeLessThan(100)
    expect(Math.floor((ages.failing ?? 0) / 3_000)).toBe(1)
    expect(Math.floor((ages.dormant ?? 0) / 400_000)).toBe(1)
  })

  it('count no stream as failing that has nothing left to do', async () => {
    await addStream('wh_1', { failingFor: '6 days', isGivenUp: true })
    await addStream('wh_2', { failingFor: '1 hour', isGivenUp: true })
    await addStream('wh_3', { failingFor: '1 hour', isGivenUp: true })
    await addPending('wh_3', { count: 1, oldestS: 5 })
    await backlog().runOnce()
    expect(await gauge('webhook_streams')).toEqual({ active: 0, failing: 1, dormant: 0, paused: 0 })
    expect(lines).toEqual([])
  })

  it('count a receiver that refuses one event after the other as failing', async () => {
    await addStream('wh_1', { parkedInRow: 10 })
    await addPending('wh_1', { count: 1, oldestS: 3_000 })
    await addStream('wh_2', { parkedInRow: 9 })
    await addPending('wh_2', { count: 1, oldestS: 0 })
    await backlog().runOnce()
    expect(await gauge('webhook_streams')).toEqual({ active: 1, failing: 1, dormant: 0, paused: 0 })
    const ages = await gauge('webhook_pending_age_seconds')
    expect(ages.active).toBeLessThan(100)
    expect(Math.floor((ages.failing ?? 0) / 3_000)).toBe(1)
  })

  it('drop to zero when the rows are gone', async () => {
    await addStream('wh_1', { failingFor: '1 hour' })
    await addPending('wh_1', { count: 2, oldestS: 100 })
    await addOpen('parked', { count: 1 })
    const one = backlog()
    await one.runOnce()
    await emptyTables(database.db, 'webhooks_stream', 'webhooks_pending', 'webhooks_open')
    await one.runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 0 })
    for (const name of ['webhook_streams', 'webhook_pending_age_seconds'])
      expect(await gauge(name)).toEqual({ active: 0, failing: 0, dormant: 0, paused: 0 })
    expect(await gauge('webhook_deliveries_open')).toEqual({ pending: 0, retrying: 0, parked: 0 })
  })
})

describe('webhooks that have failed for five days', () => {
  const named = () => lines.map(({ msg, webhook_id }) => `${msg} ${webhook_id}`)

  it('are logged once, and again after a recovery', async () => {
    await addStream('wh_1', { failingFor: '4 days' })
    await addStream('wh_2', { failingFor: '6 days' })
    await addStream('wh_3', { failingFor: '6 days', isPaused: true })
    const one = backlog()
    await one.runOnce()
    await one.runOnce()
    expect(named()).toEqual(['webhook_stream.dormant wh_2'])
    expect(lines[0]).toMatchObject({
      ...{ level: 40, tenant_id: 'tn_a', failing_since: expect.stringMatching(/^\d{4}-.*Z$/) },
    })
    const fail = (since: string | null) =>
      database.db.query('update webhooks_stream set first_failure_at = now() - $1::interval', [
        since,
      ])
    await fail(null)
    await one.runOnce()
    await fail('5 days')
    await one.runOnce()
    expect(named().sort()).toEqual([
      'webhook_stream.dormant wh_1',
      'webhook_stream.dormant wh_2',
      'webhook_stream.dormant wh_2',
    ])
  })
})

describe('a backlog beyond the bound of the exact count', () => {
  beforeEach(async () => {
    await addStream('wh_1')
    await addPending('wh_1', { count: 4_000, oldestS: 60 })
    await addOpen('retrying', { count: 30 })
    await addOpen('parked', { count: 10 })
  })

  it('is counted exactly up to the bound, whatever the statistics say', async () => {
    await backlog({ buckets: [0], exactMax: 4_000 }).runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 4_000 })
  })

  it('is estimated by the share of the buckets beyond the bound', async () => {
    await database.db.query('analyze webhooks_pending')
    const all = Array.from({ length: 64 }, (_, bucket) => bucket)
    await backlog({ buckets: all, exactMax: 100 }).runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 4_000 })
    await backlog({ buckets: all.slice(0, 16), exactMax: 100 }).runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 1_000 })
  })

  it('is never estimated below the count with old or missing statistics', async () => {
    await database.db.query('vacuum webhooks_pending')
    await backlog({ buckets: [0], exactMax: 200 }).runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 201 })
  })

  it('keeps the proportion of delivery statuses', async () => {
    await database.db.query('analyze webhooks_open')
    const all = Array.from({ length: 64 }, (_, bucket) => bucket)
    await backlog({ buckets: all, exactMax: 39 }).runOnce()
    expect(await gauge('webhook_deliveries_open')).toEqual({ pending: 0, retrying: 30, parked: 10 })
  })
})

describe('the backlog service', () => {
  it('measures at its start, and can be stopped twice', async () => {
    await addStream('wh_1')
    const one = backlog()
    await one.stop()
    await one.start()
    await one.stop()
    await one.stop()
    expect((await gauge('webhook_streams')).active).toBe(1)
  })

  it('shows nothing without buckets, and makes no query', async () => {
    const closed = await createTestDatabase()
    await closed.close()
    await backlog({ buckets: [], db: closed.db }).runOnce()
    expect(await gauge('webhook_events_pending')).toEqual({ '': 0 })
  })

  it('logs one line when the database is away', async () => {
    const closed = await createTestDatabase()
    await closed.close()
    const one = backlog({ db: closed.db })
    await one.start()
    await one.stop()
    expect(lines).toMatchObject([{ msg: 'webhook_backlog.failed' }])
  })
})

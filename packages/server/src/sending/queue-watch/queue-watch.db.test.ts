/** What an operator sees of mail that waits: counts, ages, and which mailer's queue is late. */
import { beforeEach, describe, expect, it } from 'vitest'
import { everyLease, useSending } from '../../../test/sender.ts'
import { addMailer } from '../../../test/sending.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { createLogger } from '../../platform/log.ts'
import { createMetrics, type Metrics } from '../../platform/metrics.ts'
import { createQueueWatch, type QueueWatchDeps } from './queue-watch.ts'

const world = useSending()
let metrics: Metrics
let lines: Record<string, unknown>[]
let nowMs = 0

beforeEach(() => {
  lines = []
  nowMs = 0
})

function watch(o: Partial<QueueWatchDeps> = {}) {
  metrics = createMetrics()
  return createQueueWatch({
    db: world.db,
    leases: everyLease,
    metrics,
    log: createLogger({
      level: 'info',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    }),
    monotonicMs: () => nowMs,
    ...o,
  })
}

async function gauges(): Promise<Record<string, number>> {
  const all: Record<string, number> = {}
  for (const name of ['send_queue', 'send_queue_oldest_due_seconds', 'send_queues_late']) {
    const metric = await metrics.registry.getSingleMetric(`postrider_${name}`)?.get()
    for (const { labels, value } of metric?.values ?? [])
      all[String(Object.values(labels)[0] ?? name)] = Math.round(value)
  }
  return all
}

async function addHeld() {
  const held = await addMailer(world.db, { email: 'held@example.com' })
  await world.db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
    held.mailerId,
  ])
  return held
}

let rows = 0
async function queue(
  mailerId: string,
  o: {
    readonly count?: number
    readonly dueForS?: number
    readonly phase?: string
    readonly isBulk?: boolean
  } = {},
): Promise<void> {
  const first = rows
  rows += o.count ?? 1
  await world.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, phase, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_a', 'r' || n, 0, $1, $2, $3, $4, now() - $5 * interval '1 s', 5,
            now() + interval '3 days', 100
       from generate_series($6::integer + 1, $7::integer) n`,
    [
      ...[mailerId, bucketOf(mailerId), o.isBulk ?? false, o.phase ?? 'waiting', o.dueForS ?? 0],
      ...[first, rows],
    ],
  )
}

const of = (msg: string) => lines.filter((line) => line.msg === msg)

describe('the metrics of the send queue', () => {
  it('count due, waiting and inactive mail, and the age of the oldest due mail', async () => {
    const { mailerId } = await addMailer(world.db)
    const held = await addHeld()
    await queue(mailerId, { count: 3, dueForS: 30 })
    await queue(mailerId, { dueForS: 40, isBulk: true })
    await queue(mailerId, { count: 6, dueForS: -60 })
    await queue(mailerId, { count: 2, dueForS: -60, phase: 'sending' })
    await queue(held.mailerId, { count: 4, dueForS: 500 })
    await queue(held.mailerId, { count: 1, dueForS: -60 })
    await watch().runOnce()
    expect(await gauges()).toEqual({
      due: 4,
      waiting: 6,
      held: 5,
      send_queue_oldest_due_seconds: 40,
      send_queues_late: 0,
    })
  })

  it('cover the buckets that the process owns, and are zero without a bucket', async () => {
    const { mailerId } = await addMailer(world.db)
    await queue(mailerId, { count: 3 })
    const others = new Set([(bucketOf(mailerId) + 1) % 64])
    for (const owned of [others, new Set<number>()]) {
      await watch({ leases: { owned: () => owned } }).runOnce()
      expect(await gauges()).toMatchObject({ due: 0, send_queue_oldest_due_seconds: 0 })
    }
  })

  it('are estimated from a sample where one state has more rows than are counted', async () => {
    const { mailerId } = await addMailer(world.db)
    const held = await addHeld()
    for (let i = 0; i < 10; i++) {
      await queue(mailerId, { count: 2_000, dueForS: 10 })
      await queue(mailerId, { count: 1_000, dueForS: -600 })
      await queue(held.mailerId, { count: 500, dueForS: 10 })
    }
    await queue(mailerId, { count: 40, dueForS: -600, phase: 'sending' })
    await watch({ exactMax: 4_999 }).runOnce()
    const { due = 0, waiting = 0, held: heldCount = 0 } = await gauges()
    // Of some 900 pages 256 are read: a deviation of a third is past any chance.
    expect(due).toBeGreaterThan(13_000)
    expect(due).toBeLessThan(27_000)
    expect(waiting).toBeGreaterThan(6_500)
    expect(waiting).toBeLessThan(13_500)
    expect(heldCount).toBeGreaterThanOrEqual(5_000)
    expect(heldCount).toBeLessThan(7_500)
  }, 30_000)

  it('stay exact for a state with few rows beside a state with many', async () => {
    const { mailerId } = await addMailer(world.db)
    await queue(mailerId, { count: 3_000, dueForS: 10 })
    await queue(mailerId, { count: 7, dueForS: -600 })
    await watch({ exactMax: 1_000 }).runOnce()
    expect(await gauges()).toMatchObject({ waiting: 7, held: 0 })
    expect((await gauges()).due).toBeGreaterThan(1_000)
  })
})

describe('the warning of a late queue', () => {
  it('is logged at the second look, with the cause, and again when the queue has caught up', async () => {
    const { mailerId } = await addMailer(world.db)
    await queue(mailerId, { count: 7, dueForS: 120 })
    await queue(mailerId, { count: 2, dueForS: 10, isBulk: true })
    const watched = watch()
    await watched.runOnce()
    expect(lines).toEqual([])
    expect(watched.detail()).toBeUndefined()
    for (let look = 0; look < 3; look++) await watched.runOnce()
    expect(of('send_queue.late')).toMatchObject([
      { level: 'warn', tenant_id: 'tn_a', mailer_id: mailerId, host: '127.0.0.1', due: 9 },
    ])
    expect(Math.round(Number(of('send_queue.late')[0]?.oldest_due_ms) / 1_000)).toBe(120)
    expect(watched.detail()).toMatch(/^late: 1 mailer, the oldest due mail for 2m/)
    expect(await gauges()).toMatchObject({ send_queues_late: 1 })
    nowMs = 30_000
    await world.db.query('delete from sending_queue')
    for (let look = 0; look < 3; look++) await watched.runOnce()
    expect(of('send_queue.caught_up')).toMatchObject([{ level: 'info', mailer_id: mailerId }])
    expect(Math.round(Number(of('send_queue.caught_up')[0]?.duration_ms) / 1_000)).toBe(150)
    expect(watched.detail()).toBeUndefined()
    expect(await gauges()).toMatchObject({ send_queues_late: 0 })
  })

  it('is not logged for mail that is due for less than a minute, waits, or has an inactive mailer', async () => {
    const { mailerId } = await addMailer(world.db)
    const held = await addHeld()
    await queue(mailerId, { dueForS: 55 })
    await queue(mailerId, { dueForS: -6_000 })
    await queue(held.mailerId, { dueForS: 6_000 })
    const watched = watch()
    for (let look = 0; look < 3; look++) await watched.runOnce()
    expect(lines).toEqual([])
  })

  it.each([
    ['a limit a minute that is used up', { per_minute: 10 }, { minute: 10 }, false],
    ['half of a limit a minute', { per_minute: 10 }, { minute: 5 }, false],
    ['less than half of a limit a minute', { per_minute: 10 }, { minute: 4 }, true],
    ['less than half of a limit a second', { per_second: 10 }, { second: 4 }, true],
    ['a limit a day that is used up', { per_day: 10 }, { day: 10 }, false],
    ['a limit a day with something left', { per_day: 10 }, { day: 9 }, true],
    ['two limits, of which one is used up', { per_minute: 10, per_day: 5 }, { day: 5 }, false],
  ])('depends on the use of limits: %s', async (_, limits, used, isLate) => {
    const { mailerId } = await addMailer(world.db, { limits })
    await queue(mailerId, { count: 50, dueForS: 600 })
    const { rows: now } = await world.db.query<{ ms: number }>(
      'select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    )
    // A clock that is ahead leaves a span of the future, which counts as of now.
    const at = (now[0]?.ms ?? 0) + 60_000
    const spans = Object.entries(used).map(([name, n]) => [name, [[at, at, n]]])
    await world.db.query(
      `insert into mailers_permission (tenant_id, mailer_id, used) values ('tn_a', $1, $2)`,
      [mailerId, JSON.stringify(Object.fromEntries(spans))],
    )
    const watched = watch()
    for (let look = 0; look < 2; look++) await watched.runOnce()
    expect(of('send_queue.late')).toHaveLength(isLate ? 1 : 0)
  })

  it('is logged by the process that owns the bucket, and again by the next owner', async () => {
    const { mailerId } = await addMailer(world.db)
    await queue(mailerId, { dueForS: 120 })
    let owned = new Set([bucketOf(mailerId)])
    const watched = watch({ leases: { owned: () => owned } })
    for (let look = 0; look < 2; look++) await watched.runOnce()
    owned = new Set()
    for (let look = 0; look < 2; look++) await watched.runOnce()
    expect(of('send_queue.caught_up')).toEqual([])
    expect(watched.detail()).toBeUndefined()
    owned = new Set([bucketOf(mailerId)])
    for (let look = 0; look < 2; look++) await watched.runOnce()
    expect(of('send_queue.late')).toHaveLength(2)
  })

  it('is logged for at most twenty queues at one look; the others follow', async () => {
    for (let i = 0; i < 25; i++) {
      const { mailerId } = await addMailer(world.db, { email: `m${i}@example.com` })
      await queue(mailerId, { dueForS: 120 + i })
    }
    const watched = watch()
    for (let look = 0; look < 2; look++) await watched.runOnce()
    expect(of('send_queue.late')).toHaveLength(20)
    await watched.runOnce()
    expect(of('send_queue.late')).toHaveLength(25)
    expect(watched.detail()).toContain('25 mailers')
  })
})

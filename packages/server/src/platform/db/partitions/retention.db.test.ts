import pino from 'pino'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { createClock } from '../../clock.ts'
import { createMetrics } from '../../metrics.ts'
import { createRetention, type RetentionGroup } from './retention.ts'

const DAY_MS = 86_400_000
const TABLES = ['fact', 'fact_note', 'log_line']

let database: TestDatabase
let lines: Record<string, unknown>[]
let metrics: ReturnType<typeof createMetrics>

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(async () => {
  lines = []
  const { db } = database
  for (const table of TABLES) {
    await db.query(`drop table if exists ${table}`)
    await db.query(`create table ${table} (day date not null, id int) partition by range (day)`)
    await db.query('select platform_ensure_day_partitions($1, 5, 1)', [table])
  }
})

function retention(o: { groups?: RetentionGroup[]; dropsMax?: number; days?: number } = {}) {
  metrics = createMetrics()
  return createRetention({
    databaseUrl: database.url,
    retentionMs: (o.days ?? 2) * DAY_MS,
    groups: o.groups ?? [{ tables: TABLES }],
    clock: createClock(),
    log: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) }),
    metrics,
    lockTimeoutMs: 100,
    ...(o.dropsMax === undefined ? {} : { dropsMax: o.dropsMax }),
  })
}

/** How many days before today each table goes back to. */
async function oldest(): Promise<Record<string, number>> {
  const { rows } = await database.db.query<{ name: string; days: number }>(
    `select inhparent::regclass::text as name,
            max((clock_timestamp() at time zone 'UTC')::date
                - to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD')) as days
       from pg_inherits where inhparent = any($1::regclass[]) group by 1`,
    [TABLES],
  )
  return Object.fromEntries(rows.map((row) => [row.name, row.days]))
}

it('drops old days, with a log line and a count for each, and then nothing', async () => {
  const round = await retention().runOnce()
  expect(round).toMatchObject({ waiting: [], needed: [], left: 0 })
  expect(round !== 'busy' && round.dropped).toHaveLength(9)
  expect(await oldest()).toEqual({ fact: 2, fact_note: 2, log_line: 2 })
  expect(lines).toHaveLength(9)
  expect(lines[0]).toMatchObject({
    msg: 'day_partition.dropped',
    table: 'fact',
    partition: expect.stringMatching(/^fact_\d{8}$/),
    day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    bytes: expect.any(Number),
    duration_ms: expect.any(Number),
  })
  const counted = await metrics.registry
    .getSingleMetric('postrider_partitions_dropped_total')
    ?.get()
  expect(counted?.values).toMatchObject(TABLES.map((table) => ({ value: 3, labels: { table } })))
})

it('drops nothing a second time, and no younger day', async () => {
  expect(await retention({ days: 30 }).runOnce()).toMatchObject({ dropped: [], left: 0 })
  const first = retention()
  await first.runOnce()
  expect(await first.runOnce()).toMatchObject({ dropped: [], waiting: [], left: 0 })
})

it('keeps a day of a group while something unfinished refers to it, and no other', async () => {
  const asked: string[] = []
  const needed = new Date(Date.now() - 4 * DAY_MS).toISOString().slice(0, 10)
  const group: RetentionGroup = {
    tables: ['fact', 'fact_note'],
    isDayNeeded: async (day) => {
      asked.push(day)
      return day === needed
    },
  }
  const suffix = needed.replaceAll('-', '')
  const one = retention({ groups: [group, { tables: ['log_line'] }] })
  expect(await one.runOnce()).toMatchObject({
    needed: [`fact_${suffix}`, `fact_note_${suffix}`],
    waiting: [],
  })
  expect(await oldest()).toEqual({ fact: 4, fact_note: 4, log_line: 2 })
  expect(asked).toHaveLength(3) // Once for each day, not for each table.
  const overdue = await metrics.registry.getSingleMetric('postrider_partitions_overdue')?.get()
  expect(overdue?.values).toMatchObject([
    { value: 2, labels: { reason: 'needed' } },
    { value: 0, labels: { reason: 'waiting' } },
  ])
})

it('does a bounded piece a round, the oldest first', async () => {
  const one = retention({ dropsMax: 4 })
  const round = await one.runOnce()
  expect(round).toMatchObject({ left: 5 })
  expect(await oldest()).toEqual({ fact: 3, fact_note: 4, log_line: 4 })
  await one.runOnce()
  await one.runOnce()
  expect(await oldest()).toEqual({ fact: 2, fact_note: 2, log_line: 2 })
})

it('drops every day once with two concurrent processes', async () => {
  const rounds = await Promise.all([retention().runOnce(), retention().runOnce()])
  const dropped = rounds.flatMap((round) => (round === 'busy' ? [] : round.dropped))
  expect(new Set(dropped).size).toBe(9)
  expect(dropped).toHaveLength(9)
  expect(lines.filter((line) => line.msg === 'day_partition.dropped')).toHaveLength(9)
})

it('continues later with a table that is being read, and does the others', async () => {
  const one = retention()
  const round = await database.db.transaction(async (tx) => {
    await tx.query('select from fact')
    return await one.runOnce()
  })
  expect(round).toMatchObject({ waiting: [expect.stringContaining('fact_2')], left: 2 })
  expect(await oldest()).toMatchObject({ fact_note: 2, log_line: 2 })
  expect(lines.find((line) => line.msg === 'day_partition.held_up')).toMatchObject({
    table: 'fact',
  })
  expect(await one.runOnce()).toMatchObject({ waiting: [], left: 0 })
  expect(await oldest()).toMatchObject({ fact: 2 })
})

it('runs at its start, stops twice, and survives a database that is away', async () => {
  const one = retention()
  await one.stop()
  await one.start()
  await expect.poll(oldest).toEqual({ fact: 2, fact_note: 2, log_line: 2 })
  await one.stop()
  await one.stop()
  const away = createRetention({
    databaseUrl: 'postgres://app@127.0.0.1:1/x',
    retentionMs: DAY_MS,
    groups: [],
    clock: createClock(),
    log: pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line)) }),
    metrics: createMetrics(),
  })
  await away.start()
  await expect.poll(() => lines.at(-1)?.msg).toBe('retention.failed')
  await away.stop()
})

import pino from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { statement, type Tx } from '../statement.ts'
import { dropPartitions, type PartitionDropper } from './partitions-drop.ts'

const log = pino({ level: 'silent' })
const DAY_MS = 86_400_000
const NOW = new Date()

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 12 })
})
afterAll(() => database.close())

/** Days back from today, UTC by the database's clock. */
async function dayBack(days: number): Promise<string> {
  const { rows } = await database.db.query<{ day: string }>(
    `select to_char(clock_timestamp() - $1::int * interval '1 day', 'YYYYMMDD') as day`,
    [days],
  )
  return rows[0]?.day ?? ''
}

beforeEach(async () => {
  const { db } = database
  await db.query('drop table if exists fact')
  for (const name of await tables()) await db.query(`drop table ${name}`)
  await db.query(
    'create table fact (day date not null, id bigint not null, primary key (day, id)) partition by range (day)',
  )
  await db.query(`select platform_ensure_day_partitions('fact', 4, 1)`)
  await db.query(
    `insert into fact select current_date - i, n from generate_series(0, 4) i, generate_series(1, 10) n`,
  )
})

async function tables(): Promise<string[]> {
  const { rows } = await database.db.query<{ name: string }>(
    `select relname as name from pg_class where relname ~ '^fact_[0-9]{8}$' order by 1`,
  )
  return rows.map((row) => row.name)
}

const run = <T>(work: (dropper: PartitionDropper) => Promise<T>) =>
  dropPartitions({ url: database.url, log, lockTimeoutMs: 100 }, work)

const older = (dropper: PartitionDropper, days: number, now = NOW) =>
  dropper.listOlderThan({ tables: ['fact', 'absent'], ageMs: days * DAY_MS, now })

/** Drops the first partition of the queue. */
const dropFirst = () =>
  run(async (dropper) => {
    const [first] = await older(dropper, 2)
    return first && { day: first.day, was: first.state, result: await dropper.drop(first) }
  })

/** A report or a backup: one snapshot for as long as it takes. */
async function longReader() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<Tx>()
  const done = database.db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read')
    await tx.query('select from fact limit 1')
    begin(tx)
    await released
  })
  const tx = await begun
  const end = async () => {
    release()
    await done
  }
  onTestFinished(end)
  return {
    end,
    count: async () =>
      (await tx.query<{ n: number }>('select count(*)::int as n from fact')).rows[0]?.n,
  }
}

const countRows = async () =>
  (await database.db.query<{ n: number }>('select count(*)::int as n from fact')).rows[0]?.n

describe('the list of old partitions', () => {
  it('has the days that ended long enough ago, the oldest first', async () => {
    const found = await run((dropper) => older(dropper, 2))
    expect(found).toMatchObject([
      { table: 'fact', name: `fact_${await dayBack(4)}`, state: 'attached' },
      { table: 'fact', name: `fact_${await dayBack(3)}`, state: 'attached' },
    ])
    expect(found).not.toBe('busy')
    expect(await run((dropper) => older(dropper, 1))).toHaveLength(3)
    expect(await run((dropper) => older(dropper, 30))).toEqual([])
  })

  it('never has today, yesterday and the days to come', async () => {
    const listed = await run((dropper) => older(dropper, 1))
    const names = listed === 'busy' ? [] : listed.map((partition) => partition.name)
    expect(names).not.toContain(`fact_${await dayBack(1)}`)
    for (const name of names) await database.db.query(`drop table ${name}`)
    const made = await database.db.query(`select platform_ensure_day_partitions('fact')`)
    expect(made.rowCount).toBe(13) // What was missing ahead; of the past, nothing.
  })

  it('is empty when the clock of either machine says that it is too early', async () => {
    const early = new Date(NOW.getTime() - 5 * DAY_MS)
    expect(await run((dropper) => older(dropper, 2, early))).toEqual([])
    const late = new Date(NOW.getTime() + 300 * DAY_MS)
    expect(await run((dropper) => older(dropper, 2, late))).toHaveLength(2)
  })

  it('leaves out days that an operator has detached', async () => {
    await database.db.query(`alter table fact detach partition fact_${await dayBack(4)}`)
    expect(await run((dropper) => older(dropper, 2))).toMatchObject([
      { name: `fact_${await dayBack(3)}` },
    ])
  })
})

describe('dropping a partition', () => {
  it('removes the day with all its rows, and keeps the others', async () => {
    expect(await dropFirst()).toMatchObject({ was: 'attached', result: 'dropped' })
    expect(await tables()).not.toContain(`fact_${await dayBack(4)}`)
    expect(await countRows()).toBe(40)
  })

  it('waits for a long reader without blocking anyone else', async () => {
    const reader = await longReader()
    expect(await dropFirst()).toMatchObject({ was: 'attached', result: 'waiting' })
    expect(await reader.count()).toBe(50)
    // For everyone else it is gone, and neither reading nor writing waits.
    expect(await countRows()).toBe(40)
    await database.db.query('insert into fact values (current_date, 11)')
    expect(await dropFirst()).toMatchObject({ was: 'detaching', result: 'waiting' })
    await reader.end()
    // Later readers and writers are neither waited for nor delayed.
    const result = await database.db.transaction(async (tx) => {
      await tx.query('select from fact limit 1')
      return await dropFirst()
    })
    expect(result).toMatchObject({ was: 'detaching', result: 'dropped' })
    expect(await dropFirst()).toMatchObject({ was: 'attached', result: 'dropped' })
    expect(await countRows()).toBe(31)
  })

  it('finishes what a dead process has detached', async () => {
    const name = `fact_${await dayBack(4)}`
    const holder = await database.db.transaction(async (tx) => {
      // A lock on the table itself allows detaching, and not dropping.
      await tx.query(`select from ${name}`)
      return await dropFirst()
    })
    expect(holder).toMatchObject({ result: 'waiting' })
    await database.db.query(`alter table fact detach partition ${name} finalize`)
    expect(await dropFirst()).toMatchObject({ was: 'detached', result: 'dropped' })
    expect(await tables()).not.toContain(name)
  })

  it('does not finish the work of an operator who detaches a day to keep it', async () => {
    const reader = await longReader()
    const name = `fact_${await dayBack(4)}`
    const operator = database.db.query(`alter table fact detach partition ${name} concurrently`)
    await expect.poll(() => countRows()).toBe(40)
    expect(await run((dropper) => older(dropper, 2))).toMatchObject([
      { name: `fact_${await dayBack(3)}` },
    ])
    await reader.end()
    await operator
    expect(await tables()).toContain(name)
  })

  it('is done by one process at a time', async () => {
    const inner = await run(() => run(async () => 'both'))
    expect(inner).toBe('busy')
    expect(await run(async () => 'free again')).toBe('free again')
  })

  it('never fails or blocks writers and readers with prepared statements', async () => {
    const { db } = database
    await db.query(`select platform_ensure_day_partitions('fact', 30, 1)`)
    const insert = statement(
      'fact.insert',
      'insert into fact select current_date - $1::int, $2 returning day',
    )
    const select = statement('fact.select', 'select count(*) from fact where day = any($1::date[])')
    let isOver = false
    let written = 0
    const worker = async (n: number) => {
      for (let i = 0; !isOver; i++) {
        await db.query(insert, [i % 2, 1000 + n * 1_000_000 + i])
        await db.query(select, [[NOW.toISOString().slice(0, 10)]])
        written += 1
      }
    }
    const workers = Promise.all([0, 1, 2, 3].map(worker))
    const results = await run(async (dropper) => {
      const all = await older(dropper, 2)
      const outcomes: string[] = []
      for (const partition of all) outcomes.push(await dropper.drop(partition))
      return outcomes
    })
    isOver = true
    await workers
    expect(results).toEqual(Array(28).fill('dropped'))
    expect(await countRows()).toBe(30 + written)
  })
})

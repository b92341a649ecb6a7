import pino from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../../test/database.ts'
import { createDayPartitions } from './partitions.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.db.query(`create table fact (
    day date not null, id int not null default 7 check (id > 0), note text, primary key (day, id)
  ) partition by range (day)`)
  await database.db.query('create table fact_at (at timestamptz not null) partition by range (at)')
})
afterAll(() => database.close())

const partitions = (tables: string[]) => createDayPartitions({ db: database.db, tables, log })

it('makes each day from yesterday to two weeks ahead once, with many concurrent processes', async () => {
  const made = await Promise.all(Array.from({ length: 5 }, () => partitions(['fact']).runOnce()))
  const { rows } = await database.db.query<{ name: string }>(
    `select 'fact_' || to_char(day, 'YYYYMMDD') as name
     from generate_series(current_date - 1, current_date + 14, interval '1 day') day`,
  )
  expect(made.flat().sort()).toEqual(rows.map((row) => row.name))
  expect(await partitions(['fact']).runOnce()).toEqual([])
})

it('gives partitions the defaults, checks and keys of their parent', async () => {
  const { db } = database
  const insert = 'insert into fact (day, id, note) values (current_date, $1, null)'
  const stored = await db.query('insert into fact (day) values (current_date) returning id')
  expect(stored.rows).toEqual([{ id: 7 }])
  await expect(db.query(insert, [7])).rejects.toMatchObject({ code: '23505' })
  await expect(db.query(insert, [0])).rejects.toMatchObject({ code: '23514' })
})

it('cuts days of timestamps at midnight UTC, whatever the time zone of the session', async () => {
  await database.db.transaction(async (tx) => {
    await tx.query(`set local timezone = 'Pacific/Kiritimati'`)
    await tx.query(`select platform_ensure_day_partitions('fact_at')`)
  })
  const { rows } = await database.db.query(
    `select bool_and(pg_get_expr(relpartbound, oid) like '%00:00:00+00%00:00:00+00%') as is_utc,
            count(*)::int
     from pg_class where relname like 'fact_at_2%'`,
  )
  expect(rows).toEqual([{ is_utc: true, count: 16 }])
})

it('starts with the partitions made, stops twice, and survives a failure', async () => {
  const service = partitions(['nowhere'])
  await service.stop()
  await service.start()
  await service.stop()
  await service.stop()
  await expect(service.runOnce()).rejects.toThrow('nowhere')
})

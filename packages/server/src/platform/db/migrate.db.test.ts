import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { durability } from './durability.ts'
import { DatabaseUnavailableError } from './errors.ts'
import { checkSchema, migrate } from './migrate.ts'

const log = pino({ level: 'silent' })
let database: TestDatabase
let root: string

beforeEach(async () => {
  database = await createTestDatabase({ isMigrated: false })
  root = mkdtempSync(join(tmpdir(), 'postrider-migrations-'))
})
afterEach(async () => {
  rmSync(root, { recursive: true })
  await database.close()
})

/** One version of the program: its migration files. */
function version(name: string, files: Record<string, string>): URL {
  const dir = join(root, name)
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir)
  for (const [file, text] of Object.entries(files)) writeFileSync(join(dir, file), text)
  return pathToFileURL(`${dir}/`)
}

const run = (dir: URL) => migrate({ url: database.url, dir, log })
const check = (dir: URL) => checkSchema({ db: database.db, dir })

const first = { '0001_first.sql': 'create table first (id int)' }
const second = { ...first, '0002_second.sql': 'create table second (id int)' }
const breaking = { ...first, '0002_breaking.sql': '-- breaking: drops first\ndrop table first' }

it('applies each file once, in the order of numbers', async () => {
  await expect(run(version('a', first))).resolves.toEqual({ applied: ['0001_first.sql'] })
  await expect(run(version('b', second))).resolves.toEqual({ applied: ['0002_second.sql'] })
  await expect(run(version('b', second))).resolves.toEqual({ applied: [] })
  await check(version('b', second))
})

it('applies each file once when ten processes start together', async () => {
  const dir = version('a', second)
  const results = await Promise.all(Array.from({ length: 10 }, () => run(dir)))
  expect(results.flatMap((result) => result.applied).sort()).toEqual(Object.keys(second))
})

it('refuses and names a file that was edited after it was applied', async () => {
  await run(version('a', second))
  const edited = version('b', { ...first, '0002_second.sql': 'create table second (id bigint)' })
  await expect(run(edited)).rejects.toThrow('0002_second.sql was changed')
  await expect(check(edited)).rejects.toThrow('0002_second.sql was changed')
})

it.each([
  ['an older state of its first file', { '0001_first.sql': 'create table first (id bigint)' }],
  ['other files', { '0001_a.sql': 'select 1', '0002_b.sql': '-- breaking\nselect 2' }],
])('refuses a database that was made by %s, and says what to do', async (_, files) => {
  await run(version('older', files))
  const dir = version('newer', first)
  for (const refused of [run, check])
    await expect(refused(dir)).rejects.toThrow(
      /unreleased version made this database, by another 0001_first\.sql\..* delete the data directory \(POSTRIDER_DATA_DIR\) or name an empty database in POSTRIDER_DATABASE_URL/,
    )
})

it('refuses and names a new file with a number below an applied one', async () => {
  const third = { '0003_third.sql': 'create table third (id int)' }
  await run(version('a', { ...first, ...third }))
  await expect(run(version('b', { ...second, ...third }))).rejects.toThrow(
    '0002_second.sql comes behind 0003_third.sql',
  )
})

it('refuses two files with one number, and names without a number', async () => {
  await expect(run(version('a', { ...first, '0001_other.sql': 'select 1' }))).rejects.toThrow(
    '0001_other.sql',
  )
  await expect(run(version('b', { 'first.sql': 'select 1' }))).rejects.toThrow('first.sql')
})

it('keeps an older program from a database with a breaking migration', async () => {
  await run(version('new', breaking))
  const old = version('old', first)
  await expect(run(old)).rejects.toThrow('0002_breaking.sql')
  await expect(check(old)).rejects.toThrow('0002_breaking.sql')
  await check(version('new', breaking))
})

it('lets an older program run on a database with a harmless migration', async () => {
  await run(version('new', second))
  const old = version('old', first)
  await expect(run(old)).resolves.toEqual({ applied: [] })
  await check(old)
})

it('names the missing migrations of a database, also of an empty one', async () => {
  const dir = version('a', second)
  await expect(check(dir)).rejects.toThrow('lacks 0001_first.sql, 0002_second.sql')
  await run(version('b', first))
  await expect(check(dir)).rejects.toThrow('lacks 0002_second.sql')
})

it('leaves nothing of a file that fails, and can be run again', async () => {
  const broken = { ...first, '0002_second.sql': 'create table second (id int); select 1 / 0' }
  await expect(run(version('a', broken))).rejects.toThrow(
    '0002_second.sql failed: division by zero',
  )
  await expect(run(version('b', second))).resolves.toEqual({ applied: ['0002_second.sql'] })
})

describe('[G5] a migration that waits for a lock', () => {
  const busy = { ...first, '0002_busy.sql': 'alter table first add column more int' }
  const patience = { lockMs: 100, triesMax: 3, pauseMs: 1, pauseMsMax: 1 }

  /** Somebody reads the table, in a transaction that stays open until it is told to end. */
  async function hold() {
    const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ended = database.db.transaction(async (tx) => {
      await tx.query('select * from first')
      held.resolve()
      await released.promise
    })
    await held.promise
    return async () => {
      released.resolve()
      await ended
    }
  }

  it('gives up its wait, so that others do not queue behind it, and names the holder of the lock', async () => {
    await run(version('a', first))
    const release = await hold()
    const error = await migrate({
      url: database.url,
      dir: version('b', busy),
      log,
      patience,
    }).catch((e: unknown) => e)
    expect(String(error)).toMatch(
      /0002_busy\.sql did not get its locks in 3 tries\. It waited for first, held by process \d+ \(test\), idle in transaction/,
    )
    await database.db.query('select * from first')
    await release()
    await expect(run(version('b', busy))).resolves.toEqual({ applied: ['0002_busy.sql'] })
  })

  it('is tried again until the lock is free', async () => {
    await run(version('a', first))
    const release = await hold()
    const lines: string[] = []
    const released = Promise.withResolvers<void>()
    const telling = pino(
      { level: 'warn' },
      {
        write(line: string) {
          lines.push(line)
          if (line.includes('migration.tried_again')) released.resolve(release())
        },
      },
    )
    const { applied } = await migrate({
      url: database.url,
      dir: version('b', busy),
      log: telling,
      patience: { ...patience, triesMax: 20, pauseMs: 50, pauseMsMax: 50 },
    })
    await released.promise
    expect(applied).toEqual(['0002_busy.sql'])
    expect(lines.some((line) => line.includes('migration.waits_for_lock'))).toBe(true)
  })
})

it('builds an index outside of a transaction, and builds an interrupted one again', async () => {
  const text = `-- concurrently: readers and writers go on
drop index concurrently if exists first_id;
create unique index concurrently first_id on first (id);
`
  await run(version('a', first))
  await database.db.query('insert into first values (1), (1)')
  const dir = version('b', { ...first, '0002_index.sql': text })
  await expect(run(dir)).rejects.toThrow('0002_index.sql failed: could not create unique index')
  await database.db.query('delete from first')
  await expect(run(dir)).resolves.toEqual({ applied: ['0002_index.sql'] })
  const { rows } = await database.db.query(
    `select indisvalid as valid from pg_index where indexrelid = 'first_id'::regclass`,
  )
  expect(rows).toEqual([{ valid: true }])
})

it('distinguishes an unreachable database from one that refuses', async () => {
  const dir = version('a', first)
  await expect(
    migrate({ url: 'postgresql://a:b@/c?host=/nowhere', dir, log }),
  ).rejects.toBeInstanceOf(DatabaseUnavailableError)
})

it('warns of a server without fsync', async () => {
  // The server of the test run does not sync; the embedded one's answer is in its own test.
  const answer = await durability(database.db)
  expect(answer.detail).toMatch(/^fsync=(on|off) full_page_writes=(on|off) synchronous_commit=on$/)
  expect(answer.durable).toBe(!answer.detail.includes('=off'))
})

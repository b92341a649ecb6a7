/**
 * Forward-only SQL migrations: numbered files, each applied once, in order, in a transaction of its own.
 *
 * The ledger `platform_migration` keeps each file's checksum. A database is refused, by the file's name, when
 * an unreleased version made it (the baseline, which is the first file, is edited in place until 1.0.0), when
 * an applied file was edited, when a new file's number lies behind an applied one, or when it
 * holds a migration marked `-- breaking` (first line) that this program does not have. Unknown ones that
 * are not breaking are tolerated, so that old and new processes can run side by side during an upgrade.
 * Any number of processes may start at once: an advisory lock lets one work, the others find it done.
 *
 * A statement that waits for a lock makes everybody else wait behind it. So a migration gives up its wait
 * soon (`lock_timeout`), and is tried again a bounded number of times; the log says what it waits for.
 * A file whose first comments have `-- concurrently` builds indexes, one statement at a time, outside of a
 * transaction; `packages/server/test/migration-rules.ts` holds new files to what is safe.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from '../log.ts'
import { DatabaseUnavailableError, isServerError, isUnavailableState } from './errors.ts'
import { describeWait, type LockWait, type LockWatch, watchLocks } from './lock-watch.ts'
import { connectToPrimary } from './primaries.ts'
import type { Queryable } from './statement.ts'

/** This program and this database do not fit together; only a person can fix it. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** The database only has to be brought up to date, which every start of the service does. */
export class SchemaBehindError extends SchemaError {
  readonly isEmpty: boolean

  constructor(pending: readonly string[], o: { readonly isEmpty: boolean }) {
    super(`The database lacks ${pending.join(', ')}: run "postrider migrate"`)
    this.isEmpty = o.isEmpty
  }
}

interface Migration {
  readonly name: string
  readonly text: string
  readonly sha256: string
  readonly isBreaking: boolean
  readonly isConcurrent: boolean
}

interface LedgerRow {
  readonly name: string
  readonly sha256: string
  readonly is_breaking: boolean
}

/** Any constant will do; it must only be the same for all versions of this program. */
const lockKey = '7017031944'
const selectLedger = 'select name, sha256, is_breaking from platform_migration order by name'

export interface LockPatience {
  /** How long a statement waits for a lock. */
  readonly lockMs: number
  readonly triesMax: number
  /** Before the second try; twice as long before each further one, up to `pauseMsMax`. */
  readonly pauseMs: number
  readonly pauseMsMax: number
}

/** A minute and a half in all. */
const PATIENCE: LockPatience = { lockMs: 3_000, triesMax: 10, pauseMs: 500, pauseMsMax: 10_000 }
const SESSION = {
  connectionTimeoutMillis: 5_000,
  application_name: 'postrider migrate',
  keepAlive: true,
  options: '-c timezone=UTC -c client_min_messages=warning',
}

export async function migrate(o: {
  url: string
  dir: URL
  log: Logger
  patience?: LockPatience
}): Promise<{ applied: string[] }> {
  const known = readMigrations(o.dir)
  const client = await connectToPrimary(o, SESSION).catch((error: unknown) => {
    if (error instanceof DatabaseUnavailableError) throw error
    if (isServerError(error) && !isUnavailableState(error)) throw error
    throw new DatabaseUnavailableError('The database cannot be reached', { cause: error })
  })
  // A lost connection also rejects the statement in flight, which is where it is dealt with.
  client.on('error', (error) => o.log.warn({ err: error }, 'migration.connection_lost'))
  try {
    await requireVersion(client)
    const connect = () => connectToPrimary(o, SESSION)
    await takeTurn(client, { connect, log: o.log })
    await client.query(`create table if not exists platform_migration (
      name text collate "C" primary key,
      sha256 text collate "C" not null,
      is_breaking boolean not null,
      applied_at timestamptz not null default clock_timestamp()
    )`)
    const ledger = await client.query<LedgerRow>(selectLedger)
    const pending = compare(known, ledger.rows)
    const patience = o.patience ?? PATIENCE
    for (const migration of pending) {
      await applyPatiently({ client, migration, patience, connect, log: o.log })
      o.log.info({ migration: migration.name, breaking: migration.isBreaking }, 'migration.applied')
    }
    return { applied: pending.map((migration) => migration.name) }
  } finally {
    // Ends the session, and with it the lock.
    await client.end()
  }
}

/** Another process may be at it for as long as a migration lasts. */
async function takeTurn(
  client: pg.Client,
  o: { readonly connect: () => Promise<pg.Client>; readonly log: Logger },
): Promise<void> {
  let isTold = false
  const onWait = (waits: readonly LockWait[]) => {
    if (!isTold) o.log.warn({ waits_for: waits }, 'migration.waits_for_another_process')
    isTold = true
  }
  await watchLocks({ pid: await pidOf(client), everyMs: 5_000, connect: o.connect, onWait }, () =>
    client.query('select pg_advisory_lock($1)', [lockKey]),
  )
}

async function pidOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid ?? 0
}

async function requireVersion(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ version: string; is_known: boolean }>(
    `select current_setting('server_version') as version,
            current_setting('server_version_num')::int >= 150000 as is_known`,
  )
  if (!rows[0]?.is_known)
    throw new SchemaError(`PostgreSQL 15 or later is needed, the server is ${rows[0]?.version}`)
}

/** Refuses a database that this program must not run on; for processes that do not migrate themselves. */
export async function checkSchema(o: { db: Queryable; dir: URL }): Promise<void> {
  const ledger = await readLedger(o.db)
  const pending = compare(readMigrations(o.dir), ledger).map((migration) => migration.name)
  if (pending.length > 0) throw new SchemaBehindError(pending, { isEmpty: ledger.length === 0 })
}

async function readLedger(db: Queryable): Promise<LedgerRow[]> {
  try {
    return (await db.query<LedgerRow>(selectLedger)).rows
  } catch (error) {
    const isAbsent = isServerError(error) && error.code === '42P01'
    if (isAbsent) return []
    throw error
  }
}

/** Names, in their order. */
export function knownMigrations(dir: URL): string[] {
  return readMigrations(dir).map(({ name }) => name)
}

function readMigrations(dir: URL): Migration[] {
  const names = readdirSync(dir)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  for (const [index, name] of names.entries()) {
    if (!/^\d{4}_[a-z0-9_]+\.sql$/.test(name))
      throw new SchemaError(`Migration ${name}: its name must look like 0001_name.sql`)
    if (names[index + 1]?.slice(0, 4) === name.slice(0, 4))
      throw new SchemaError(`Migrations ${name} and ${names[index + 1]} have the same number`)
  }
  return names.map((name) => {
    const text = readFileSync(new URL(name, dir), 'utf8')
    return {
      name,
      text,
      sha256: createHash('sha256').update(text).digest('hex'),
      isBreaking: /^--\s*breaking\b/.test(text),
      isConcurrent: /^(?:--.*\n)*--\s*concurrently\b/.test(text),
    }
  })
}

/** What remains to be applied. */
function compare(known: readonly Migration[], ledger: readonly LedgerRow[]): Migration[] {
  const applied = new Map(ledger.map((row) => [row.name, row]))
  const [baseline] = known
  if (baseline && ledger.length > 0 && applied.get(baseline.name)?.sha256 !== baseline.sha256)
    throw new SchemaError(
      `An unreleased version made this database, by another ${baseline.name}. Before 1.0.0 no version can upgrade it. To start empty, delete the data directory (POSTRIDER_DATA_DIR) or name an empty database in POSTRIDER_DATABASE_URL. To keep the data, run the version that made it`,
    )
  for (const migration of known) {
    const row = applied.get(migration.name)
    if (row && row.sha256 !== migration.sha256)
      throw new SchemaError(
        `Migration ${migration.name} was changed after it had been applied: restore the file; changes go into a new one`,
      )
  }
  const knownNames = new Set(known.map((migration) => migration.name))
  for (const row of ledger)
    if (row.is_breaking && !knownNames.has(row.name))
      throw new SchemaError(
        `The database holds the breaking migration ${row.name}, which this version does not know: upgrade this process`,
      )
  const pending = known.filter((migration) => !applied.has(migration.name))
  const last = ledger.at(-1)
  const late = pending.find((migration) => last && migration.name < last.name)
  if (late && last)
    throw new SchemaError(`Migration ${late.name} comes behind ${last.name}, which is applied`)
  return pending
}

interface Application {
  readonly client: pg.Client
  readonly migration: Migration
  readonly patience: LockPatience
  /** For looking at what it waits for. */
  readonly connect: () => Promise<pg.Client>
  readonly log: Logger
}

async function applyPatiently(o: Application): Promise<void> {
  const { client, log, patience } = o
  const { name } = o.migration
  let waited: readonly LockWait[] = []
  const watch: LockWatch = {
    pid: await pidOf(client),
    everyMs: patience.lockMs / 4,
    connect: o.connect,
    onWait(waits) {
      if (waited.length === 0)
        log.warn({ migration: name, waits_for: waits }, 'migration.waits_for_lock')
      waited = waits
    },
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await watchLocks(watch, () => apply(o))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const isWait = isServerError(error) && error.code === '55P03'
      if (!isWait) throw new Error(`Migration ${name} failed: ${reason}`, { cause: error })
      const what = waited.map(describeWait).join('; ') || 'a lock'
      if (attempt === patience.triesMax)
        throw new Error(
          `Migration ${name} did not get its locks in ${attempt} tries. It waited for ${what}. End that session, then start again`,
          { cause: error },
        )
      log.warn({ migration: name, attempt, waited_for: what }, 'migration.tried_again')
      waited = []
      await setTimeout(Math.min(patience.pauseMs * 2 ** (attempt - 1), patience.pauseMsMax))
    }
  }
}

async function apply({ client, migration, patience }: Application): Promise<void> {
  const note = [migration.name, migration.sha256, migration.isBreaking]
  const insert = 'insert into platform_migration (name, sha256, is_breaking) values ($1, $2, $3)'
  if (migration.isConcurrent) {
    // It makes nobody wait, and its own waits are for transactions that are under way.
    for (const text of statementsOf(migration.text)) await client.query(text)
    await client.query(insert, note)
    return
  }
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout to ${patience.lockMs}`)
    await client.query(migration.text)
    await client.query(insert, note)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Of a file that has no strings in it. */
function statementsOf(text: string): string[] {
  return text
    .replace(/--.*$/gm, '')
    .split(';')
    .filter((one) => one.trim() !== '')
}

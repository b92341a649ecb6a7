/**
 * What a piece of work writes to the embedded database, read from its write-ahead log and its statistics.
 *
 * Rows are those of tables; those of the catalogue and of the storage of large values are not counted. WAL
 * bytes are those of records, without the images of whole pages, which depend on checkpoints alone.
 * Statements are counted without BEGIN and COMMIT.
 *
 * What happens by the clock is left out: statistics for plans, counters, which are added up every ten seconds, and
 * what says that a process is alive.
 */
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'

export interface Cost {
  readonly statements: number
  readonly commits: number
  readonly inserted: number
  readonly updated: number
  readonly deleted: number
  readonly walBytes: number
}

/** What was written to a table or to an index of it. Of a table with partitions by day: to all of them. */
export interface PartCost {
  readonly name: string
  readonly what: string
  readonly records: number
  readonly walBytes: number
}

export interface Ledger {
  /** Answers what `work` costs, divided by the number that it answers with. */
  costOf(work: () => Promise<number>): Promise<Cost & { readonly parts: readonly PartCost[] }>
  /**
   * Bytes of each table and each index, once all that is no longer needed has left. Large values are apart from the
   * rows of their table. Locks each table for a moment.
   */
  keptParts(): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}

/** Longer than what is written by the group waits for others. */
const REST_MS = 200
const REST_WITHIN_MS = 30_000

/** Leases, changes of counters that are added up, and their sums. That a change is stored belongs to the work. */
const IS_BY_CLOCK = `(relname ~ '^platform_(lease|member|process)'
  or relname like 'platform\\_counter%'
     and not (relname like 'platform\\_counter\\_change%' and what like '%INSERT%'))`

/** A record that touches several blocks counts where its first one is. Large values are their table's. */
const PARTS = `
  with block as (
    select relfilenode, resource_manager || ' ' || split_part(record_type, '+', 1) as what,
           record_length - coalesce(block_fpi_length, 0) as bytes, block_id
      from pg_get_wal_block_info($1, $2, false))
  select coalesce(regexp_replace(c.relname, '_\\d{8}', ''), '(none)') as name, what,
         count(*)::float8 as records, sum(bytes)::float8 as "walBytes"
    from block left join pg_class c on pg_relation_filenode(c.oid) = block.relfilenode
   where block_id = 0 and not coalesce(${IS_BY_CLOCK}, false)
   group by 1, 2 order by 4 desc`
const BY_CLOCK = `
  with block as (
    select relfilenode, record_type as what, record_length - coalesce(block_fpi_length, 0) as bytes
      from pg_get_wal_block_info($1, $2, false) where block_id = 0)
  select coalesce(sum(bytes), 0)::float8 as "walBytes"
    from block join pg_class c on pg_relation_filenode(c.oid) = block.relfilenode
   where ${IS_BY_CLOCK}`

/** Of a table with partitions by day: all of them together. */
const KEPT = `
  select regexp_replace(coalesce(owner.relname || ', large values', c.relname), '_\\d{8}', '') as name,
         sum(pg_relation_size(c.oid) + case when owner.oid is null then 0
             else pg_relation_size(toast.indexrelid) end)::float8 as bytes
    from pg_class c
    left join pg_class owner on owner.reltoastrelid = c.oid
    left join pg_index toast on toast.indrelid = owner.reltoastrelid
   where c.relkind in ('r', 'i', 't')
     and coalesce(owner.relnamespace, c.relnamespace) not in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
   group by 1`

/** Of a database that is stopped: what counts its statements is loaded when it starts. */
export function prepareLedger(dataDir: string): void {
  appendFileSync(
    join(dataDir, 'postgres/postgresql.auto.conf'),
    `shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track_utility = off
wal_keep_size = '1GB'
autovacuum = off
`,
  )
}

/** Of a running service. As the superuser, whose password is in the data directory. */
export async function openLedger(dataDir: string): Promise<Ledger> {
  const { superuserPassword } = JSON.parse(readFileSync(join(dataDir, 'postgres.json'), 'utf8'))
  const client = new pg.Client({
    host: socketDirOf(dataDir),
    user: 'postgres',
    password: superuserPassword,
    database: 'postrider',
  })
  await client.connect()
  for (const name of ['pg_walinspect', 'pg_stat_statements'])
    await client.query(`create extension if not exists ${name}`)

  async function read(): Promise<{ lsn: string; statements: number }> {
    const { rows } = await client.query(
      `select pg_current_wal_flush_lsn() as lsn,
              (select coalesce(sum(calls), 0)::float8 from pg_stat_statements
                where toplevel and userid <> (select oid from pg_roles where rolname = 'postgres')
              ) as statements`,
    )
    return rows[0]
  }

  /** A receiver has its last event before the service has written that down: once nothing more is written. */
  async function readAtRest(): ReturnType<typeof read> {
    const endsAt = performance.now() + REST_WITHIN_MS
    let last = await read()
    while (performance.now() < endsAt) {
      await delay(REST_MS)
      const now = await read()
      if (now.lsn === last.lsn) return now
      last = now
    }
    throw new Error('the database is never at rest')
  }

  return {
    async costOf(work) {
      const before = await readAtRest()
      const count = await work()
      const after = await readAtRest()
      const range = [before.lsn, after.lsn]
      const { rows: totals } = await client.query(
        `select coalesce(sum(record_size), 0)::float8 as "walBytes",
                coalesce(sum(count) filter (where "resource_manager/record_type" = 'Transaction/COMMIT'), 0)::float8
                  as commits
           from pg_get_wal_stats($1, $2, true)`,
        range,
      )
      const { rows: changes } = await client.query(
        `select count(*) filter (where what like 'INSERT%')::float8 as inserted,
                count(*) filter (where what like '%UPDATE%')::float8 as updated,
                count(*) filter (where what like 'DELETE%')::float8 as deleted
           from (select relfilenode, record_type as what from pg_get_wal_block_info($1, $2, false)
                  where resource_manager = 'Heap' and block_id = 0 and relforknumber = 0) b
           join pg_class c on pg_relation_filenode(c.oid) = b.relfilenode
          where c.relkind = 'r' and c.relnamespace <> 'pg_catalog'::regnamespace
            and not ${IS_BY_CLOCK}`,
        range,
      )
      const { rows: parts } = await client.query<PartCost>(PARTS, range)
      const { rows: byClock } = await client.query<{ walBytes: number }>(BY_CLOCK, range)
      const all: Cost = {
        statements: after.statements - before.statements,
        ...totals[0],
        walBytes: totals[0].walBytes - (byClock[0]?.walBytes ?? 0),
        ...changes[0],
      }
      const names = Object.keys(all) as (keyof Cost)[]
      const each = Object.fromEntries(names.map((name) => [name, all[name] / count]))
      return {
        ...(each as unknown as Cost),
        parts: parts.map((part) => ({
          ...part,
          records: part.records / count,
          walBytes: part.walBytes / count,
        })),
      }
    },
    async keptParts() {
      await client.query('vacuum (full)')
      const { rows } = await client.query<{ name: string; bytes: number }>(KEPT)
      return new Map(rows.map(({ name, bytes }) => [name, bytes]))
    },
    close: () => client.end(),
  }
}

/** The fifth line of what PostgreSQL says of itself. */
function socketDirOf(dataDir: string): string {
  const lines = readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')
  return lines[4] ?? ''
}

/**
 * Takes old day partitions away without anybody waiting for it.
 *
 * `drop table` of a partition asks for an exclusive lock on the whole table: while a long reader keeps it
 * waiting, every other reader and writer queues behind it. So a partition leaves in steps, each
 * of which a later round can go on with:
 *
 * attached  → `detach … concurrently`: statements that begin from now on no longer see it.
 * detaching → those that do are waited for, holding no lock that they or others need; given up
 *             after `lockTimeoutMs`, and gone on with by `detach … finalize`.
 * detached  → a table of its own that nobody uses, marked by a comment: dropped.
 *
 * What an operator has detached to keep it does not carry the mark and stays.
 */
import pg from 'pg'
import type { Logger } from '../../log.ts'
import { isServerError } from '../errors.ts'
import { connectToPrimary } from '../primaries.ts'

export interface DayPartition {
  readonly table: string
  readonly name: string
  /** UTC, `2026-01-02`. */
  readonly day: string
  readonly state: 'attached' | 'detaching' | 'detached'
  readonly bytes: number
}

/** `waiting`: somebody still reads it, or its table is being maintained. */
export type DropResult = 'dropped' | 'waiting'

export interface PartitionDropper {
  /**
   * The partitions whose every row is older than that, by the database's clock and by `now` too:
   * one clock that has leapt forward takes nothing away. Partitions that were blocked before come first, then the oldest.
   */
  listOlderThan(o: {
    readonly tables: readonly string[]
    readonly ageMs: number
    readonly now: Date
  }): Promise<DayPartition[]>
  drop(partition: DayPartition): Promise<DropResult>
}

/** Any constant will do; it must only be the same for all versions of this program. */
const LOCK_KEY = '7017031945'
const MARK = 'Taken out by the retention of Postrider, to be dropped'

/** Longer than PostgreSQL's deadlock_timeout (1 s), after which a vacuum gives way. */
const LOCK_TIMEOUT_MS = 2_000
const STATEMENT_TIMEOUT_MS = 8_000
/** Longer than the server's own limit: a large file takes a while to go. */
const ANSWER_TIMEOUT_MS = 60_000

/**
 * Runs `work` on a session of its own, which holds the lock that lets one process at a time do this.
 * `busy`: another one does.
 */
export async function dropPartitions<T>(
  o: { readonly url: string; readonly log: Logger; readonly lockTimeoutMs?: number },
  work: (dropper: PartitionDropper) => Promise<T>,
): Promise<T | 'busy'> {
  const client = await connectToPrimary(o, {
    connectionTimeoutMillis: 5_000,
    application_name: 'postrider retention',
    keepAlive: true,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    lock_timeout: o.lockTimeoutMs ?? LOCK_TIMEOUT_MS,
    options: '-c timezone=UTC',
  })
  // A lost connection also rejects the statement in flight, which is where it is dealt with.
  client.on('error', (error) => o.log.debug({ err: error }, 'retention.connection_lost'))
  try {
    const { rows } = await client.query<{ is_ours: boolean }>(
      'select pg_try_advisory_lock($1) as is_ours',
      [LOCK_KEY],
    )
    if (rows[0]?.is_ours !== true) return 'busy'
    return await work({
      listOlderThan: (query) => listOlderThan(client, query),
      drop: (partition) => drop(client, partition),
    })
  } finally {
    // Ends the session, and with it the lock.
    await client.end()
  }
}

/** The names are platform_ensure_day_partitions': the day is their end. */
const LIST = `select parent.relname as "table", part.relname as name,
       pg_total_relation_size(part.oid)::float8 as bytes,
       case when inherits.inhrelid is null then 'detached'
            when inherits.inhdetachpending then 'detaching'
            else 'attached' end as state
  from unnest($1::text[]) as wanted (name)
  join pg_class parent on parent.oid = to_regclass(quote_ident(wanted.name))
  join pg_class part on part.relnamespace = parent.relnamespace and part.relkind = 'r'
   and part.relname ~ ('^' || parent.relname || '_[0-9]{8}$')
  left join pg_inherits inherits
    on inherits.inhrelid = part.oid and inherits.inhparent = parent.oid
 where right(part.relname, 8) collate "C" < to_char(
         least(clock_timestamp(), $3::timestamptz) - $2::float8 * interval '1 millisecond',
         'YYYYMMDD')
   and (inherits.inhdetachpending is false or obj_description(part.oid, 'pg_class') = $4)
 order by inherits.inhdetachpending is false, right(part.relname, 8), parent.relname`

async function listOlderThan(
  client: pg.Client,
  o: { readonly tables: readonly string[]; readonly ageMs: number; readonly now: Date },
): Promise<DayPartition[]> {
  const { rows } = await client.query<Omit<DayPartition, 'day'>>(LIST, [
    o.tables,
    o.ageMs,
    o.now,
    MARK,
  ])
  return rows.map((row) => ({ ...row, day: dayOf(row.name) }))
}

function dayOf(name: string): string {
  return name.slice(-8).replace(/^(....)(..)/, '$1-$2-')
}

async function drop(client: pg.Client, partition: DayPartition): Promise<DropResult> {
  const name = pg.escapeIdentifier(partition.name)
  const detach = `alter table ${pg.escapeIdentifier(partition.table)} detach partition ${name}`
  try {
    if (partition.state === 'attached') {
      await client.query(`comment on table ${name} is ${pg.escapeLiteral(MARK)}`)
      await client.query(`${detach} concurrently`)
    }
    if (partition.state === 'detaching') await client.query(`${detach} finalize`)
    await client.query(`drop table ${name}`)
    return 'dropped'
  } catch (error) {
    if (isLocked(error)) return 'waiting'
    throw error
  }
}

/** A lock or a statement took too long, or gave way in a deadlock. */
function isLocked(error: unknown): boolean {
  return isServerError(error) && ['55P03', '57014', '40P01'].includes(error.code ?? '')
}

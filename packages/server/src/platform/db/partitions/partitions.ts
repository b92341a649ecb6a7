/**
 * Keeps the daily partitions of the append-only tables ready: yesterday to two weeks ahead, UTC, by the database's clock.
 *
 * Any number of processes may run it at once (the SQL function takes a lock). With two weeks in stock,
 * a failed round is worth a log line, not an outage.
 */

import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../../log.ts'
import { createLoop } from '../../work/loop.ts'
import { type Db, type Queryable, statement } from '../statement.ts'

export interface DayPartitions extends Service {
  /** Answers the partitions that it made. */
  runOnce(): Promise<readonly string[]>
}

/** Often, because a machine that wakes up after weeks of sleep has none of the days that it needs. */
const INTERVAL_MS = 60_000
const RETRY_MS = 10_000

export interface DaySpan {
  readonly table: string
  /** UTC days, `2026-01-02`; null when there is none. */
  readonly oldest: string | null
  readonly newest: string | null
}

/** Which days each table has, over all; by the names that platform_ensure_day_partitions gives. */
export async function readDaySpans(q: Queryable, tables: readonly string[]): Promise<DaySpan[]> {
  const { rows } = await q.query<DaySpan>(
    `select wanted.name as "table", to_char(min(day), 'YYYY-MM-DD') as oldest,
            to_char(max(day), 'YYYY-MM-DD') as newest
       from unnest($1::text[]) as wanted (name)
       left join (
         select inhparent, to_date(right(part.relname, 8), 'YYYYMMDD') as day
           from pg_inherits join pg_class part on part.oid = inhrelid
          where not inhdetachpending and part.relname ~ '_[0-9]{8}$') days
         on days.inhparent = to_regclass(quote_ident(wanted.name))
      group by wanted.name order by wanted.name`,
    [tables],
  )
  return rows
}

const ensurePartitions = statement(
  'platform_ensure_day_partitions',
  'select platform_ensure_day_partitions($1) as name',
)

export function createDayPartitions(o: {
  db: Db
  /** Parent tables, partitioned by range over a date or timestamptz column. */
  tables: readonly string[]
  log: Logger
}): DayPartitions {
  async function runOnce(): Promise<readonly string[]> {
    const made: string[] = []
    for (const table of o.tables) {
      const { rows } = await o.db.query<{ name: string }>(ensurePartitions, [table])
      made.push(...rows.map((row) => row.name))
    }
    if (made.length > 0)
      o.log.info({ partitions: made.length, last: made.at(-1) }, 'day_partitions.created')
    return made
  }

  const loop = createLoop({
    ...{
      name: 'day partitions',
      log: o.log,
      failed: 'day_partitions.failed',
      failedLevel: 'error',
    },
    ...{ sweepMs: INTERVAL_MS, backOffMs: RETRY_MS },
    pass: runOnce,
  })

  return {
    ...loop,
    runOnce,
    /** What writes into the tables is started after it. */
    async start() {
      await loop.start()
      await loop.settled()
    },
  }
}

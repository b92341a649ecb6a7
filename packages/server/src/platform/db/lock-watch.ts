/**
 * Says which lock a session waits for, and who holds it. Asked on a connection of its own, while the
 * session waits: afterwards nobody knows any more.
 */
import { setTimeout } from 'node:timers/promises'
import type pg from 'pg'

export interface LockWait {
  /** A table, or the kind of lock where it is none of a table. */
  readonly lock: string
  readonly mode: string
  readonly pid: number
  readonly application: string
  readonly state: string
  /** Since its transaction began. */
  readonly seconds: number
}

export interface LockWatch {
  readonly pid: number
  readonly everyMs: number
  readonly connect: () => Promise<pg.Client>
  readonly onWait: (waits: readonly LockWait[]) => void
}

const ASK = `select coalesce(l.relation::regclass::text, l.locktype) as lock, l.mode, b.pid,
    b.application_name as application, coalesce(b.state, '') as state,
    coalesce(extract(epoch from clock_timestamp() - b.xact_start), 0)::int as seconds
  from pg_locks l
  cross join unnest(pg_blocking_pids(l.pid)) as blocking(pid)
  join pg_stat_activity b on b.pid = blocking.pid
  where l.pid = $1 and not l.granted
  order by b.xact_start limit 5`

/** Looks every so often while `work` runs. `onWait` hears of each look that finds the session waiting. */
export async function watchLocks<T>(o: LockWatch, work: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const looking = look(o, over.signal)
  try {
    return await work()
  } finally {
    over.abort()
    await looking
  }
}

async function look(o: LockWatch, signal: AbortSignal): Promise<void> {
  let client: pg.Client | undefined
  try {
    while (!signal.aborted) {
      await setTimeout(o.everyMs, undefined, { signal })
      client ??= await o.connect()
      const { rows } = await client.query<LockWait>(ASK, [o.pid])
      if (rows.length > 0 && !signal.aborted) o.onWait(rows)
    }
  } catch {
    // It only explains; what is wrong with the database, the work itself is told.
  } finally {
    await client?.end().catch(() => undefined)
  }
}

export function describeWait({ lock, pid, application, state, seconds }: LockWait): string {
  const who = application === '' ? `process ${pid}` : `process ${pid} (${application})`
  return `${lock}, held by ${who}, ${state} for ${seconds} s`
}

/** Resolves once so many sessions of this database wait for a lock that another one holds. */
import type { Db } from '../src/platform/db/index.ts'

export async function untilBlocked(db: Db, sessions = 1): Promise<void> {
  for (;;) {
    const { rowCount } = await db.query(
      `select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rowCount >= sessions) return
  }
}

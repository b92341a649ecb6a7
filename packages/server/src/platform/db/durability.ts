/**
 * Asks the server how durable a commit is (spec §1: what is accepted is not lost), instead of assuming it.
 */
import type { Queryable } from './statement.ts'

export interface Durability {
  /** A commit that was confirmed survives a crash of the server's machine. */
  readonly durable: boolean
  /** For people: `fsync=on synchronous_commit=on full_page_writes=on`. */
  readonly detail: string
}

export async function durability(db: Queryable): Promise<Durability> {
  const { rows } = await db.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings
     where name in ('fsync', 'synchronous_commit', 'full_page_writes') order by name`,
  )
  // Every level of synchronous_commit but `off` waits for the local flush.
  return {
    durable: rows.length === 3 && rows.every((row) => row.setting !== 'off'),
    detail: rows.map((row) => `${row.name}=${row.setting}`).join(' '),
  }
}

/**
 * Asks the server how durable a commit is (docs/reference/sending.md#accepting: what is accepted is not
 * lost), instead of assuming it.
 */
import type { Queryable } from './statement.ts'

export interface Durability {
  /** A commit that was confirmed survives a crash of the server's machine. */
  readonly durable: boolean
  /** Not on a standby, nor on a server that was told to refuse writing. */
  readonly writable: boolean
  /** For people: `fsync=on synchronous_commit=on full_page_writes=on`. */
  readonly detail: string
}

export async function durability(db: Queryable): Promise<Durability> {
  const { rows } = await db.query<{ name: string; setting: string }>(
    `select name, setting from pg_settings
     where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'transaction_read_only')
     order by name`,
  )
  const [readOnly, kept] = [rows.filter(isReadOnly), rows.filter((row) => !isReadOnly(row))]
  // Every level of synchronous_commit but `off` waits for the local flush.
  return {
    durable: kept.length === 3 && kept.every((row) => row.setting !== 'off'),
    writable: readOnly[0]?.setting === 'off',
    detail: kept.map((row) => `${row.name}=${row.setting}`).join(' '),
  }
}

function isReadOnly(row: { readonly name: string }): boolean {
  return row.name === 'transaction_read_only'
}

/** What operator commands have in common: how they reach the database, and how they print. */
import { Option } from 'commander'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'

/** What a command has to say: as JSON, and as text for people. */
export interface Result {
  readonly json: object
  readonly text: string
}

/**
 * Makes an action on the database, on whichever the configuration names. It gets the command's
 * arguments and options, and prints what the work answers.
 */
export type OnDatabase = <A extends unknown[]>(
  work: (db: Db, ...args: A) => Promise<Result>,
) => (...args: A) => Promise<void>

export function ofTenant(about = 'the tenant; where there are several'): Option {
  return new Option('--tenant <tenant_id>', about)
}

export function json(): Option {
  return new Option('--json', 'print JSON')
}

/** For a call of the service: the database is asked whose it is only where `--tenant` does not tell. */
export async function onTenant(
  deps: {
    readonly onDatabase: OnDatabase
    readonly print: (result: Result, options: { readonly json?: boolean }) => void
  },
  o: {
    readonly owner: (db: Db) => Promise<string>
    readonly options: { readonly tenant?: string; readonly json?: boolean }
    readonly command: unknown
  },
  work: (tenantId: string) => Promise<Result>,
): Promise<void> {
  const { tenant } = o.options
  if (tenant !== undefined) return deps.print(await work(tenant), o.options)
  await deps.onDatabase(async (db, _options: object, _command: unknown) => work(await o.owner(db)))(
    o.options,
    o.command,
  )
}

/** The API's "Not Found" says too little where the id came from a terminal. */
export async function named<T>(absence: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    throw new ApiError('not_found', { message: absence })
  }
}

export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, text] of row.entries())
      widths[column] = Math.max(widths[column] ?? 0, text.length)
  return rows
    .map((row) =>
      row
        .map((text, column) => text.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

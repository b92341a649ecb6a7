/**
 * What the rest of the program sees of the database: statements, something that runs them, transactions.
 *
 * Values come back as node-postgres gives them, with two exceptions made in `db.ts`:
 * `timestamptz` is a `Date` (milliseconds: store microseconds as `bigint`), `int8` and `numeric` are
 * strings, `date` is a string `2026-11-20` (a `Date` would be local midnight), `json` is parsed.
 */

/** A named statement is parsed and planned once per connection: name everything that is hot. */
export interface Statement {
  readonly name?: string
  readonly text: string
}

export function statement(name: string, text: string): Statement {
  return { name, text }
}

/**
 * The first parameters as a table: an array for each column. To be followed by `as name (column, …)`.
 *
 * The server keeps the plan of a named statement, unless one for the given values looks cheaper. It looks so each
 * time where arrays are short, since of arrays in general it expects ten rows; and to plan takes longer than to read
 * a few rows by a key. Behind a subquery it knows the length of none.
 *
 * Use it after `planByIndex` alone: a kept plan would go on reading the whole of a table that was short once. Not for
 * tables that are divided by days: a kept plan locks all of them.
 */
export function givenRows(...types: readonly string[]): string {
  return `unnest(${types.map((type, i) => `(select $${i + 1}::${type}[])`).join(', ')})`
}

export interface QueryResult<Row> {
  rows: Row[]
  rowCount: number
}

export interface Queryable {
  /**
   * The statement is written to the connection before this returns, so calls that are not awaited one by
   * one share a round trip (inside a transaction; outside, each call takes a connection of its own).
   */
  query<Row = unknown>(
    s: Statement | string,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>>
}

export interface Tx extends Queryable {
  readonly isTx: true
}

export interface TransactionOptions {
  /** Only for what may be lost in a crash of the database server, never for what was promised. */
  readonly synchronousCommit?: 'off'
  /** How long a statement of it waits for a lock; without, as long as it may last. */
  readonly lockMsMax?: number
}

export interface DbStats {
  readonly connections: number
  readonly idle: number
  readonly waiting: number
  readonly max: number
}

export interface Db extends Queryable {
  /** Commits when `work` resolves, rolls back when it rejects. Never hold one over network I/O. */
  transaction<T>(work: (tx: Tx) => Promise<T>, o?: TransactionOptions): Promise<T>
  close(): Promise<void>
  readonly stats: DbStats
}

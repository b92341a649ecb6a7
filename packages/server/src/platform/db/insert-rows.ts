/**
 * Inserts any number of rows with few named statements.
 *
 * The rows are cut into runs of 64, 32, … 1, so that each table has at most seven prepared statements, and all
 * runs are sent in one round trip. Parameters take the type of their column: no casts are needed. `values` and not `unnest`, because
 * only the former routes on a distributed table. Call it in a transaction: outside, the runs are separate commits.
 */
import type { Queryable, Statement } from './statement.ts'

export interface InsertRowsInput {
  /** Names the prepared statements: one name, one shape. */
  readonly name: string
  readonly into: string
  readonly columns: readonly string[]
  /** SQL around the parameter of a column, which stands in it as `$`. */
  readonly expressions?: Readonly<Record<string, string>>
  readonly rows: readonly (readonly unknown[])[]
  /** For example `on conflict do nothing returning event_id`. */
  readonly suffix?: string
}

const runSizes = [64, 32, 16, 8, 4, 2, 1] as const

export async function insertRows<Row = unknown>(
  tx: Queryable,
  o: InsertRowsInput,
): Promise<{ rows: Row[] }> {
  const width = o.columns.length
  // Before anything is sent: a statement without its caller must not be left behind.
  if (o.rows.some((row) => row.length !== width))
    throw new Error(`insertRows ${o.name}: a row has not ${width} values`)
  const sent: Promise<{ rows: Row[] }>[] = []
  let from = 0
  for (const size of runSizes) {
    while (o.rows.length - from >= size) {
      const values = o.rows.slice(from, from + size).flat()
      sent.push(tx.query<Row>(insertStatement(o, size), values))
      from += size
    }
  }
  const results = await Promise.all(sent)
  return { rows: results.flatMap((result) => result.rows) }
}

/** Texts depend on nothing but their key, so keeping them is safe; building 64 rows anew took 50 µs. */
const statements = new Map<string, Statement>()

function insertStatement(o: InsertRowsInput, size: number): Statement {
  const key = `${size} ${o.name} ${o.into} ${o.columns.join()} ${o.suffix ?? ''}`
  const known = statements.get(key)
  if (known) return known
  const width = o.columns.length
  const tuples = Array.from({ length: size }, (_, row) => {
    const places = o.columns.map((name, column) => {
      const place = `$${row * width + column + 1}`
      return o.expressions?.[name]?.replaceAll('$', () => place) ?? place
    })
    return `(${places.join()})`
  })
  const text = `insert into ${o.into} (${o.columns.join(', ')}) values ${tuples.join()} ${o.suffix ?? ''}`
  const made = { name: `${o.name}_${size}`, text }
  statements.set(key, made)
  return made
}

/** A database of which one statement fails. */
import type { Db, Queryable, Tx } from '../src/platform/db/index.ts'

/** The database itself refuses the statement, so that its transaction is as spoiled as it would be. */
const refuse = (state: string) => `do $$ begin raise exception using errcode = '${state}'; end $$`

/** The n-th statement of all transactions that this is given fails, or of all statements; then none does. */
export function failingOnce(
  on: Db,
  n: number,
  state: string,
  { isEvery = false }: { readonly isEvery?: boolean } = {},
) {
  const seen = { statements: 0, hasFailed: false }
  const failing = (of: Queryable): Tx['query'] => {
    return async (s, values) => {
      seen.statements += 1
      if (seen.statements !== n) return of.query(s, values)
      seen.hasFailed = true
      return of.query(refuse(state))
    }
  }
  const db: Db = {
    ...on,
    ...(isEvery ? { query: failing(on) } : {}),
    transaction: (work, o) => on.transaction((tx) => work({ ...tx, query: failing(tx) }), o),
  }
  return { db, seen }
}

/** A database of which one statement fails. */
import type { Db, Tx } from '../src/platform/db/index.ts'

/** The database itself refuses the statement, so that its transaction is as spoiled as it would be. */
const refuse = (state: string) => `do $$ begin raise exception using errcode = '${state}'; end $$`

/** The n-th statement of all transactions that this is given fails; then none does. */
export function failingOnce(on: Db, n: number, state: string) {
  const seen = { statements: 0, hasFailed: false }
  const db: Db = {
    ...on,
    transaction: (work, o) =>
      on.transaction((tx) => {
        const query: Tx['query'] = async (s, values) => {
          seen.statements += 1
          if (seen.statements !== n) return tx.query(s, values)
          seen.hasFailed = true
          return tx.query(refuse(state))
        }
        return work({ ...tx, query })
      }, o),
  }
  return { db, seen }
}

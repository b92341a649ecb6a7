/** Rows are reached through an index, however small their table was when the plan was made. */
import { type Db, statement, type Tx } from './statement.ts'

/**
 * A plan made while a table was small, with a scan of the whole of it, would live on in the session
 * while the table grows. For the transaction only; first in it.
 */
const PLAN_BY_INDEX = statement(
  'platform.plan_by_index',
  `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
          set_config('enable_mergejoin', 'off', true)`,
)

export async function planByIndex(tx: Tx): Promise<void> {
  await tx.query(PLAN_BY_INDEX)
}

/** A bitmap reads all that fits before the first row in order is known. */
const PLAN_IN_ORDER = statement(
  'platform.plan_in_order',
  `select set_config('enable_bitmapscan', 'off', true)`,
)

/** A whole transaction with such plans. */
export async function transactByIndex<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await db.transaction(async (tx) => {
    const [, result] = await Promise.all([planByIndex(tx), work(tx)])
    return result
  })
}

/** Reads in one short transaction with such plans. */
export async function readByIndex<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return await transactByIndex(db, read)
}

/** The same where what is read is bounded by an index's order. */
export async function readInOrder<T>(db: Db, read: (tx: Tx) => Promise<T>): Promise<T> {
  return await readByIndex(db, async (tx) => {
    const [, result] = await Promise.all([tx.query(PLAN_IN_ORDER), read(tx)])
    return result
  })
}

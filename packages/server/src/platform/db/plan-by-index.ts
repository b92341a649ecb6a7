/** Rows are reached through an index, however small their table was when the plan was made. */
import { statement, type Tx } from './statement.ts'

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

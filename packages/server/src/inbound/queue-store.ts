/** What is yet to be reported. */
import { type Queryable, statement } from '../platform/db/index.ts'
import { ulidAtTime } from '../platform/ids.ts'

const IS_DAY_QUEUED = statement(
  'inbound.is_day_queued',
  'select 1 from inbound_queue where inbound_id >= $1 and inbound_id < $2 limit 1',
)

/**
 * Whether a message of that day is yet to be reported. Over all tenants: a day leaves for all of them
 * at once.
 */
export async function isInboundDayQueued(q: Queryable, day: string): Promise<boolean> {
  const fromMs = Date.parse(day)
  const ids = [fromMs, fromMs + 86_400_000].map((ms) => `in_${ulidAtTime(ms)}`)
  return (await q.query(IS_DAY_QUEUED, ids)).rowCount > 0
}

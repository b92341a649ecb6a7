/**
 * SQL that tells retention which past days something unfinished still refers to. Over all tenants:
 * a day leaves for all of them at once. Without an index of their own: asked once for a day that
 * is about to leave.
 */
import { type Queryable, statement } from '../../../platform/db/index.ts'

const IS_EVENT_AWAITED = statement(
  'webhooks.is_event_day_awaited',
  `select 1 where exists (
       select from webhooks_pending
        where day = $1 and queued_at > now() - $2::float8 * interval '1 millisecond')
     or exists (
       select from webhooks_open
        where $1::date = any(event_days)
          and created_at > now() - $2::float8 * interval '1 millisecond')`,
)

/**
 * Whether an event of that day is still to be delivered, within the time for which that is tried.
 * Events reported late are among the last of an old day; what waits longer, behind a paused or
 * failing webhook, leaves with its day.
 */
export async function isEventDayAwaited(
  q: Queryable,
  day: string,
  retryForMs: number,
): Promise<boolean> {
  const { rowCount } = await q.query(IS_EVENT_AWAITED, [day, retryForMs])
  return rowCount > 0
}

const IS_DELIVERY_OPEN = statement(
  'webhooks.is_delivery_day_open',
  'select 1 where exists (select from webhooks_open where day = $1)',
)

/** Whether a delivery of that day is not settled, for instance of a paused webhook: its record goes there. */
export async function isDeliveryDayOpen(q: Queryable, day: string): Promise<boolean> {
  const { rowCount } = await q.query(IS_DELIVERY_OPEN, [day])
  return rowCount > 0
}

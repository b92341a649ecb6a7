/**
 * Queues of any length, made in the database: recording a million events one by one takes minutes.
 */
import type { Db } from '../src/platform/db/index.ts'
import type { StreamKey } from '../src/webhooks/dispatch/stream-store.ts'

export interface BacklogOptions {
  readonly count: number
  readonly lane?: 0 | 1
  readonly generation?: number
  readonly solo?: boolean
  readonly queuedAgoMs?: number
  /** Where their numbers begin: ids and times follow them. */
  readonly from?: number
  /** Only the pointers, as when their events have left the log. */
  readonly isWithoutEvents?: boolean
}

/** Before whatever a test records. */
const TIME_OF_IDS = '01K0000000'
/** Valid ULIDs. */
const ID = `'evt_' || $3 || lpad(n::text, 16, '0')`

/** Queues events for a stream, and makes it active. */
export async function queueBacklog(db: Db, key: StreamKey, o: BacklogOptions): Promise<void> {
  const time = TIME_OF_IDS
  const { from = 0, lane = 0, generation = 0, solo = false, queuedAgoMs = 0 } = o
  if (o.isWithoutEvents !== true)
    await db.query(
      `insert into webhooks_event (tenant_id, event_id, day, ref_id, event, event_at, is_late, attempt,
                                   body, traceparent)
       select $1, ${ID}, (now() - interval '1 hour')::date, 'ref' || n, 'MAIL_DELIVERED',
              now() - interval '1 hour' + n * interval '1 microsecond', true, 0,
              '{"event":"MAIL_DELIVERED","success":true,"details":{"webhook_id":"","ref_id":"' || n || '"}}',
              '00-' || lpad(to_hex(n + 1), 32, '0') || '-00000000000000a1-01'
         from generate_series($2::integer, $2 + $4::integer - 1) n
           on conflict do nothing`,
      [key.tenantId, from, time, o.count],
    )
  await db.query(
    `insert into webhooks_pending (tenant_id, webhook_id, lane, event_id, day, bytes, generation, solo,
                                   queued_at)
     select $1, $5, $6::smallint, ${ID}, (now() - interval '1 hour')::date, 100, $7::integer,
            $8::boolean, now() - $9::float8 * interval '1 millisecond'
       from generate_series($2::integer, $2 + $4::integer - 1) n`,
    [key.tenantId, from, time, o.count, key.webhookId, lane, generation, solo, queuedAgoMs],
  )
  await db.query(
    `update webhooks_stream set state = 'active' where tenant_id = $1 and webhook_id = $2`,
    [key.tenantId, key.webhookId],
  )
}

/** The id of the n-th event of a backlog. */
export function backlogId(n: number): string {
  return `evt_${TIME_OF_IDS}${String(n).padStart(16, '0')}`
}

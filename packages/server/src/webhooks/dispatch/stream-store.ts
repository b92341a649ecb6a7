/**
 * SQL of streams, one small row per destination.
 *
 * idle: nothing is to be done now. active: there may be; entered in the transaction that records an
 * event or changes the webhook, left by `idleStreams` under the stream's own lock. Open deliveries that
 * wait for a later time (parked ones) keep no stream active: `discoverOpen` finds them when they are
 * due. `delivery_id` names the delivery that is under way (take-store.ts, settle-store.ts);
 * `not_before` and `fail_count` are the back-off.
 */
import {
  arrayText,
  givenRows,
  planByIndex,
  type Queryable,
  statement,
  type Tx,
} from '../../platform/db/index.ts'

export interface StreamKey {
  readonly tenantId: string
  readonly webhookId: string
}

export async function insertStream(
  q: Queryable,
  s: StreamKey & { readonly bucket: number; readonly mode: 'array' | 'single' },
): Promise<void> {
  await q.query(
    'insert into webhooks_stream (tenant_id, webhook_id, bucket, mode) values ($1, $2, $3, $4)',
    [s.tenantId, s.webhookId, s.bucket, s.mode],
  )
}

const ACTIVATE = statement(
  'webhooks.activate_streams',
  `update webhooks_stream set state = 'active'
    where tenant_id = any($1) and webhook_id = any($2) and state = 'idle'`,
)

/** Writes nothing for streams that are active already. */
export async function activateStreams(q: Queryable, keys: readonly StreamKey[]): Promise<void> {
  await q.query(ACTIVATE, [keys.map((k) => k.tenantId), keys.map((k) => k.webhookId)])
}

export interface BucketedStream extends StreamKey {
  readonly bucket: number
}

const LOCK_FOR_REST = statement(
  'webhooks.lock_for_rest',
  `select k.n::integer as n
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select 1 from webhooks_stream s
       where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id
         for update skip locked) s`,
)
/** Laterally: `exists` may be answered from a hash of the whole table. */
const LOOK_FOR_REST = statement(
  'webhooks.look_for_rest',
  `select k.n::integer as n,
          s.delivery_id is not null or p.is_there is not null or due.is_there is not null as is_busy,
          sub.is_there is not null or later.is_there is not null as is_needed
     from ${givenRows('text', 'text')} with ordinality as k(tenant_id, webhook_id, n)
    cross join lateral (
      select delivery_id from webhooks_stream s
       where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id limit 1) s
     left join lateral (
      select true as is_there from webhooks_pending p
       where p.tenant_id = k.tenant_id and p.webhook_id = k.webhook_id limit 1) p on true
     left join lateral (
      select true as is_there from webhooks_open o
       where o.tenant_id = k.tenant_id and o.webhook_id = k.webhook_id
         and o.due_at <= now() limit 1) due on true
     left join lateral (
      select true as is_there from webhooks_open o
       where o.tenant_id = k.tenant_id and o.webhook_id = k.webhook_id
         and o.due_at is not null limit 1) later on true
     left join lateral (
      select webhook_id, true as is_there from webhooks_subscription sub
       where sub.tenant_id = k.tenant_id and sub.webhook_id >= k.webhook_id
       order by sub.webhook_id limit 1) sub on sub.webhook_id = k.webhook_id`,
)
const GO_IDLE = statement(
  'webhooks.go_idle',
  `update webhooks_stream s set state = 'idle'
     from unnest($1::text[], $2::text[]) as k(tenant_id, webhook_id)
    where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id and s.state = 'active'`,
)
const DELETE_STREAMS = statement(
  'webhooks.delete_streams',
  `delete from webhooks_stream s
    using unnest($1::text[], $2::text[]) as k(tenant_id, webhook_id)
    where s.tenant_id = k.tenant_id and s.webhook_id = k.webhook_id`,
)

/** `busy`: there is something to do after all. `locked`: somebody writes to it. */
export type Idling = 'idle' | 'busy' | 'locked'

/**
 * Makes streams idle where nothing is to be done, and deletes those of webhooks that are gone and of
 * which nothing is left. The lock comes first: a writer whose pointer is not visible yet holds a share
 * lock on the stream since it looked for it, so the lock fails and the stream stays active; a writer
 * that comes later waits for it, and then finds the stream idle and makes it active.
 */
export async function idleStreams(tx: Tx, keys: readonly StreamKey[]): Promise<Idling[]> {
  const idlings = new Array<Idling>(keys.length).fill('locked')
  const [, locked] = await Promise.all([
    planByIndex(tx),
    tx.query<{ n: number }>(LOCK_FOR_REST, columnsOf(keys)),
  ])
  const held = locked.rows.map((row) => row.n - 1).flatMap((n) => placed(keys, n))
  if (held.length === 0) return idlings
  // A statement of its own: it sees what was committed before the lock was had.
  const looked = await tx.query<{ n: number; is_busy: boolean; is_needed: boolean }>(
    LOOK_FOR_REST,
    columnsOf(held),
  )
  const idle: StreamKey[] = []
  const gone: StreamKey[] = []
  for (const { n, is_busy: isBusy, is_needed: isNeeded } of looked.rows) {
    for (const stream of placed(held, n - 1)) {
      idlings[stream.place] = isBusy ? 'busy' : 'idle'
      if (!isBusy) (isNeeded ? idle : gone).push(stream)
    }
  }
  await Promise.all([
    ...(idle.length > 0 ? [tx.query(GO_IDLE, columnsOf(idle))] : []),
    ...(gone.length > 0 ? [tx.query(DELETE_STREAMS, columnsOf(gone))] : []),
  ])
  return idlings
}

function placed<K extends StreamKey>(keys: readonly K[], place: number) {
  const key = keys[place]
  return key === undefined ? [] : [{ place, ...key }]
}

export function columnsOf(keys: readonly StreamKey[]): [string, string] {
  return [arrayText(keys.map((k) => k.tenantId)), arrayText(keys.map((k) => k.webhookId))]
}

/**
 * SQL of streams, one small row per destination.
 *
 * idle: nothing is pending. active: there may be; entered in the transaction that records an event,
 * left by `goIdle` under the stream's own lock. `delivery_id` names the open delivery, whose request
 * is frozen and not yet settled (delivery-store.ts); `not_before` and `fail_count` are the back-off.
 */
import { type Queryable, statement } from '../../platform/db/index.ts'

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

/** As it was made: nothing pending, no back-off. */
export async function resetStream(q: Queryable, key: StreamKey): Promise<void> {
  await q.query(
    `update webhooks_stream
        set state = 'idle', not_before = '-infinity', fail_count = 0, first_failure_at = null
      where tenant_id = $1 and webhook_id = $2`,
    [key.tenantId, key.webhookId],
  )
}

export async function deleteStream(q: Queryable, key: StreamKey): Promise<void> {
  await q.query('delete from webhooks_stream where tenant_id = $1 and webhook_id = $2', [
    key.tenantId,
    key.webhookId,
  ])
}

/**
 * A new URL or header may have mended the receiver: the next try is made at once, and a request
 * that still went to the old one does not push it back (its `fail_count` is no longer the stream's).
 */
export async function expediteStream(q: Queryable, key: StreamKey): Promise<void> {
  await q.query(
    `update webhooks_stream
        set not_before = '-infinity', fail_count = 0, first_failure_at = null
      where tenant_id = $1 and webhook_id = $2`,
    [key.tenantId, key.webhookId],
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

const DISCOVER = statement(
  'webhooks.discover_streams',
  `select tenant_id, webhook_id, bucket, fail_count > 0 as is_failing from webhooks_stream
    where bucket = any($1) and state = 'active' and not_before <= now() + interval '1 second'`,
)

export interface BucketedStream extends StreamKey {
  readonly bucket: number
  /** Its last request failed, as far as is known. */
  readonly isFailing?: boolean
}

interface DiscoveredRow {
  tenant_id: string
  webhook_id: string
  bucket: number
  is_failing: boolean
}

/** Over all tenants: the dispatcher serves buckets, and each stream it finds by its own tenant. */
export async function discoverStreams(
  q: Queryable,
  buckets: readonly number[],
): Promise<BucketedStream[]> {
  const { rows } = await q.query<DiscoveredRow>(DISCOVER, [buckets])
  return rows.map((r) => ({
    tenantId: r.tenant_id,
    webhookId: r.webhook_id,
    bucket: r.bucket,
    isFailing: r.is_failing,
  }))
}

const LOAD = statement(
  'webhooks.load_stream',
  `select s.xmin::text as version, s.mode, s.fail_count as "failCount",
          s.delivery_id as "deliveryId",
          greatest(0, extract(epoch from s.not_before - now()) * 1000)::float8 as "waitMs",
          sub.url, sub.headers_sealed as "headersSealed"
     from webhooks_stream s
     join webhooks_subscription sub
       on sub.tenant_id = s.tenant_id and sub.webhook_id = s.webhook_id and sub.active
    where s.tenant_id = $1 and s.webhook_id = $2`,
)

/** Where a request goes; read anew for each. */
export interface Target {
  readonly url: string
  readonly headersSealed: string
}

export interface LoadedStream extends Target {
  /** Another one after every change of the row. */
  readonly version: string
  readonly mode: 'array' | 'single'
  /** Failures in a row. */
  readonly failCount: number
  /** Milliseconds until the next request may be made, by the database's clock. */
  readonly waitMs: number
  readonly deliveryId: string | null
}

/** Undefined when its webhook is inactive or gone. */
export async function loadStream(q: Queryable, key: StreamKey): Promise<LoadedStream | undefined> {
  const { rows } = await q.query<LoadedStream>(LOAD, [key.tenantId, key.webhookId])
  return rows[0]
}

const LOCK_STREAM = statement(
  'webhooks.lock_stream',
  `select state, delivery_id from webhooks_stream where tenant_id = $1 and webhook_id = $2
      for update skip locked`,
)
const HAS_PENDING = statement(
  'webhooks.has_pending',
  'select 1 from webhooks_pending where tenant_id = $1 and webhook_id = $2 limit 1',
)
const GO_IDLE = statement(
  'webhooks.go_idle',
  `update webhooks_stream set state = 'idle' where tenant_id = $1 and webhook_id = $2`,
)

/**
 * Makes the stream idle when nothing is pending. The lock comes first: a writer whose pointer is
 * not visible yet holds a share lock on the stream through its foreign key, so the lock fails
 * (`locked`) and the stream stays active. `busy`: there is something to do after all.
 */
export async function goIdle(q: Queryable, key: StreamKey): Promise<'idle' | 'busy' | 'locked'> {
  const ids = [key.tenantId, key.webhookId]
  const { rows } = await q.query<{ state: string; delivery_id: string | null }>(LOCK_STREAM, ids)
  const stream = rows[0]
  if (stream === undefined) return 'locked'
  if (stream.state === 'idle') return 'idle'
  const pending = await q.query(HAS_PENDING, ids)
  if (stream.delivery_id !== null || pending.rowCount > 0) return 'busy'
  await q.query(GO_IDLE, ids)
  return 'idle'
}

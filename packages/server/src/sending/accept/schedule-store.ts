/**
 * SQL of emails that wait for their time: into the queue when it is near, or taken back. Every
 * statement names the tenant, or says why not.
 */
import type { RecipientStatus, RecipientType } from '@postrider/contract'
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'

export interface RecipientKey {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
}

interface KeyRow {
  tenant_id: string
  ref_id: string
  n: number
}

const DUE = `bucket = any($1::smallint[]) and due_at < now() + interval '3 seconds'`

const ANY_DUE = statement('sending.any_due', `select from sending_scheduled where ${DUE} limit 1`)

/** Whether anything is due within three seconds. Over all tenants: the sender serves buckets. */
export async function isAnyDue(q: Queryable, buckets: readonly number[]): Promise<boolean> {
  return (await q.query(ANY_DUE, [buckets])).rowCount > 0
}

const COLUMNS =
  'tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts, expires_at, content_bytes, is_bulk'

/** How many recipients `moveDue` moves at once. */
export const MOVED_MAX = 1_000

const MOVE_DUE = statement(
  'sending.move_due',
  `with found as (
     select tenant_id, ref_id, n from sending_scheduled where ${DUE}
      limit ${MOVED_MAX} for update skip locked
   ), due as (
     delete from sending_scheduled s using found f
      where s.tenant_id = f.tenant_id and s.ref_id = f.ref_id and s.n = f.n
     returning s.*
   ), queued as (
     insert into sending_queue (${COLUMNS}) select ${COLUMNS} from due
   )
   select tenant_id, ref_id, n from due`,
)

/**
 * Moves up to `MOVED_MAX` recipients that are due within three seconds into the queue. Over all
 * tenants: the sender serves buckets.
 */
export async function moveDue(tx: Queryable, buckets: readonly number[]): Promise<RecipientKey[]> {
  const { rows } = await tx.query<KeyRow>(MOVE_DUE, [buckets])
  return rows.map((row) => ({ tenantId: row.tenant_id, refId: row.ref_id, n: row.n }))
}

const DROP_SCHEDULED = statement(
  'sending.drop_scheduled',
  'delete from sending_scheduled where tenant_id = $1 and ref_id = $2 returning n',
)

const IS_UNATTEMPTED = `tenant_id = $1 and ref_id = $2 and attempt = 1 and phase <> 'dot'`

// A claim or a finish takes several rows in an order of its own: waiting for one while holding
// another of the same email could be a deadlock.
const DROP_QUEUED = statement(
  'sending.drop_queued',
  `delete from sending_queue where (tenant_id, ref_id, n) in (
     select tenant_id, ref_id, n from sending_queue
      where ${IS_UNATTEMPTED} for update skip locked)
   returning n`,
)

/**
 * Takes an email's recipients out of the queue and from beside it, where none has had an attempt.
 * A sender that has claimed one finds its row gone, and may not end the message. Answers their `n`.
 */
export async function dropUnattempted(
  tx: Queryable,
  tenantId: string,
  refId: string,
): Promise<number[]> {
  // In the order in which rows move: one on its way is found in the second.
  const dropped: number[] = []
  for (const drop of [DROP_SCHEDULED, DROP_QUEUED]) {
    const { rows } = await tx.query<{ n: number }>(drop, [tenantId, refId])
    dropped.push(...rows.map((row) => row.n))
  }
  return dropped
}

const ANY_UNATTEMPTED = statement(
  'sending.any_unattempted',
  `select from sending_queue where ${IS_UNATTEMPTED} limit 1`,
)

/** After `dropUnattempted`: whether a row was passed over because something else held it. */
export async function isAnyLeft(q: Queryable, tenantId: string, refId: string): Promise<boolean> {
  return (await q.query(ANY_UNATTEMPTED, [tenantId, refId])).rowCount > 0
}

export interface RecipientState {
  readonly email: string
  readonly type: RecipientType
  readonly status: RecipientStatus
}

const SELECT_RECIPIENTS = statement(
  'sending.select_recipients',
  `select email, type, status from sending_recipient
    where tenant_id = $1 and ref_id = $2 and day = $3 order by n`,
)

/** In the order in which they were given; none for an email that there is not. */
export async function selectRecipients(
  q: Queryable,
  tenantId: string,
  refId: string,
): Promise<RecipientState[]> {
  const values = [tenantId, refId, dayOfUlid(refId)]
  const { rows } = await q.query<RecipientState>(SELECT_RECIPIENTS, values)
  return rows
}

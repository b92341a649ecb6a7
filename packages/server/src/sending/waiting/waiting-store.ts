/**
 * SQL of recipients who wait: walks through them newest first, makes their next attempt due, or takes them
 * back. Every statement names the tenant.
 *
 * A row that an attempt has in hand is passed over, and so is one that is locked: a claim or the end of an
 * attempt is just being committed.
 */
import type { RecipientStatus } from '@postrider/contract'
import { type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { SoughtRecipient } from '../bulk/read-selection.ts'
import type { RecipientKey } from '../record/recipient-store.ts'

export interface WaitingPlace extends RecipientKey {
  readonly mailerId: string
  readonly isScheduled: boolean
  /** What the walk is for may be done to it. */
  readonly isOpen: boolean
}

export interface WaitingRange {
  readonly tenantId: string
  readonly refIdMin: string
  readonly below: RecipientKey
  readonly limit: number
}

const IS_RETRIABLE = `phase = 'waiting' and attempt > 1 and due_at > now()`
/** What another call has made due since this transaction began is not changed again. */
const IS_STILL_RETRIABLE = IS_RETRIABLE.replace('now()', 'clock_timestamp()')
/** Also what a process left when it ended: that claim is over, and nothing was sent by it. */
const IS_CANCELLABLE = `(phase = 'waiting' or phase = 'sending' and due_at <= now())`

const NEWEST = 'order by ref_id desc, n desc limit $5'
const rows = (table: string, columns: string, more: string) =>
  `(select ref_id, n, mailer_id, ${columns} from ${table}
     where tenant_id = $1 and ref_id >= $2 and (ref_id, n) < ($3, $4::smallint) ${more} ${NEWEST})`
const queued = (isOpen: string, more: string) =>
  rows('sending_queue', `false as is_scheduled, ${isOpen} as is_open`, more)
const either = (more: string) =>
  `(select * from (${queued(IS_CANCELLABLE, more)}
     union all ${rows('sending_scheduled', 'true, true', more)}) e ${NEWEST})`

const COLUMNS =
  'w.ref_id as "refId", w.n, w.mailer_id as "mailerId", w.is_scheduled as "isScheduled", w.is_open as "isOpen"'
const all = (source: (more: string) => string) => `select ${COLUMNS} from ${source('')} w`
// In the order of the list, which a nested loop keeps; no other plan is left.
const ofEmails = (source: (more: string) => string) =>
  `select ${COLUMNS} from unnest($6::text[]) as email (id)
    cross join lateral ${source('and ref_id = email.id')} w limit $5`

const retriable = (more: string) => queued(IS_RETRIABLE, more)
const WALKS = {
  retry: {
    all: statement('sending.walk_retriable', all(retriable)),
    ofEmails: statement('sending.walk_retriable_of_emails', ofEmails(retriable)),
  },
  cancel: {
    all: statement('sending.walk_cancellable', all(either)),
    ofEmails: statement('sending.walk_cancellable_of_emails', ofEmails(either)),
  },
} as const

/** What it looked at, newest first: `range.limit` of it, or all that there is. */
export async function walkWaiting(
  q: Queryable,
  what: keyof typeof WALKS,
  range: WaitingRange,
  refIds: readonly string[] | undefined,
): Promise<WaitingPlace[]> {
  const { tenantId, refIdMin, below, limit } = range
  const values = [tenantId, refIdMin, below.refId, below.n, limit]
  if (refIds === undefined) return (await q.query<WaitingPlace>(WALKS[what].all, values)).rows
  const newestFirst = refIds.filter((id) => id <= below.refId).sort((a, b) => (a < b ? 1 : -1))
  return (await q.query<WaitingPlace>(WALKS[what].ofEmails, [...values, newestFirst])).rows
}

// Laterally: one probe of the index for each, whatever the statistics say of tables that grow fast.
const LOAD = statement(
  'sending.load_waiting',
  `select w.ref_id as "refId", w.n, r.email, r.type, r.status, r.created_at as "createdAt",
          r.failed_reason as "failedReason",
          e.subject, e.campaign_id as "campaignId", e.mailer_id as "mailerId"
     from unnest($2::text[], $3::smallint[], $4::date[]) as w (ref_id, n, day)
    cross join lateral (
      select email, type, status, created_at, failed_reason from sending_recipient
       where tenant_id = $1 and ref_id = w.ref_id and n = w.n and day = w.day and day = any($5::date[])
       limit 1) r
    cross join lateral (
      select case when $6 then subject end as subject, campaign_id, mailer_id
        from sending_email
       where tenant_id = $1 and ref_id = w.ref_id and day = w.day and day = any($5::date[])
       limit 1) e`,
)

export type WaitingRecipient = RecipientKey & SoughtRecipient & { readonly status: RecipientStatus }

export async function loadWaiting(
  q: Queryable,
  tenantId: string,
  keys: readonly RecipientKey[],
  withSubject: boolean,
): Promise<WaitingRecipient[]> {
  if (keys.length === 0) return []
  const days = keys.map(({ refId }) => dayOfUlid(refId))
  const { rows: found } = await q.query<WaitingRecipient>(LOAD, [
    ...keysOf(tenantId, keys),
    days,
    [...new Set(days)],
    withSubject,
  ])
  return found
}

const locked = (table: string, where: string) =>
  `(select t.ref_id, t.n from unnest($2::text[], $3::smallint[]) as k (ref_id, n)
     cross join lateral (
       select ref_id, n from ${table}
        where tenant_id = $1 and ref_id = k.ref_id and n = k.n ${where}) t)`
const SAME = 'q.tenant_id = $1 and q.ref_id = l.ref_id and q.n = l.n'

const RETRY = statement(
  'sending.retry_waiting',
  `update sending_queue q set due_at = now(), is_bulk = true
     from ${locked('sending_queue', `and ${IS_STILL_RETRIABLE} limit 1 for update skip locked`)} l
    where ${SAME}
   returning q.mailer_id as "mailerId"`,
)

/** Answers the mailer of each that is due from now on: as bulk mail, for many may be due at once. */
export async function retryWaiting(
  tx: Queryable,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<string[]> {
  const { rows: due } = await tx.query<{ mailerId: string }>(RETRY, keysOf(tenantId, keys))
  return due.map(({ mailerId }) => mailerId)
}

export interface DroppedRecipient extends RecipientKey {
  readonly mailerId: string
  /** Attempts that have ended. */
  readonly attempts: number
}

// What holds such a row moves it into the queue, and waits for nothing meanwhile.
const DROP_SCHEDULED = statement(
  'sending.drop_scheduled_of_many',
  `delete from sending_scheduled q using ${locked('sending_scheduled', 'limit 1 for update')} l
    where ${SAME}
   returning q.ref_id as "refId", q.n, q.mailer_id as "mailerId", 0 as attempts`,
)
const DROP_QUEUED = statement(
  'sending.drop_queued_of_many',
  `delete from sending_queue q
    using ${locked('sending_queue', `and ${IS_CANCELLABLE} limit 1 for update skip locked`)} l
    where ${SAME}
   returning q.ref_id as "refId", q.n, q.mailer_id as "mailerId", q.attempt - 1 as attempts`,
)

/** Takes recipients who wait out of the queue and from beside it. A sender that comes later finds no row. */
export async function dropWaiting(
  tx: Queryable,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<DroppedRecipient[]> {
  // Locked in one order, so that two calls do not wait for each other in a circle.
  const ordered = keys.toSorted((a, b) =>
    a.refId === b.refId ? a.n - b.n : a.refId < b.refId ? -1 : 1,
  )
  const values = keysOf(tenantId, ordered)
  // In the order in which rows move: one on its way is found in the second.
  const dropped: DroppedRecipient[] = []
  for (const drop of [DROP_SCHEDULED, DROP_QUEUED])
    dropped.push(...(await tx.query<DroppedRecipient>(drop, values)).rows)
  return dropped
}

function keysOf(tenantId: string, keys: readonly RecipientKey[]): unknown[] {
  return [tenantId, keys.map(({ refId }) => refId), keys.map(({ n }) => n)]
}

/**
 * SQL of what is reported of recipients after their mail was handed over: by the server or provider that took it, and for
 * feedback. Every statement names the tenant.
 *
 * Within one transaction: `lockReported`, then `settleReported` and `reportStatuses`. The order keeps
 * reports and the ends of attempts apart. Whichever holds a recipient's row first, the other sees
 * what it has written: a row that a report finds waiting is taken out of the queue, and an attempt
 * that ends after the report does not put it back (settle-reported.ts).
 */
import type { RecipientStatus } from '@postrider/contract'
import { statement, type Tx } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { layOver } from '../own-data/own-data.ts'
import { readOwn } from '../own-data/own-data-store.ts'
import type { RecordedAttempt } from './email-store.ts'
import type { RecipientKey } from './recipient-store.ts'
import { insertStopped, isStopped, type StoppedRecipient } from './stopped-store.ts'

export interface ReportedRecipient extends RecipientKey {
  /** As the caller wrote it. */
  readonly email: string
  readonly status: RecipientStatus
  readonly failedReason: string
  readonly messageId: string
  readonly deliveredAt: Date | null
  /** By which it was tried last, else for which it was accepted. */
  readonly mailerId: string
  /** Undefined when no attempt has ended. */
  readonly lastOutcome: RecordedAttempt['outcome'] | undefined
  /** Its next attempt cannot be ended now: somebody has it in hand. In a moment it can. */
  readonly isBeingClaimed: boolean
  readonly campaignId: string | null
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  /** When the email was accepted. */
  readonly createdAt: Date
}

const KEYS = 'unnest($2::text[], $3::smallint[], $4::date[]) as k (ref_id, n, day)'

// In one order, so that two transactions do not wait for each other in a circle.
const LOCK = statement(
  'sending.lock_reported',
  `select r.ref_id as "refId", r.n, r.email, r.status, r.failed_reason as "failedReason",
          r.message_id as "messageId", r.delivered_at as "deliveredAt"
     from ${KEYS}
     join sending_recipient r
       on r.tenant_id = $1 and r.ref_id = k.ref_id and r.n = k.n and r.day = k.day
    where r.day = any($5::date[])
    order by r.ref_id, r.n for no key update of r`,
)

// After the lock: an attempt may have ended while it was waited for.
const READ = statement(
  'sending.read_reported',
  `select k.ref_id as "refId", k.n, coalesce(a.mailer_id, e.mailer_id) as "mailerId", a.outcome,
          e.campaign_id as "campaignId", e.custom_args as "customArgs", e.has_own as "hasOwn", e.traceparent,
          e.created_at as "createdAt"
     from ${KEYS}
    cross join lateral (
      select mailer_id, campaign_id, custom_args, has_own, traceparent, created_at from sending_email
       where tenant_id = $1 and ref_id = k.ref_id and day = k.day and day = any($5::date[])
       limit 1) e
     left join lateral (
      select mailer_id, outcome from sending_attempts
       where tenant_id = $1 and ref_id = k.ref_id and n = k.n and day = k.day
         and day = any($5::date[])
       order by attempt desc limit 1) a on true`,
)

// Those that could not be locked.
const FIND_CLAIMED = statement(
  'sending.find_being_claimed',
  `with free as (
     select q.ref_id, q.n
       from unnest($2::text[], $3::smallint[]) as k (ref_id, n)
       join sending_queue q on q.tenant_id = $1 and q.ref_id = k.ref_id and q.n = k.n
        for update of q skip locked)
   select q.ref_id as "refId", q.n
     from unnest($2::text[], $3::smallint[]) as k (ref_id, n)
     join sending_queue q on q.tenant_id = $1 and q.ref_id = k.ref_id and q.n = k.n
    where q.phase <> 'dot'
      and not exists (select from free f where f.ref_id = q.ref_id and f.n = q.n)`,
)

async function findBeingClaimed(
  tx: Tx,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<RecipientKey[]> {
  if (keys.length === 0) return []
  const values = [tenantId, keys.map(({ refId }) => refId), keys.map(({ n }) => n)]
  return (await tx.query<RecipientKey>(FIND_CLAIMED, values)).rows
}

/** Those that there are, each held to the end of the transaction; of different recipients. */
export async function lockReported(
  tx: Tx,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<ReportedRecipient[]> {
  if (keys.length === 0) return []
  const values = keysOf(tenantId, keys)
  type Locked = Omit<ReportedRecipient, keyof Read | 'isBeingClaimed'>
  type Read = Pick<
    ReportedRecipient,
    'mailerId' | 'lastOutcome' | 'campaignId' | 'customArgs' | 'traceparent' | 'createdAt'
  >
  const { rows: locked } = await tx.query<Locked>(LOCK, values)
  const waiting = locked.filter(({ status }) => status === 'deferred')
  const claimed = await findBeingClaimed(tx, tenantId, waiting)
  const { rows: read } = await tx.query<
    RecipientKey &
      Omit<Read, 'lastOutcome'> & {
        readonly outcome: RecordedAttempt['outcome'] | null
        readonly hasOwn: true | null
      }
  >(READ, values)
  const having = read.filter(({ hasOwn }) => hasOwn === true)
  const own = await readOwn(
    tx,
    having.map(({ refId, n }) => ({ tenantId, refId, n })),
  )
  const ownArgsOf = new Map(
    having.map(({ refId, n }, i) => [`${refId}.${n}`, own[i]?.customArgs ?? null]),
  )
  const readOf = new Map(read.map((row) => [`${row.refId}.${row.n}`, row]))
  return locked.flatMap((row) => {
    const more = readOf.get(`${row.refId}.${row.n}`)
    if (more === undefined) return []
    const { outcome, hasOwn: _, ...rest } = more
    const customArgs = layOver(rest.customArgs, ownArgsOf.get(`${row.refId}.${row.n}`) ?? null)
    const isBeingClaimed = claimed.some(({ refId, n }) => refId === row.refId && n === row.n)
    return [{ ...row, ...rest, customArgs, lastOutcome: outcome ?? undefined, isBeingClaimed }]
  })
}

const LOCK_SETTLED = statement(
  'sending.lock_settled',
  `with ended as (
     select r.ref_id, r.n, r.status
       from unnest($1::text[], $2::text[], $3::smallint[], $4::date[]) as k (tenant_id, ref_id, n, day)
       join sending_recipient r on r.tenant_id = k.tenant_id and r.ref_id = k.ref_id
        and r.n = k.n and r.day = k.day
      where r.day = any($5::date[])
      order by r.ref_id, r.n for no key update of r)
   select ref_id as "refId", n from ended where status not in ('queued', 'scheduled', 'deferred')`,
)

/** Those of whom it was reported that their mail is with the provider; all are held. */
export async function lockSettled(
  tx: Tx,
  keys: readonly (RecipientKey & { readonly tenantId: string })[],
): Promise<RecipientKey[]> {
  if (keys.length === 0) return []
  const tenantIds = keys.map(({ tenantId }) => tenantId)
  const { rows } = await tx.query<RecipientKey>(LOCK_SETTLED, keysOf(tenantIds, keys))
  return rows
}

const SETTLE = statement(
  'sending.settle_reported',
  `delete from sending_queue where (tenant_id, ref_id, n) in (
     select q.tenant_id, q.ref_id, q.n
       from unnest($2::text[], $3::smallint[]) as k (ref_id, n)
       join sending_queue q on q.tenant_id = $1 and q.ref_id = k.ref_id and q.n = k.n
      where q.phase <> 'dot' for update of q skip locked)
   returning ref_id as "refId", n`,
)

/**
 * No further attempt of locked recipients, whose mail has turned out to be with the provider. One
 * whose final dot may be on its way is left alone: it ends by itself, and is the last. Answers those
 * that were taken out of the queue.
 */
export async function settleReported(
  tx: Tx,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<RecipientKey[]> {
  if (keys.length === 0) return []
  const values = [tenantId, keys.map(({ refId }) => refId), keys.map(({ n }) => n)]
  const { rows } = await tx.query<RecipientKey>(SETTLE, values)
  return rows
}

const REPORT = statement(
  'sending.report_status',
  `update sending_recipient r
      set status = c.status, failed_reason = c.failed_reason,
          message_id = coalesce(c.message_id, r.message_id),
          delivered_at = coalesce(r.delivered_at, c.delivered_at)
     from unnest($2::text[], $3::smallint[], $4::date[], $6::text[], $7::text[], $8::text[],
                 $9::timestamptz[])
       as c (ref_id, n, day, status, failed_reason, message_id, delivered_at)
    where r.tenant_id = $1 and r.ref_id = c.ref_id and r.n = c.n and r.day = c.day
      and r.day = any($5::date[])`,
)

export interface ReportedStatus extends RecipientKey {
  readonly status: RecipientStatus
  readonly failedReason: string
  /** Left as it is when left out. */
  readonly messageId?: string | undefined
  /** The first that is told stays. */
  readonly deliveredAt?: Date | undefined
}

/** Of locked recipients, one change each. Attempts stay as they are: a report is none. */
export async function reportStatuses(
  tx: Tx,
  tenantId: string,
  changes: readonly ReportedStatus[],
): Promise<void> {
  if (changes.length === 0) return
  await Promise.all([
    tx.query(REPORT, [
      ...keysOf(tenantId, changes),
      changes.map((change) => change.status),
      changes.map((change) => change.failedReason),
      changes.map((change) => change.messageId ?? null),
      changes.map((change) => change.deliveredAt ?? null),
    ]),
    insertStopped(
      tx,
      changes.flatMap((change) => notesOf(change, tenantId)),
    ),
  ])
}

/** What attempts do not lead to: that it failed, and that it was delivered on a later day. */
function notesOf(
  { status, refId, n, deliveredAt }: ReportedStatus,
  tenantId: string,
): StoppedRecipient[] {
  const day = dayOfUlid(refId)
  const isLate = deliveredAt !== undefined && dayAt(deliveredAt.getTime()) > day
  const found = [
    ...(status === 'failed' || isStopped(status) ? [status] : []),
    ...(isLate ? ['delivered'] : []),
  ]
  return found.map((name) => ({ tenantId, refId, n, day, status: name }))
}

function keysOf(tenantId: string | string[], keys: readonly RecipientKey[]): unknown[] {
  const days = keys.map(({ refId }) => dayOfUlid(refId))
  return [
    tenantId,
    keys.map(({ refId }) => refId),
    keys.map(({ n }) => n),
    days,
    [...new Set(days)],
  ]
}

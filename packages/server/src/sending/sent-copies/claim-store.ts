/**
 * SQL of copies that are due. A claim counts as a try at once, so that one which ends its process again
 * and again uses up its tries; it lasts until `due_at`, and ends under its fence. Times are the
 * database's. Statements that run over all tenants say why.
 */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'

export interface SentCopyMailer {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
}

/** Claimed. */
export interface SentCopy {
  readonly tenantId: string
  readonly refId: string
  readonly mailerId: string
  readonly messageId: string
  readonly contentBytes: number
  readonly sentAt: Date
  /** This one, from 1. */
  readonly tries: number
  readonly fence: string
}

const DISCOVER = statement(
  'sending.discover_sent_copies',
  `with recursive mailer as (
     (select c.*
        from unnest($1::smallint[]) as owned (bucket)
        cross join lateral (
          select bucket, tenant_id, mailer_id, due_at from sending_sent_copy
           where bucket = owned.bucket
           order by bucket, tenant_id, mailer_id, due_at limit 1) c)
     union all
     select c.*
       from mailer cross join lateral (
         select bucket, tenant_id, mailer_id, due_at from sending_sent_copy
          where bucket = mailer.bucket
            and (tenant_id, mailer_id) > (mailer.tenant_id, mailer.mailer_id)
          order by bucket, tenant_id, mailer_id, due_at limit 1) c
   )
   select tenant_id as "tenantId", mailer_id as "mailerId", bucket from mailer where due_at <= now()`,
)

/**
 * The mailers of these buckets with something due: one index probe for each that has anything. Over
 * all tenants: each mailer is served by itself.
 */
export async function discoverSentCopies(
  q: Queryable,
  buckets: readonly number[],
): Promise<SentCopyMailer[]> {
  return (await q.query<SentCopyMailer>(DISCOVER, [buckets])).rows
}

const CLAIM = statement(
  'sending.claim_sent_copies',
  `with due as (
     select tenant_id, ref_id, mailer_id from sending_sent_copy
      where bucket = $1 and tenant_id = $2 and mailer_id = $3 and due_at <= now()
      order by due_at limit $4 for update skip locked)
   update sending_sent_copy c
      set due_at = now() + $5::float8 * interval '1 ms', tries = c.tries + 1, fence = c.fence + 1
     from due
    where c.tenant_id = due.tenant_id and c.ref_id = due.ref_id and c.mailer_id = due.mailer_id
   returning c.tenant_id as "tenantId", c.ref_id as "refId", c.mailer_id as "mailerId",
             c.message_id as "messageId", c.content_bytes as "contentBytes", c.sent_at as "sentAt",
             c.tries, c.fence`,
)

/** The longest due of a mailer. */
export async function claimSentCopies(
  tx: Tx,
  { bucket, tenantId, mailerId }: SentCopyMailer,
  o: { readonly limit: number; readonly leaseMs: number },
): Promise<SentCopy[]> {
  const values = [bucket, tenantId, mailerId, o.limit, o.leaseMs]
  return (await tx.query<SentCopy>(CLAIM, values)).rows
}

type CopyClaim = Pick<SentCopy, 'tenantId' | 'refId' | 'mailerId' | 'fence'>

const keysOf = (copies: readonly CopyClaim[]) => [
  copies.map((c) => c.tenantId),
  copies.map((c) => c.refId),
  copies.map((c) => c.mailerId),
  copies.map((c) => c.fence),
]
const IS_HELD = `c.tenant_id = h.tenant_id and c.ref_id = h.ref_id and c.mailer_id = h.mailer_id
        and c.fence = h.fence`

const END = statement(
  'sending.end_sent_copies',
  `delete from sending_sent_copy c
    using unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
       as h (tenant_id, ref_id, mailer_id, fence)
    where ${IS_HELD}`,
)

/** Nothing is left to do for them. Answers how many were still held. */
export async function endSentCopies(q: Queryable, copies: readonly CopyClaim[]): Promise<number> {
  return copies.length === 0 ? 0 : (await q.query(END, keysOf(copies))).rowCount
}

const POSTPONE = statement(
  'sending.postpone_sent_copies',
  `update sending_sent_copy c
      set due_at = now() + h.wait_ms * interval '1 ms', fence = c.fence + 1,
          tries = c.tries - case when h.is_try then 0 else 1 end
     from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::float8[], $6::boolean[])
       as h (tenant_id, ref_id, mailer_id, fence, wait_ms, is_try)
    where ${IS_HELD}`,
)

/** `isTry`: what came of it counts. */
export async function postponeSentCopies(
  q: Queryable,
  copies: readonly (CopyClaim & { readonly waitMs: number; readonly isTry: boolean })[],
): Promise<void> {
  if (copies.length === 0) return
  await q.query(POSTPONE, [
    ...keysOf(copies),
    copies.map((c) => c.waitMs),
    copies.map((c) => c.isTry),
  ])
}

const REST = statement(
  'sending.rest_sent_copies',
  `update sending_sent_copy set due_at = now() + $4::float8 * interval '1 ms'
    where bucket = $1 and tenant_id = $2 and mailer_id = $3 and due_at <= now()`,
)

/** What of a mailer is due and nobody has claimed waits so long, which is no try. */
export async function pauseSentCopies(
  q: Queryable,
  { bucket, tenantId, mailerId }: SentCopyMailer,
  waitMs: number,
): Promise<void> {
  await q.query(REST, [bucket, tenantId, mailerId, waitMs])
}

const FORGET = statement(
  'sending.forget_sent_copies',
  'delete from sending_sent_copy where bucket = $1 and tenant_id = $2 and mailer_id = $3',
)

/** Of a mailer that is gone. Answers how many. */
export async function forgetSentCopies(
  q: Queryable,
  { bucket, tenantId, mailerId }: SentCopyMailer,
): Promise<number> {
  return (await q.query(FORGET, [bucket, tenantId, mailerId])).rowCount
}

// Over all tenants: the janitor's.
const DROP_OLD = statement(
  'sending.drop_old_sent_copies',
  `delete from sending_sent_copy c
    using (select tenant_id, ref_id, mailer_id from sending_sent_copy
            where sent_at < now() - $1::float8 * interval '1 ms'
            order by sent_at limit $2 for update skip locked) old
    where c.tenant_id = old.tenant_id and c.ref_id = old.ref_id and c.mailer_id = old.mailer_id`,
)

export async function dropOldSentCopies(
  q: Queryable,
  ageMs: number,
  limit: number,
): Promise<number> {
  return (await q.query(DROP_OLD, [ageMs, limit])).rowCount
}

/**
 * SQL of copies that are due, which are claimed as any job is (`platform/work/jobs.ts`). Statements that run over
 * all tenants say why.
 */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { type Claimed, createJobs, dropOld } from '../../platform/work/jobs.ts'

export interface SentCopyMailer {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
}

interface SentCopyKey {
  readonly tenantId: string
  readonly refId: string
  readonly mailerId: string
}

export type SentCopy = Claimed<SentCopyKey> & {
  readonly messageId: string
  readonly contentBytes: number
  readonly sentAt: Date
}

const jobs = createJobs<SentCopyKey, SentCopy>({
  ...{ name: 'sending.sent_copies', table: 'sending_sent_copy', claimedUntil: 'due_at' },
  key: ['tenantId', 'refId', 'mailerId'],
  columns: ['message_id', 'content_bytes', 'sent_at'],
})

export const { putOff: putOffSentCopies, end: endSentCopies } = jobs

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

const FIND_DUE = statement(
  'sending.find_due_sent_copies',
  `select tenant_id as "tenantId", ref_id as "refId", mailer_id as "mailerId" from sending_sent_copy
    where bucket = $1 and tenant_id = $2 and mailer_id = $3 and due_at <= now()
    order by due_at limit $4`,
)

/** The longest due of a mailer. */
export async function claimSentCopies(
  tx: Tx,
  { bucket, tenantId, mailerId }: SentCopyMailer,
  o: { readonly limit: number; readonly leaseMs: number },
): Promise<SentCopy[]> {
  const due = await tx.query<SentCopyKey>(FIND_DUE, [bucket, tenantId, mailerId, o.limit])
  return jobs.claim(tx, due.rows, o.leaseMs)
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
export const dropOldSentCopies = dropOld({
  ...{ name: 'sending.drop_old_sent_copies', table: 'sending_sent_copy', since: 'sent_at' },
  key: ['tenant_id', 'ref_id', 'mailer_id'],
})

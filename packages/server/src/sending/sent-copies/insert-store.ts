/** SQL of copies that become due. Every statement names the tenant. */
import { bucketOf, type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { Claim } from '../attempt/attempt.ts'

/** A recipient's copy that the server of a mailbox has accepted. */
export interface AcceptedCopy {
  readonly claim: Pick<Claim, 'tenantId' | 'refId' | 'mailerId' | 'contentBytes'>
  readonly messageId: string
}

/** Servers that keep what is sent by them have done so by then, as a rule. */
const FIRST_LOOK_MS = 20_000

const INSERT = statement(
  'sending.insert_sent_copies',
  `insert into sending_sent_copy
     (tenant_id, ref_id, mailer_id, bucket, message_id, content_bytes, due_at)
   select c.tenant_id, c.ref_id, c.mailer_id, c.bucket, c.message_id, c.content_bytes,
          now() + ${FIRST_LOOK_MS} * interval '1 ms'
     from unnest($1::text[], $2::text[], $3::text[], $4::smallint[], $5::text[], $6::int[], $7::date[])
       as c (tenant_id, ref_id, mailer_id, bucket, message_id, content_bytes, day)
    where not exists (
      select from sending_attempts a
       where a.tenant_id = c.tenant_id and a.ref_id = c.ref_id and a.day = c.day
         -- Says before the join begins which partitions there are to open.
         and a.day = any($8::date[])
         and a.mailer_id = c.mailer_id and a.outcome = 'accepted')
   on conflict do nothing`,
)

/**
 * One for each email and mailer, of the first copy that was accepted: so it is to be called before
 * the attempts that accepted these are written. In one order, so that callers do not wait in a circle.
 */
export async function insertSentCopies(
  tx: Queryable,
  accepted: readonly AcceptedCopy[],
): Promise<void> {
  if (accepted.length === 0) return
  const first = new Map<string, AcceptedCopy>()
  for (const copy of accepted) {
    const key = `${copy.claim.refId} ${copy.claim.mailerId}`
    if (!first.has(key)) first.set(key, copy)
  }
  const rows = [...first].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  const claims = rows.map(({ claim }) => claim)
  const days = claims.map(({ refId }) => dayOfUlid(refId))
  await tx.query(INSERT, [
    claims.map(({ tenantId }) => tenantId),
    claims.map(({ refId }) => refId),
    claims.map(({ mailerId }) => mailerId),
    claims.map(({ mailerId }) => bucketOf(mailerId)),
    rows.map(({ messageId }) => messageId),
    claims.map(({ contentBytes }) => contentBytes),
    days,
    [...new Set(days)],
  ])
}

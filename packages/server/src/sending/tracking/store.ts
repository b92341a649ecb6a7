/**
 * SQL of tracking: where tracked links lead to, and whose copy of an email a hit is about. Every
 * statement names the tenant.
 */
import { insertRows, type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { TrackedRecipient } from './tracking-urls.ts'

export interface EmailLinks {
  readonly tenantId: string
  readonly refId: string
  /** Each once, by the link's number. */
  readonly urls: readonly string[]
}

export async function insertLinks(tx: Queryable, emails: readonly EmailLinks[]): Promise<void> {
  await insertRows(tx, {
    name: 'sending.insert_link',
    into: 'sending_link',
    columns: ['tenant_id', 'ref_id', 'day', 'urls'],
    rows: emails.map(({ tenantId, refId, urls }) => [tenantId, refId, dayOfUlid(refId), urls]),
  })
}

const FIND_LINKS = statement(
  'sending.find_links',
  'select urls from sending_link where tenant_id = $1 and ref_id = $2 and day = $3',
)

/**
 * Where the tracked links of an email lead to, by their numbers: each as written in its HTML, entities
 * decoded, without the white space that browsers leave out. Never changes. Undefined when the email
 * has none, or is no longer kept.
 */
export async function findLinks(
  q: Queryable,
  { tenantId, refId }: Pick<TrackedRecipient, 'tenantId' | 'refId'>,
): Promise<readonly string[] | undefined> {
  const { rows } = await q.query<{ urls: string[] }>(FIND_LINKS, [
    tenantId,
    refId,
    dayOfUlid(refId),
  ])
  return rows[0]?.urls
}

/** What an event about one recipient's copy needs (interface §2.4). */
export interface TrackedCopy {
  /** As the caller wrote it. */
  readonly email: string
  /** Of its latest attempt: a rescue may have changed it. */
  readonly mailerId: string
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  readonly messageId: string
  readonly deliveredAt: Date | null
}

const FIND_COPY = statement(
  'sending.find_copy',
  `select r.email, e.custom_args as "customArgs", e.traceparent, r.message_id as "messageId",
          r.delivered_at as "deliveredAt",
          coalesce((select a.mailer_id from sending_attempt a
                     where a.tenant_id = $1 and a.ref_id = $2 and a.n = $3 and a.day = $4
                     order by a.attempt desc limit 1), e.mailer_id) as "mailerId"
     from sending_recipient r
     join sending_email e on e.tenant_id = $1 and e.ref_id = $2 and e.day = $4
    where r.tenant_id = $1 and r.ref_id = $2 and r.n = $3 and r.day = $4`,
)

/**
 * By primary keys. `mailerId` and `deliveredAt` may change while an attempt is under way, and by a
 * rescue; the rest never does. Undefined when there is no such recipient, or the email is no longer
 * kept.
 */
export async function findTrackedCopy(
  q: Queryable,
  { tenantId, refId, n }: TrackedRecipient,
): Promise<TrackedCopy | undefined> {
  const { rows } = await q.query<TrackedCopy>(FIND_COPY, [tenantId, refId, n, dayOfUlid(refId)])
  return rows[0]
}

/** SQL that reads what was reported of recipients, for the record of emails. Every statement names the tenant. */
import type { RelayKind } from '@postrider/contract'
import type { Classified } from '@postrider/mail'
import { type Queryable, statement } from '../platform/db/index.ts'
import type { RelayFactKind } from '../relays/index.ts'
import { type DatedRecipient, readBesideRecipients } from '../sending/index.ts'

export interface RecordedFact {
  readonly n: number
  readonly relay: RelayKind | null
  readonly kind: Exclude<RelayFactKind, 'other'>
  readonly type: string
  readonly at: Date
  readonly receivedAt: Date
  readonly reason: string
  readonly isHard: boolean | null
  readonly errorCode: string | null
  readonly numRetries: string | null
  /** Of a bounce; null for one of before it was kept. */
  readonly classified: Classified | null
}

/** Times of providers are whole seconds, in which a mail is taken, delivered and complained about. */
const WITHIN_A_SECOND = `case kind when 'processed' then 0 when 'deferred' then 1
  when 'delivered' then 2 else 3 end`

const FACTS_OF = statement(
  'feedback.facts_of',
  `select t.* from unnest($4::smallint[]) as k (n)
    cross join lateral (
      select n, relay, kind, type, reported_at as at, received_at as "receivedAt", reason,
             is_hard as "isHard", error_code as "errorCode", num_retries as "numRetries", classified, fact_id,
             ${WITHIN_A_SECOND} as rank
        from feedback_fact
       where tenant_id = $1 and ref_id = $2 and day = $3 and n = k.n
       order by reported_at desc, rank desc, fact_id desc limit $5) t
    order by t.n, t.at, t.rank, t.fact_id`,
)

/** Of each of an email's recipients the newest, oldest first. */
export async function readFactsOf(
  q: Queryable,
  tenantId: string,
  email: Pick<DatedRecipient, 'refId' | 'day'>,
  ns: readonly number[],
  limit: number,
): Promise<RecordedFact[]> {
  const values = [tenantId, email.refId, email.day, ns, limit]
  const { rows } = await q.query<RecordedFact>(FACTS_OF, values)
  return rows
}

export interface ReportedFlags {
  readonly hasComplained: boolean
  readonly isUnsubscribed: boolean
}

/** Of recipients of whom anything is true. */
export const { read: readFlags, walk: walkFlags } = readBesideRecipients<ReportedFlags>({
  table: 'feedback_recipient',
  columns: `complained_at is not null as "hasComplained",
    unsubscribed_at is not null as "isUnsubscribed"`,
  names: { read: 'feedback.flags_of', walk: 'feedback.walk_flags' },
})

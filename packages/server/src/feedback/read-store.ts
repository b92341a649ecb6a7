/** SQL that reads what was reported of recipients, for the record of emails. Every statement names the tenant. */
import type { RelayKind } from '@postrider/contract'
import type { Classified } from '@postrider/mail'
import { type Queryable, statement } from '../platform/db/index.ts'
import type { RelayFactKind } from '../relays/index.ts'

interface RecipientKey {
  readonly refId: string
  readonly n: number
  /** Of the email. */
  readonly day: string
}

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
  email: Pick<RecipientKey, 'refId' | 'day'>,
  ns: readonly number[],
  limit: number,
): Promise<RecordedFact[]> {
  const values = [tenantId, email.refId, email.day, ns, limit]
  const { rows } = await q.query<RecordedFact>(FACTS_OF, values)
  return rows
}

export interface ReportedFlags {
  readonly refId: string
  readonly n: number
  readonly hasComplained: boolean
  readonly isUnsubscribed: boolean
}

const FLAGS = `ref_id as "refId", n, complained_at is not null as "hasComplained",
  unsubscribed_at is not null as "isUnsubscribed"`

const FLAGS_OF = statement(
  'feedback.flags_of',
  `select t.* from unnest($2::text[], $3::smallint[], $4::date[]) as k (ref_id, n, day)
    cross join lateral (
      select ${FLAGS} from feedback_recipient
       where tenant_id = $1 and ref_id = k.ref_id and n = k.n and day = k.day
         and day between $5 and $6 limit 1) t`,
)

/** Of those of whom anything is true. */
export async function readFlags(
  q: Queryable,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<ReportedFlags[]> {
  const days = keys.map(({ day }) => day).sort()
  if (days.length === 0) return []
  const { rows } = await q.query<ReportedFlags>(FLAGS_OF, [
    tenantId,
    keys.map(({ refId }) => refId),
    keys.map(({ n }) => n),
    keys.map(({ day }) => day),
    days[0],
    days.at(-1),
  ])
  return rows
}

const WALK = statement(
  'feedback.walk_flags',
  `select ${FLAGS}, day from feedback_recipient
    where tenant_id = $1 and day between $2 and $3 and ref_id >= $4
      and (ref_id, n) < ($5, $6::smallint)
    order by ref_id desc, n desc limit $7`,
)

/** All of whom anything is true, in the order of the record, newest first. */
export async function walkFlags(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly days: { readonly from: string; readonly to: string }
    readonly refIdMin: string
    readonly below: { readonly refId: string; readonly n: number }
    readonly limit: number
  },
): Promise<(ReportedFlags & RecipientKey)[]> {
  const { tenantId, days, refIdMin, below, limit } = o
  const values = [tenantId, days.from, days.to, refIdMin, below.refId, below.n, limit]
  const { rows } = await q.query<ReportedFlags & RecipientKey>(WALK, values)
  return rows
}

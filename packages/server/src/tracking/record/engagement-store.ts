/** SQL that reads what recipients did, for the record of emails. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'

interface RecipientKey {
  readonly refId: string
  readonly n: number
  /** Of the email. */
  readonly day: string
}

export interface Engagement {
  readonly refId: string
  readonly n: number
  /** Of people, as far as they are known from robots. */
  readonly opens: number
  readonly clicks: number
  readonly isOpened: boolean
  readonly isClicked: boolean
  readonly isUnsubscribed: boolean
}

const FACTS = `ref_id as "refId", n, opens - bot_opens as opens, clicks - bot_clicks as clicks,
  opened_at is not null as "isOpened", clicked_at is not null as "isClicked",
  unsubscribed_at is not null as "isUnsubscribed"`

const OF_RECIPIENTS = statement(
  'tracking.engagement_of',
  `select t.* from unnest($2::text[], $3::smallint[], $4::date[]) as k (ref_id, n, day)
    cross join lateral (
      select ${FACTS} from tracking_recipient
       where tenant_id = $1 and ref_id = k.ref_id and n = k.n and day = k.day
         and day between $5 and $6 limit 1) t`,
)

/** Of those who did anything. */
export async function readEngagement(
  q: Queryable,
  tenantId: string,
  keys: readonly RecipientKey[],
): Promise<Engagement[]> {
  const days = keys.map(({ day }) => day).sort()
  if (days.length === 0) return []
  const { rows } = await q.query<Engagement>(OF_RECIPIENTS, [
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
  'tracking.walk_engagement',
  `select ${FACTS}, day from tracking_recipient
    where tenant_id = $1 and day between $2 and $3 and ref_id >= $4
      and (ref_id, n) < ($5, $6::smallint)
    order by ref_id desc, n desc limit $7`,
)

/** All who did anything, in the order of the record, newest first. */
export async function walkEngagement(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly days: { readonly from: string; readonly to: string }
    readonly refIdMin: string
    readonly below: { readonly refId: string; readonly n: number }
    readonly limit: number
  },
): Promise<(Engagement & RecipientKey)[]> {
  const { tenantId, days, refIdMin, below, limit } = o
  const values = [tenantId, days.from, days.to, refIdMin, below.refId, below.n, limit]
  const { rows } = await q.query<Engagement & RecipientKey>(WALK, values)
  return rows
}

export interface RecordedHit {
  readonly n: number
  readonly kind: 'open' | 'click' | 'unsubscribe'
  /** Of a click: the link's number. */
  readonly link: number | null
  readonly at: Date
  readonly ip: string
  readonly userAgent: string
  readonly bot: boolean
  readonly rule: string | null
}

const HITS_OF = statement(
  'tracking.hits_of',
  `select t.* from unnest($4::smallint[]) as k (n)
    cross join lateral (
      select n, kind, link, hit_at as at, ip, user_agent as "userAgent", bot, rule, hit_id
        from tracking_hit
       where tenant_id = $1 and ref_id = $2 and day = $3 and n = k.n
       order by hit_id desc limit $5) t
    order by t.hit_id`,
)

/** Of each of an email's recipients the newest, oldest first. */
export async function readHitsOf(
  q: Queryable,
  tenantId: string,
  email: Pick<RecipientKey, 'refId' | 'day'>,
  ns: readonly number[],
  limit: number,
): Promise<RecordedHit[]> {
  const values = [tenantId, email.refId, email.day, ns, limit]
  const { rows } = await q.query<RecordedHit>(HITS_OF, values)
  return rows
}

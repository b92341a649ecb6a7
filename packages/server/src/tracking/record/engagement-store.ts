/** SQL that reads what recipients did, for the record of emails. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import { type DatedRecipient, readBesideRecipients } from '../../sending/index.ts'

export interface Engagement {
  /** Of people, as far as they are known from robots. */
  readonly opens: number
  readonly clicks: number
  readonly isOpened: boolean
  readonly isClicked: boolean
  readonly isUnsubscribed: boolean
}

/** Of recipients who did anything. */
export const { read: readEngagement, walk: walkEngagement } = readBesideRecipients<Engagement>({
  table: 'tracking_recipient',
  columns: `opens - bot_opens as opens, clicks - bot_clicks as clicks,
    opened_at is not null as "isOpened", clicked_at is not null as "isClicked",
    unsubscribed_at is not null as "isUnsubscribed"`,
  names: { read: 'tracking.engagement_of', walk: 'tracking.walk_engagement' },
})

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
        from tracking_hits
       where tenant_id = $1 and ref_id = $2 and day = $3 and n = k.n
       order by hit_id desc limit $5) t
    order by t.hit_id`,
)

/** Of each of an email's recipients the newest, oldest first. */
export async function readHitsOf(
  q: Queryable,
  tenantId: string,
  email: Pick<DatedRecipient, 'refId' | 'day'>,
  ns: readonly number[],
  limit: number,
): Promise<RecordedHit[]> {
  const values = [tenantId, email.refId, email.day, ns, limit]
  const { rows } = await q.query<RecordedHit>(HITS_OF, values)
  return rows
}

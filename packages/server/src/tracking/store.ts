/** All SQL of tracking. Every statement names the tenant. */
import { formatMicros } from '../platform/clock.ts'
import { arrayText, insertRows, type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { dayOfUlid } from '../platform/ids.ts'
import type { Hit } from './hit.ts'
import type { Burst, JudgedHit } from './judge-hits.ts'

type Recipient = Pick<Hit, 'tenantId' | 'refId' | 'n'>

const FIND_BURSTS = statement(
  'tracking.find_bursts',
  `select w.i::int as i, t.burst_at as at, t.burst_links as links
     from unnest($1::text[], $2::text[], $3::int[], $4::date[]) with ordinality
       as w (tenant_id, ref_id, n, day, i)
    cross join lateral (
      select t.burst_at, t.burst_links from tracking_recipient t
       where t.tenant_id = w.tenant_id and t.ref_id = w.ref_id and t.n = w.n and t.day = w.day
       limit 1) t
    where t.burst_at is not null`,
)

/** The last clicks of recipients that came together, by their places among the given. */
export async function findBursts(
  q: Queryable,
  who: readonly Recipient[],
): Promise<ReadonlyMap<number, Burst>> {
  if (who.length === 0) return new Map()
  const places = who.map(placeOf)
  const { rows } = await q.query<{ i: number; at: Date; links: number[] }>(
    FIND_BURSTS,
    [0, 1, 2, 3].map((column) => arrayText(places.map((place) => place[column] ?? ''))),
  )
  return new Map(rows.map(({ i, at, links }) => [i - 1, { atMs: at.getTime(), links }]))
}

const HAS_HIT = statement(
  'tracking.has_hit',
  `select 1 from tracking_hit
    where tenant_id = $1 and ref_id = $2 and n = $3 and day = $4 and hit_id = $5`,
)

export async function hasHit(q: Queryable, hit: Hit): Promise<boolean> {
  const { rowCount } = await q.query(HAS_HIT, [...placeOf(hit), hit.hitId])
  return rowCount > 0
}

const COUNT_HITS = statement(
  'tracking.count_hits',
  `select count(*)::int as count from (
     select 1 from tracking_hit
      where tenant_id = $1 and ref_id = $2 and n = $3 and day = $4 and hit_id >= $5
        and kind = $6 and link is not distinct from $7
      limit $8) hits`,
)

/** Of one token since a time, up to a bound. */
export async function countHits(
  q: Queryable,
  hit: Hit,
  o: { readonly fromId: string; readonly max: number },
): Promise<number> {
  const values = [...placeOf(hit), o.fromId, hit.kind, linkOf(hit), o.max]
  const { rows } = await q.query<{ count: number }>(COUNT_HITS, values)
  return rows[0]?.count ?? 0
}

export async function insertHits(tx: Tx, judged: readonly JudgedHit[]): Promise<void> {
  await insertRows(tx, {
    name: 'tracking.insert_hit',
    into: 'tracking_hit',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'day',
      'hit_id',
      'kind',
      'link',
      'hit_at',
      'ip',
      'user_agent',
      'bot',
      'rule',
    ],
    rows: judged.map(({ hit, verdict }) => [
      ...placeOf(hit),
      hit.hitId,
      hit.kind,
      linkOf(hit),
      formatMicros(hit.atMicros),
      hit.ip,
      hit.userAgent,
      verdict.isBot,
      verdict.rule ?? null,
    ]),
  })
}

const FLAG_CLICKS = statement(
  'tracking.flag_clicks',
  `update tracking_hit set bot = true, rule = 'links_at_once'
    where tenant_id = $1 and ref_id = $2 and n = $3 and day = $4
      and kind = 'click' and not bot and hit_at >= $5`,
)

/** Clicks that were taken for a person's are a robot's. Answers how many. */
export async function flagClicks(tx: Tx, who: Recipient, fromMs: number): Promise<number> {
  const { rowCount } = await tx.query(FLAG_CLICKS, [...placeOf(who), new Date(fromMs)])
  return rowCount
}

/** What is to be added to the sums of one recipient. */
export interface Engagement extends Recipient {
  readonly opens: number
  readonly clicks: number
  readonly botOpens: number
  readonly botClicks: number
  /** The first of a person. */
  readonly openedAt: Date | null
  readonly clickedAt: Date | null
  readonly burst: Burst | undefined
}

/** `least` passes over null. Where all clicks turn out to be a robot's, no person has clicked. */
const ADD = `on conflict (tenant_id, ref_id, n, day) do update set
  opens = t.opens + excluded.opens,
  clicks = t.clicks + excluded.clicks,
  bot_opens = t.bot_opens + excluded.bot_opens,
  bot_clicks = t.bot_clicks + excluded.bot_clicks,
  opened_at = least(t.opened_at, excluded.opened_at),
  clicked_at = case when t.clicks + excluded.clicks > t.bot_clicks + excluded.bot_clicks
                    then least(t.clicked_at, excluded.clicked_at) end,
  burst_at = coalesce(excluded.burst_at, t.burst_at),
  burst_links = coalesce(excluded.burst_links, t.burst_links)`

/** Each recipient once, in an order that all groups share: two of them do not wait for each other. */
export async function addEngagements(tx: Tx, rows: readonly Engagement[]): Promise<void> {
  await insertRows(tx, {
    name: 'tracking.add_engagement',
    into: 'tracking_recipient as t',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'day',
      'opens',
      'clicks',
      'bot_opens',
      'bot_clicks',
      'opened_at',
      'clicked_at',
      'burst_at',
      'burst_links',
    ],
    rows: rows.map((row) => [
      ...placeOf(row),
      row.opens,
      row.clicks,
      row.botOpens,
      row.botClicks,
      row.openedAt,
      row.clickedAt,
      row.burst === undefined ? null : new Date(row.burst.atMs),
      row.burst?.links ?? null,
    ]),
    suffix: ADD,
  })
}

const MARK_UNSUBSCRIBED = statement(
  'tracking.mark_unsubscribed',
  `insert into tracking_recipient as t (tenant_id, ref_id, n, day, unsubscribed_at)
   values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, ref_id, n, day) do update set unsubscribed_at = excluded.unsubscribed_at
    where t.unsubscribed_at is null`,
)

/** False when it was before. */
export async function markUnsubscribed(tx: Tx, hit: Hit): Promise<boolean> {
  const { rowCount } = await tx.query(MARK_UNSUBSCRIBED, [
    ...placeOf(hit),
    formatMicros(hit.atMicros),
  ])
  return rowCount > 0
}

function placeOf({ tenantId, refId, n }: Recipient): [string, string, number, string] {
  return [tenantId, refId, n, dayOfUlid(refId)]
}

function linkOf({ kind, link }: Hit): number | null {
  return kind === 'click' ? link : null
}

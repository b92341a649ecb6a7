/** All SQL of tracking. Every statement names the tenant. */
import { formatMicros } from '../../platform/clock.ts'
import {
  arrayText,
  nullableArrayText,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../../platform/db/index.ts'
import { dayOfUlid, ulidAtTime } from '../../platform/ids.ts'
import type { Hit } from '../intake/hit.ts'
import { type Burst, type JudgedHit, millisOf, recipientKey } from '../intake/judge-hits.ts'

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
  const { rows } = await q.query<{ i: number; at: Date; links: number[] }>(FIND_BURSTS, keysOf(who))
  return new Map(rows.map(({ i, at, links }) => [i - 1, { atMs: at.getTime(), links }]))
}

const FIND_HITS = statement(
  'tracking.find_hits',
  `select t.hit_id as id
     from unnest($1::text[], $2::text[], $3::int[], $4::date[], $5::text[])
       as w (tenant_id, ref_id, n, day, hit_id)
    cross join lateral (
      select h.hit_id from tracking_hits h
       where h.tenant_id = w.tenant_id and h.ref_id = w.ref_id and h.n = w.n and h.day = w.day
         and h.hit_id = w.hit_id limit 1) t`,
)

/** The ids of those that are recorded. */
export async function findHits(q: Queryable, hits: readonly Hit[]): Promise<ReadonlySet<string>> {
  if (hits.length === 0) return new Set()
  const { rows } = await q.query<{ id: string }>(FIND_HITS, [
    ...keysOf(hits),
    arrayText(hits.map(({ hitId }) => hitId)),
  ])
  return new Set(rows.map(({ id }) => id))
}

const FIND_FULL = statement(
  'tracking.find_full',
  `select w.i::int as i
     from unnest($1::text[], $2::text[], $3::int[], $4::date[], $5::text[], $6::text[], $7::int[])
       with ordinality as w (tenant_id, ref_id, n, day, from_id, kind, link, i)
    cross join lateral (
      select count(*) as count from (
        select 1 from tracking_hits h
         where h.tenant_id = w.tenant_id and h.ref_id = w.ref_id and h.n = w.n and h.day = w.day
           and h.hit_id >= w.from_id and h.kind = w.kind and h.link is not distinct from w.link
         limit $8) hits) found
    where found.count >= $8`,
)

/** Of which tokens as many hits as that are recorded, within the time before each. */
export async function findFull(
  q: Queryable,
  hits: readonly Hit[],
  o: { readonly withinMs: number; readonly max: number },
): Promise<boolean[]> {
  const { rows } = await q.query<{ i: number }>(FIND_FULL, [
    ...keysOf(hits),
    arrayText(hits.map((hit) => ulidAtTime(millisOf(hit) - o.withinMs))),
    arrayText(hits.map(({ kind }) => kind)),
    nullableArrayText(hits.map(linkOf)),
    o.max,
  ])
  const full = new Set(rows.map(({ i }) => i - 1))
  return hits.map((_, i) => full.has(i))
}

const INSERT_HITS = statement(
  'tracking.insert_hits',
  `insert into tracking_hit
     (tenant_id, ref_id, n, day, hit_id, kind, link, hit_at, ip, user_agent, bot, rule)
   select * from unnest($1::text[], $2::text[], $3::smallint[], $4::date[], $5::text[], $6::text[],
     $7::integer[], $8::timestamptz[], $9::text[], $10::text[], $11::boolean[], $12::text[])`,
)

export async function insertHits(tx: Tx, judged: readonly JudgedHit[]): Promise<void> {
  if (judged.length === 0) return
  await tx.query(INSERT_HITS, [
    ...keysOf(judged.map(({ hit }) => hit)),
    arrayText(judged.map(({ hit }) => hit.hitId)),
    arrayText(judged.map(({ hit }) => hit.kind)),
    nullableArrayText(judged.map(({ hit }) => linkOf(hit))),
    arrayText(judged.map(({ hit }) => formatMicros(hit.atMicros))),
    textArray(judged.map(({ hit }) => hit.ip)),
    textArray(judged.map(({ hit }) => hit.userAgent)),
    arrayText(judged.map(({ verdict }) => verdict.isBot)),
    nullableArrayText(judged.map(({ verdict }) => verdict.rule ?? null)),
  ])
}

const FLAG_CLICKS = statement(
  'tracking.flag_clicks',
  `update tracking_hit set bot = true, rule = 'links_at_once'
    where tenant_id = $1 and ref_id = $2 and n = $3 and day = $4
      and kind = 'click' and not bot and hit_at >= $5 and hit_at < $6`,
)

/** Clicks that were taken for a person's are a robot's. Answers how many. */
export async function flagClicks(
  tx: Tx,
  who: Recipient,
  o: { readonly fromMs: number; readonly beforeMs: number },
): Promise<number> {
  const times = [new Date(o.fromMs), new Date(o.beforeMs)]
  const { rowCount } = await tx.query(FLAG_CLICKS, [...placeOf(who), ...times])
  return rowCount
}

/** What is to be added to the sums of one recipient. */
export interface AddedHits extends Recipient {
  readonly opens: number
  readonly clicks: number
  readonly botOpens: number
  readonly botClicks: number
  /** The first of a person, in microseconds. */
  readonly openedAt: bigint | undefined
  readonly clickedAt: bigint | undefined
  readonly burst: Burst | undefined
  /** The first open of them: where the recipient has no row yet, the row tells it. */
  readonly open: JudgedHit | undefined
}

/** `least` passes over null. Where all clicks turn out to be a robot's, no person has clicked. */
const ADD_ENGAGEMENTS = statement(
  'tracking.add_engagements',
  `insert into tracking_recipient as t
     (tenant_id, ref_id, n, day, opens, clicks, bot_opens, bot_clicks, opened_at, clicked_at,
      burst_at, burst_links, hit_id, hit_at, ip, user_agent, bot, rule)
   select a.tenant_id, a.ref_id, a.n, a.day, a.opens, a.clicks, a.bot_opens, a.bot_clicks,
          a.opened_at, a.clicked_at, a.burst_at, a.burst_links::integer[],
          a.hit_id, a.hit_at, a.ip, a.user_agent, a.bot, a.rule
     from unnest($1::text[], $2::text[], $3::smallint[], $4::date[], $5::integer[], $6::integer[],
            $7::integer[], $8::integer[], $9::timestamptz[], $10::timestamptz[],
            $11::timestamptz[], $12::text[], $13::text[], $14::timestamptz[], $15::text[],
            $16::text[], $17::boolean[], $18::text[])
       as a (tenant_id, ref_id, n, day, opens, clicks, bot_opens, bot_clicks, opened_at, clicked_at,
             burst_at, burst_links, hit_id, hit_at, ip, user_agent, bot, rule)
   on conflict (tenant_id, ref_id, n, day) do update set
     opens = t.opens + excluded.opens,
     clicks = t.clicks + excluded.clicks,
     bot_opens = t.bot_opens + excluded.bot_opens,
     bot_clicks = t.bot_clicks + excluded.bot_clicks,
     opened_at = least(t.opened_at, excluded.opened_at),
     clicked_at = case when t.clicks + excluded.clicks > t.bot_clicks + excluded.bot_clicks
                       then least(t.clicked_at, excluded.clicked_at) end,
     burst_at = coalesce(excluded.burst_at, t.burst_at),
     burst_links = coalesce(excluded.burst_links, t.burst_links)
   returning tenant_id as "tenantId", ref_id as "refId", n,
     opens - bot_opens as opens, clicks - bot_clicks as clicks, opens + clicks as hits,
     hit_id as "hitId"`,
)

/** What one recipient has done as a person, all in all. */
export interface PersonalSums extends Recipient {
  readonly opens: number
  readonly clicks: number
  /** Of robots too. */
  readonly hits: number
  /** Of the open that made the row. */
  readonly hitId: string | null
}

/**
 * Each recipient once, in an order that all groups share: two of them do not wait for each other. Answers
 * the sums that follow.
 */
export async function addEngagements(tx: Tx, added: readonly AddedHits[]): Promise<PersonalSums[]> {
  if (added.length === 0) return []
  const { rows } = await tx.query<PersonalSums>(ADD_ENGAGEMENTS, [
    ...keysOf(added),
    arrayText(added.map((row) => row.opens)),
    arrayText(added.map((row) => row.clicks)),
    arrayText(added.map((row) => row.botOpens)),
    arrayText(added.map((row) => row.botClicks)),
    nullableArrayText(added.map(({ openedAt }) => timeOf(openedAt))),
    nullableArrayText(added.map(({ clickedAt }) => timeOf(clickedAt))),
    nullableArrayText(added.map(({ burst }) => timeOf(burst && BigInt(burst.atMs) * 1000n))),
    textArray(added.map(({ burst }) => (burst === undefined ? null : `{${burst.links.join()}}`))),
    nullableArrayText(added.map(({ open }) => open?.hit.hitId ?? null)),
    nullableArrayText(added.map(({ open }) => timeOf(open?.hit.atMicros))),
    textArray(added.map(({ open }) => open?.hit.ip ?? null)),
    textArray(added.map(({ open }) => open?.hit.userAgent ?? null)),
    nullableArrayText(added.map(({ open }) => open?.verdict.isBot ?? null)),
    nullableArrayText(added.map(({ open }) => open?.verdict.rule ?? null)),
  ])
  return rows
}

/** Another has recorded the hit between the look and the write. */
export class RecordedMeanwhileError extends Error {
  override readonly name = 'RecordedMeanwhileError'
}

/** Those that are not told by the rows that were made by them just now. */
export function withoutMakers(
  judged: readonly JudgedHit[],
  added: readonly AddedHits[],
  sums: readonly PersonalSums[],
): JudgedHit[] {
  const rows = new Map(sums.map((row) => [recipientKey(row), row]))
  const makers = new Set(
    added.flatMap(({ open, opens, clicks }) => {
      if (open === undefined) return []
      const row = rows.get(open.key)
      // A row that was there before has more.
      const isMadeByIt = row?.hitId === open.hit.hitId && row.hits === opens + clicks
      return isMadeByIt ? [open] : []
    }),
  )
  const others = judged.filter((one) => !makers.has(one))
  if (others.some(({ hit, key }) => rows.get(key)?.hitId === hit.hitId))
    throw new RecordedMeanwhileError('a hit is there already')
  return others
}

function timeOf(micros: bigint | undefined): string | null {
  return micros === undefined ? null : formatMicros(micros)
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

/** By column. */
function keysOf(who: readonly Recipient[]): [string, string, string, string] {
  return [
    arrayText(who.map(({ tenantId }) => tenantId)),
    arrayText(who.map(({ refId }) => refId)),
    arrayText(who.map(({ n }) => n)),
    arrayText(who.map(({ refId }) => dayOfUlid(refId))),
  ]
}

function placeOf({ tenantId, refId, n }: Recipient): [string, string, number, string] {
  return [tenantId, refId, n, dayOfUlid(refId)]
}

function linkOf({ kind, link }: Hit): number | null {
  return kind === 'click' ? link : null
}

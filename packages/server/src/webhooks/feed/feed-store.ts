/**
 * SQL of the order of commits: marks, and the events between two of them. A look names the tenants whose
 * streams are open here; a mark belongs to no tenant, as the order is one for all.
 */
import {
  arrayText,
  type Db,
  type Queryable,
  readInOrder,
  statement,
  textArray,
} from '../../platform/db/index.ts'
import { OCTETS } from '../events/short-body.ts'
import type { LogKey } from '../log/log-store.ts'
import { parseSnapshot, rangesBetween, type Snapshot } from './snapshot.ts'

export interface Mark {
  /** 0: before the first. */
  readonly seq: number
  /** Undefined: it sees nothing. */
  readonly snapshot: Snapshot | undefined
}

export interface FeedPlace {
  readonly xact: bigint
  readonly eventId: string
}

export interface FeedKey extends LogKey, FeedPlace {
  /** '': the tenant. */
  readonly owner: string
}

interface MarkRow {
  readonly seq: string
  readonly snapshot: string
}

const toMark = ({ seq, snapshot }: MarkRow) => ({
  seq: Number(seq),
  snapshot: parseSnapshot(snapshot),
})
export type MadeMark = ReturnType<typeof toMark>

const LAST_MARK = statement(
  'webhooks.last_mark',
  `select pg_current_snapshot()::text as current, last.seq, last.snapshot, own.snapshot as own
     from (select 1) one
     left join lateral (
       select seq, snapshot::text as snapshot from webhooks_event_mark
        order by seq desc limit 1) last on true
     left join lateral (
       select snapshot::text as snapshot from webhooks_event_mark where seq = $1) own on true`,
)

/** `own`: the mark of that number as it is stored now. */
export async function readLastMark(q: Queryable, seq: number) {
  const { rows } = await q.query<{
    current: string
    seq: string | null
    snapshot: string | null
    own: string | null
  }>(LAST_MARK, [seq])
  const row = rows[0]
  if (row === undefined) throw new Error('one row is always there')
  const last: Mark =
    row.seq === null || row.snapshot === null
      ? { seq: 0, snapshot: undefined }
      : toMark({ seq: row.seq, snapshot: row.snapshot })
  return { current: parseSnapshot(row.current), last, own: row.own }
}

const MARKS_AFTER = statement(
  'webhooks.marks_after',
  `select seq, snapshot::text as snapshot from webhooks_event_mark
    where seq > $1 order by seq limit $2`,
)

export async function readMarksAfter(
  q: Queryable,
  seq: number,
  limit: number,
): Promise<MadeMark[]> {
  const { rows } = await q.query<MarkRow>(MARKS_AFTER, [seq, limit])
  return rows.map(toMark)
}

/** Longer than what streams go back, by what clocks may differ. */
const ADD_MARK = statement(
  'webhooks.add_mark',
  `with gone as (
     delete from webhooks_event_mark where seq in (
       select seq from webhooks_event_mark
        where made_at < now() - interval '25 hours' and seq < $1 - 100
        order by seq limit 20 for update skip locked))
   insert into webhooks_event_mark (seq, snapshot) values ($1, $2::text::pg_snapshot)
   on conflict do nothing`,
)

/** False: another process has made that mark. */
export async function addMark(q: Queryable, seq: number, snapshot: Snapshot): Promise<boolean> {
  return (await q.query(ADD_MARK, [seq, snapshot.text])).rowCount === 1
}

const KEY = `tenant_id as "tenantId", event_id as "eventId", day, event, ref_id as "refId",
  ${OCTETS} as octets, owner, xact`
const BETWEEN = `xact between range.first and range.last
  and pg_visible_in_snapshot(xact, $5::text::pg_snapshot)
  and ($4::text is null or not pg_visible_in_snapshot(xact, $4::text::pg_snapshot))
  and (xact, event_id) > ($6::text::xid8, $7) and event_id >= $8`
const RANGES = 'unnest($2::text[]::xid8[], $3::text[]::xid8[]) as range (first, last)'

/**
 * An event that is not late has the day of its id or one beside it, and no stream goes back further than
 * a day. Each look into an index ends with the page: what many tenants have at once is sorted.
 */
const READ_KEYS = statement(
  'webhooks.read_feed_keys',
  `select k.* from (
     select prompt.* from unnest($1::text[]) as tenant (id) cross join ${RANGES}
      cross join lateral (
        select ${KEY} from webhooks_event
         where tenant_id = tenant.id and not is_late
           and day between current_date - 2 and current_date + 1 and ${BETWEEN}
         order by xact, event_id limit $9) prompt
     union all
     select late.* from ${RANGES}
      cross join lateral (
        select ${KEY} from webhooks_event
         where is_late and tenant_id = any($1::text[]) and ${BETWEEN}
         order by xact, event_id limit $9) late) k
   order by k.xact, k."eventId" limit $9`,
)

/**
 * Without it all that lies between two marks is sorted for each page; and the plan, over all days, is made
 * once for a connection: to make it costs ten times as much as to run it.
 */
const PLAN_FEED = statement(
  'webhooks.plan_feed',
  `select set_config('enable_sort', 'off', true),
          set_config('plan_cache_mode', 'force_generic_plan', true)`,
)

export const fromTheFirst: FeedPlace = { xact: 0n, eventId: '' }

export interface FeedLook {
  readonly tenantIds: readonly string[]
  readonly earlier: Snapshot | undefined
  readonly later: Snapshot
  /** Behind this one. */
  readonly after: FeedPlace
  /** No id below this one. */
  readonly idMin: string
  readonly limit: number
}

/** In the order of the feed. */
export async function readFeedKeys(db: Db, o: FeedLook): Promise<FeedKey[]> {
  const ranges = rangesBetween(o.earlier, o.later, o.after.xact)
  if (ranges.length === 0 || o.tenantIds.length === 0) return []
  const { rows } = await readInOrder(db, async (tx) => {
    const [, read] = await Promise.all([
      tx.query(PLAN_FEED),
      tx.query<Omit<FeedKey, 'xact'> & { xact: string }>(READ_KEYS, [
        textArray(o.tenantIds),
        arrayText(ranges.map(({ first }) => String(first))),
        arrayText(ranges.map(({ last }) => String(last))),
        o.earlier?.text ?? null,
        o.later.text,
        String(o.after.xact),
        o.after.eventId,
        o.idMin,
        o.limit,
      ]),
    ])
    return read
  })
  return rows.map((row) => ({ ...row, xact: BigInt(row.xact) }))
}

const LOCATE = statement(
  'webhooks.locate_event',
  'select xact from webhooks_event where tenant_id = $1 and event_id = $2 limit 1',
)

export async function locateEvent(
  q: Queryable,
  tenantId: string,
  eventId: string,
): Promise<FeedPlace | undefined> {
  const { rows } = await q.query<{ xact: string }>(LOCATE, [tenantId, eventId])
  return rows[0] === undefined ? undefined : { xact: BigInt(rows[0].xact), eventId }
}

const MARK_BEFORE_EVENT = statement(
  'webhooks.mark_before_event',
  `select before.seq, before.snapshot::text as snapshot
     from (select seq from webhooks_event_mark
            where made_at >= $2 and pg_visible_in_snapshot($1::text::xid8, snapshot)
            order by made_at, seq limit 1) first
    cross join lateral (
      select seq, snapshot from webhooks_event_mark
       where seq < first.seq order by seq desc limit 1) before`,
)

/** The last mark that does not see the transaction; no mark is looked at that is older than `since`. */
export async function readMarkBefore(q: Queryable, xact: bigint, since: Date): Promise<Mark> {
  const { rows } = await q.query<MarkRow>(MARK_BEFORE_EVENT, [String(xact), since])
  return rows[0] === undefined ? { seq: 0, snapshot: undefined } : toMark(rows[0])
}

const MARK_AT = statement(
  'webhooks.mark_at',
  `select seq, snapshot::text as snapshot from webhooks_event_mark
    where made_at <= $1 order by made_at desc, seq desc limit 1`,
)

/** The last that is not younger. */
export async function readMarkAt(q: Queryable, at: Date): Promise<Mark> {
  const { rows } = await q.query<MarkRow>(MARK_AT, [at])
  return rows[0] === undefined ? { seq: 0, snapshot: undefined } : toMark(rows[0])
}

/**
 * SQL that reads the record of deliveries: open ones (webhooks_open) and settled ones
 * (webhooks_delivery) as one list.
 *
 * A delivery changes from the one table to the other in one transaction and keeps its id. So a page
 * is one statement over both, which sees it in exactly one of them, and the id is its place in the
 * list for good: what is settled between two pages is neither missed nor shown twice.
 *
 * Every statement reads a bounded number of rows by index, whatever the tables hold. Those that
 * loop over ids are lateral, each with a limit of its own, so that no plan scans a whole table.
 */
import type { EventName, WebhookDeliveryFilter, WebhookDeliveryStatus } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import { EVENT_AT_TEXT, OCTETS, type RowOfBody, readBody } from '../events/short-body.ts'
import { rangeOfDays } from './range-of-days.ts'

/** A row of webhooks_attempt, or the last attempt as a settled delivery holds it. */
export interface RecordedAttempt {
  readonly attempt: number
  readonly at: Date | string
  readonly duration_ms: number
  readonly status: number | null
  readonly error: string | null
  readonly response: string | null
  readonly timings: {
    readonly dnsMs?: number
    readonly connectMs?: number
    readonly tlsMs?: number
    readonly firstByteMs?: number
    readonly totalMs: number
  } | null
  readonly header_names: readonly string[]
}

export interface RecordedDelivery {
  readonly deliveryId: string
  /** Of the id: where its attempts are. */
  readonly day: string
  readonly webhookId: string
  readonly status: WebhookDeliveryStatus
  readonly eventIds: readonly string[]
  readonly eventDays: readonly string[]
  /** Requests that were made. */
  readonly attempts: number
  readonly nextAttemptAt: Date | null
  readonly finishedAt: Date | null
  readonly dividedInto: readonly string[] | null
  readonly lastAttempt: RecordedAttempt | null
}

const OPEN = `delivery_id, day, webhook_id, status, event_ids, event_days, attempts,
  next_attempt_at, null::timestamptz as finished_at, null::text[] as divided_into,
  null::json as last_attempt`
const SETTLED = `delivery_id, day, webhook_id, status, event_ids, event_days, attempts,
  null::timestamptz as next_attempt_at, finished_at, divided_into, last_attempt`
const DELIVERY = `delivery_id as "deliveryId", day, webhook_id as "webhookId", status,
  event_ids as "eventIds", event_days::text[] as "eventDays", attempts,
  next_attempt_at as "nextAttemptAt", finished_at as "finishedAt",
  divided_into as "dividedInto", last_attempt as "lastAttempt"`

export interface PageBounds {
  /** Deliveries, and events in them, that are looked at. */
  readonly rowsMax: number
  readonly membersMax: number
  /** Of the page: its events, and ten for each attempt that is shown of them. */
  readonly weightMax: number
}

export interface PageRequest extends PageBounds {
  readonly tenantId: string
  /** Ids from the one up to, not including, the other, and the days of both. */
  readonly ids: { readonly from: string; readonly before: string }
  readonly days: { readonly from: string; readonly to: string }
  readonly status: WebhookDeliveryFilter | undefined
  readonly webhookId: string | undefined
  readonly event: EventName | undefined
  /** Of an email, or of a received message. */
  readonly refId: string | undefined
  /**
   * The events of `refId`: settled deliveries are found through them. Undefined when they are too
   * many for that; then the events of each delivery are looked at.
   */
  readonly eventsOfEmail: readonly EventKey[] | undefined
  readonly pageSize: number
  readonly attemptsShown: number
}

/** An event, and no day before which it can have been delivered. */
export interface EventKey {
  readonly eventId: string
  readonly notBefore: string
}

export interface RecordedPage {
  readonly deliveries: readonly RecordedDelivery[]
  /** Where the next page begins, below this id; undefined: there is none. */
  readonly nextBefore: string | undefined
}

/** What `status` may be that finds open deliveries alone. */
const OPEN_STATUSES: ReadonlySet<string> = new Set(['open', 'pending', 'retrying', 'parked'])
const RARE_STATUSES: ReadonlySet<string> = new Set(['exhausted', 'discarded'])

/** Few are, beside those that were delivered: they have an index of their own. */
export function isRareStatus(status: WebhookDeliveryFilter): boolean {
  return RARE_STATUSES.has(status)
}

interface PageRow extends RecordedDelivery {
  readonly reached: string | null
  readonly is_all: boolean
  readonly found: number
}

/** Newest first. Fewer than `pageSize` when a bound is met first. */
export async function readPageOfDeliveries(q: Queryable, o: PageRequest): Promise<RecordedPage> {
  const values: unknown[] = []
  const text = pageStatement(o, (value) => `$${values.push(value)}`)
  const { rows } = await q.query<PageRow>(text, values)
  // Without a match there is one row, which tells how far was looked.
  const deliveries = rows.filter((row) => row.deliveryId !== null)
  const reach = rows[0]
  const isCut = (reach?.found ?? 0) > deliveries.length
  if (isCut) return { deliveries, nextBefore: deliveries.at(-1)?.deliveryId }
  return {
    deliveries,
    nextBefore: reach?.is_all === false ? (reach.reached ?? undefined) : undefined,
  }
}

type Parameter = (value: unknown) => string

function pageStatement(o: PageRequest, $: Parameter): string {
  const rowsMax = $(o.rowsMax)
  const membersMax = $(o.membersMax)
  return `
    with candidates as (${sourcesOf(o, rowsMax, $).join(' union all ')}),
    looked_at as materialized (
      select * from (
        select *, count(*) over () as total, row_number() over newest as nth,
               sum(cardinality(event_ids)) over newest as members
          from candidates window newest as (order by delivery_id desc)) numbered
       where nth <= ${rowsMax} and (nth = 1 or members <= ${membersMax})),
    found as materialized (
      select *, row_number() over newest as place,
             sum(cardinality(event_ids) + 10 * least(attempts, ${$(o.attemptsShown)}))
               over newest as weight
        from looked_at where ${filtersOf(o, $).join(' and ')}
      window newest as (order by delivery_id desc))
    select reach.*, page.*
      from (select min(delivery_id) as reached, (select count(*)::integer from found) as found,
                   coalesce(max(total), 0) < ${rowsMax} and count(*) = coalesce(max(total), 0) as is_all
              from looked_at) reach
      left join (
        select ${DELIVERY} from found
         where place <= ${$(o.pageSize)} and (place = 1 or weight <= ${$(o.weightMax)})) page on true
     order by page."deliveryId" desc`
}

/**
 * The settled deliveries that carried an event. An event is in few of them, which the index over the lists finds:
 * `offset 0` keeps the tenant out of it, or the planner might walk all that the tenant ever had.
 */
export const carriersOf = (eventId: string, notBefore: string) => `(
  select tenant_id, delivery_id, day, status from webhooks_delivery
   where event_ids @> array[${eventId}] and day >= ${notBefore} offset 0)`

function sourcesOf(o: PageRequest, rowsMax: string, $: Parameter): string[] {
  const tenant = $(o.tenantId)
  const ids = `delivery_id >= ${$(o.ids.from)} and delivery_id < ${$(o.ids.before)}`
  const newest = `order by delivery_id desc limit ${rowsMax}`
  const isOpenWanted = o.status === undefined || OPEN_STATUSES.has(o.status)
  const isSettledWanted = o.status === undefined || !OPEN_STATUSES.has(o.status)
  const sources: string[] = []
  if (isOpenWanted)
    sources.push(
      `(select ${OPEN} from webhooks_open where tenant_id = ${tenant} and ${ids} ${newest})`,
    )
  if (!isSettledWanted) return sources
  const days = `day >= ${$(o.days.from)} and day <= ${$(o.days.to)}`
  if (o.eventsOfEmail === undefined) {
    const isRare = o.status !== undefined && isRareStatus(o.status)
    const rare = isRare ? `and status = ${$(o.status)} and status <> 'delivered'` : ''
    sources.push(`(select ${SETTLED} from webhooks_delivery
      where tenant_id = ${tenant} and ${ids} and ${days} ${rare} ${newest})`)
    return sources
  }
  sources.push(`(select settled.* from (
      select distinct carrier.delivery_id, carrier.day
        from unnest(${$(o.eventsOfEmail.map((event) => event.eventId))}::text[],
                    ${$(o.eventsOfEmail.map((event) => event.notBefore))}::date[])
               as e (event_id, not_before)
       cross join lateral ${carriersOf('e.event_id', 'e.not_before')} carrier
       where carrier.tenant_id = ${tenant} and ${ids} and ${days}
       order by carrier.delivery_id desc limit ${rowsMax}) carrier
     cross join lateral (
       select ${SETTLED} from webhooks_delivery
        where tenant_id = ${tenant} and delivery_id = carrier.delivery_id and day = carrier.day
        limit 1) settled)`)
  return sources
}

function filtersOf(o: PageRequest, $: Parameter): string[] {
  const filters = ['true']
  if (o.status !== undefined && o.status !== 'open') filters.push(`status = ${$(o.status)}`)
  if (o.webhookId !== undefined) filters.push(`webhook_id = ${$(o.webhookId)}`)
  if (o.eventsOfEmail !== undefined) {
    // Settled ones were found through them.
    const ids = $(o.eventsOfEmail.map((event) => event.eventId))
    filters.push(`(finished_at is not null
      or exists (select from unnest(event_ids) as member where member = any(${ids}::text[])))`)
    return filters
  }
  const wanted: string[] = []
  if (o.event !== undefined) wanted.push(`e.event = ${$(o.event)}`)
  if (o.refId !== undefined) wanted.push(`e.ref_id = ${$(o.refId)}`)
  if (wanted.length > 0)
    filters.push(`exists (
      select from unnest(event_ids, event_days) as member (event_id, day)
       cross join lateral (
         select event, ref_id from webhooks_event
          where tenant_id = ${$(o.tenantId)} and event_id = member.event_id and day = member.day
          limit 1) e
       where ${wanted.join(' and ')})`)
  return filters
}

/** Ids of the events of an email or a received message, at most `limit`. */
export async function eventIdsOfEmail(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly refId: string
    readonly event: EventName | undefined
    /** No event of it is older. */
    readonly notBefore: string
    readonly limit: number
  },
): Promise<string[]> {
  const { rows } = await q.query<{ event_id: string }>(
    `select event_id from webhooks_event
      where tenant_id = $1 and ref_id = $2 and day >= $3 ${o.event === undefined ? '' : 'and event = $5'}
      limit $4`,
    [o.tenantId, o.refId, o.notBefore, o.limit, ...(o.event === undefined ? [] : [o.event])],
  )
  return rows.map((row) => row.event_id)
}

const FIND = `
  select ${DELIVERY} from (
    select ${OPEN} from webhooks_open where tenant_id = $1 and delivery_id = $2
    union all
    select ${SETTLED} from webhooks_delivery
     where tenant_id = $1 and delivery_id = $2 and day = $3) delivery`

export async function findDelivery(
  q: Queryable,
  o: { readonly tenantId: string; readonly deliveryId: string; readonly day: string },
): Promise<RecordedDelivery | undefined> {
  const { rows } = await q.query<RecordedDelivery>(FIND, [o.tenantId, o.deliveryId, o.day])
  return rows[0]
}

const MODE = `
  select coalesce(
    (select mode from webhooks_delivery where tenant_id = $1 and delivery_id = $2 and day = $3),
    (select mode from webhooks_stream where tenant_id = $1 and webhook_id = $4)) as mode`

/** How its events are written into a body; undefined when its stream is gone before it is settled. */
export async function findMode(
  q: Queryable,
  tenantId: string,
  d: Pick<RecordedDelivery, 'deliveryId' | 'day' | 'webhookId'>,
): Promise<'array' | 'single' | undefined> {
  const { rows } = await q.query<{ mode: 'array' | 'single' | null }>(MODE, [
    tenantId,
    d.deliveryId,
    d.day,
    d.webhookId,
  ])
  return rows[0]?.mode ?? undefined
}

/** Where webhooks send to now, by id; of those that were deleted there is nothing. */
export async function readWebhookUrls(
  q: Queryable,
  tenantId: string,
  deliveries: readonly Pick<RecordedDelivery, 'webhookId'>[],
): Promise<Map<string, string>> {
  const ids = [...new Set(deliveries.map(({ webhookId }) => webhookId))]
  const { rows } = await q.query<{ webhook_id: string; url: string }>(
    'select webhook_id, url from webhooks_subscription where tenant_id = $1 and webhook_id = any($2)',
    [tenantId, ids],
  )
  return new Map(rows.map(({ webhook_id: id, url }) => [id, url]))
}

export interface MemberEvent {
  readonly eventId: string
  readonly event: EventName
  /** Of its email or received message; '' for an event of neither. */
  readonly refId: string
  /** RFC 3339 with microseconds. */
  readonly eventAt: string
  /** 0 for events without an attempt number. */
  readonly attempt: number
}

type Frozen = Pick<RecordedDelivery, 'eventIds' | 'eventDays'>

/** The events of these deliveries that are still in the log, by id. */
export async function readMembers(
  q: Queryable,
  tenantId: string,
  deliveries: readonly Frozen[],
): Promise<Map<string, MemberEvent>> {
  const { rows } = await q.query<MemberEvent>(MEMBERS, memberValues(tenantId, deliveries))
  return new Map(rows.map((row) => [row.eventId, row]))
}

/**
 * What is sent of each, in the order of the delivery; null for those that stand wholly behind the first
 * `octetsMax`, and of the last one before them no more than so many characters. The length of a text is
 * known without reading it.
 */
const BODIES = `
  with member as materialized (
    select given.n, given.event_id, given.day,
           sum(e.octets) over (order by given.n) - e.octets as before
      from unnest($2::text[], $3::date[]) with ordinality as given (event_id, day, n)
     cross join lateral (
       select ${OCTETS} as octets from webhooks_event
        where tenant_id = $1 and event_id = given.event_id and day = given.day
          and day between $4 and $5 limit 1) e)
  select shown.*
    from member
    left join lateral (
      select octets, left(body, $6) as body, ref_id as "refId", ${EVENT_AT_TEXT} as "eventAt"
        from webhooks_event
       where tenant_id = $1 and event_id = member.event_id and day = member.day
         and day between $4 and $5 and member.before < $6 limit 1) shown on true
   order by member.n`

/** Those of one delivery that are still in the log. */
export async function readBodies(
  q: Queryable,
  tenantId: string,
  delivery: Frozen,
  octetsMax: number,
): Promise<(string | null)[]> {
  const values = [...memberValues(tenantId, [delivery]), octetsMax]
  const { rows } = await q.query<RowOfBody | { body: null }>(BODIES, values)
  return rows.map((row) => (row.body === null ? null : readBody(row)))
}

/**
 * The range of the days too: partitions beyond it are not even opened. Not as a list, which without
 * statistics makes the key by email look cheaper than the one by id, and reads a tenant's whole day.
 */
const MEMBERS = `
  select member.event_id as "eventId", e.event, e.ref_id as "refId", e.attempt,
         to_char(e.event_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "eventAt"
    from unnest($2::text[], $3::date[]) as member (event_id, day)
   cross join lateral (
     select event, ref_id, event_at, attempt from webhooks_event
      where tenant_id = $1 and event_id = member.event_id and day = member.day
        and day between $4 and $5 limit 1) e`

function memberValues(tenantId: string, deliveries: readonly Frozen[]): unknown[] {
  const days = deliveries.flatMap((delivery) => delivery.eventDays)
  return [tenantId, deliveries.flatMap((d) => d.eventIds), days, ...rangeOfDays(days)]
}

const ATTEMPTS = `
  select d.delivery_id as "deliveryId", a.*
    from unnest($2::text[], $3::date[], $4::integer[]) as d (delivery_id, day, attempts)
   cross join lateral (
     select attempt, at, duration_ms, status, error, response, timings, header_names
       from webhooks_attempt
      where tenant_id = $1 and delivery_id = d.delivery_id and day = d.day
        and attempt <= d.attempts and day between $5 and $6
      order by attempt desc limit $7) a
   order by d.delivery_id, a.attempt`

/**
 * By delivery, oldest first; of more than `limit` the newest. What was tried after the delivery was
 * read is left out. The attempt that settled a delivery is in its row.
 */
export async function readAttempts(
  q: Queryable,
  tenantId: string,
  deliveries: readonly RecordedDelivery[],
  limit: number,
): Promise<Map<string, RecordedAttempt[]>> {
  const days = deliveries.map((d) => d.day)
  const { rows } = await q.query<RecordedAttempt & { deliveryId: string }>(ATTEMPTS, [
    tenantId,
    deliveries.map((d) => d.deliveryId),
    days,
    deliveries.map((d) => d.attempts),
    ...rangeOfDays(days),
    limit,
  ])
  const attempts = new Map<string, RecordedAttempt[]>()
  for (const row of rows)
    attempts.set(row.deliveryId, [...(attempts.get(row.deliveryId) ?? []), row])
  for (const { deliveryId, lastAttempt } of deliveries)
    if (lastAttempt !== null)
      attempts.set(deliveryId, [...(attempts.get(deliveryId) ?? []), lastAttempt].slice(-limit))
  return attempts
}

/**
 * SQL of replay: which recorded events a selection means, and their way back into the queue.
 *
 * Whether an event may be queued is judged and acted on in one statement: that sees the event in
 * the queue, in an open delivery or in neither, never on its way between the two. Against another
 * replay, which could queue it and see it taken meanwhile, there is a lock for each tenant.
 */
import type { EventName } from '@postrider/contract'
import { formatMicros } from '../../platform/clock.ts'
import type { Queryable, Tx } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { dayAt, type TimeSpan } from '../../platform/values/date-time.ts'
import { OCTETS } from '../events/short-body.ts'
import type { SubscriptionEvent, Toggles } from '../subscriptions/subscription.ts'
import { rangeOfDays } from './range-of-days.ts'
import { carriersOf } from './record-store.ts'

export interface EventRef {
  readonly eventId: string
  readonly day: string
}

/** What applies to every event of a selection. */
export interface ReplayFilter {
  readonly tenantId: string
  readonly names: readonly EventName[]
  readonly span: TimeSpan
  readonly isUndelivered: boolean
  /** Only what goes to these webhooks; undefined: to any. */
  readonly webhookIds: readonly string[] | undefined
}

/** Where the events are looked for: each in the order of an index. */
export type ReplaySource =
  /** Of one email or received message: by event, then by time. None of them is kept under a day before that one. */
  | { readonly kind: 'email'; readonly refId: string; readonly notBefore: string }
  /** Not late: by id. */
  | { readonly kind: 'prompt' }
  /** Late: by the time at which they happened. */
  | { readonly kind: 'late' }

/** The last event that was looked at. */
export interface ReplayPlace {
  readonly event: string
  readonly event_at: string
  readonly attempt: number
  readonly event_id: string
}

export interface ReplayPart {
  /** Those that have an active webhook, and are neither queued for it nor in an open delivery. */
  readonly events: readonly EventRef[]
  /** How many of them go where. */
  readonly perWebhook: Readonly<Record<string, number>>
  /** Of all that the selection means: how the webhooks stand that they would go to. */
  readonly destinations: readonly DestinationState[]
  readonly lookedAt: number
  /** The next part begins behind it; undefined: nothing was looked at. */
  readonly last: ReplayPlace | undefined
}

export type DestinationState = 'active' | 'inactive' | 'absent'

interface PartRow {
  readonly event_ids: string[]
  readonly days: string[]
  readonly per_webhook: Record<string, number>
  readonly destinations: DestinationState[]
  readonly looked_at: number
  readonly last: ReplayPlace | null
}

type Parameter = (value: unknown) => string

/** Looks at up to `limit` events of the source, behind those that were looked at before. */
export async function findReplayable(
  tx: Tx,
  filter: ReplayFilter,
  source: ReplaySource,
  o: { readonly after: ReplayPlace | undefined; readonly limit: number },
): Promise<ReplayPart> {
  const values: unknown[] = []
  const $: Parameter = (value) => `$${values.push(value)}`
  const order = ORDER[source.kind]
  const lastFirst = order.map((column) => `${column} desc`)
  const { rows } = await tx.query<PartRow>(
    `with recorded as materialized (
       select ${RECORDED} from webhooks_event
        where ${conditionsOf(source, filter, o.after, $).join(' and ')}
        order by ${order.join(', ')} limit ${$(o.limit)}),
          ${replayable(filter, $)}
     select coalesce(array_agg(event_id), '{}') as event_ids,
            coalesce(array_agg(day::text), '{}') as days,
            (select coalesce(json_object_agg(webhook_id, events), '{}')
               from (select webhook_id, count(*) as events from found group by webhook_id) counted)
              as per_webhook,
            (select coalesce(array_agg(distinct case when active then 'active'
                      when webhook_id is null then 'absent' else 'inactive' end), '{}')
               from matching) as destinations,
            (select count(*)::integer from recorded) as looked_at,
            (select row_to_json(place) from (
               select event, event_at, attempt, event_id from recorded
                order by ${lastFirst.join(', ')} limit 1) place) as last
       from found`,
    values,
  )
  const row = rows[0]
  if (row === undefined) throw new Error('an aggregate has one row')
  return {
    events: row.event_ids.map((eventId, i) => ({ eventId, day: row.days[i] ?? '' })),
    perWebhook: row.per_webhook,
    destinations: row.destinations,
    lookedAt: row.looked_at,
    last: row.last ?? undefined,
  }
}

const RECORDED = `event_id, day, event, owner, event_at, attempt, is_late, ${OCTETS} as bytes`

const ORDER = {
  email: ['event', 'event_at', 'attempt', 'event_id'],
  prompt: ['event_id'],
  late: ['event_at', 'event_id'],
} as const satisfies Record<ReplaySource['kind'], readonly (keyof ReplayPlace)[]>

function conditionsOf(
  source: ReplaySource,
  { tenantId, span, names }: ReplayFilter,
  after: ReplayPlace | undefined,
  $: Parameter,
): string[] {
  const conditions = [`tenant_id = ${$(tenantId)}`]
  if (source.kind === 'email')
    conditions.push(
      `ref_id = ${$(source.refId)}`,
      `event = any(${$(names)})`,
      `day >= ${$(source.notBefore)}`,
    )
  if (source.kind === 'late')
    conditions.push(
      'is_late',
      `event_at >= ${$(after?.event_at ?? formatMicros(span.from))}`,
      `event_at < ${$(formatMicros(span.to))}`,
    )
  if (source.kind === 'prompt') conditions.push(...idsAround(span, $))
  if (after !== undefined) {
    const columns = ORDER[source.kind]
    const values = columns.map((column) => $(after[column]))
    conditions.push(`(${columns.join(', ')}) > (${values.join(', ')})`)
  }
  return conditions
}

/** The day is that of event_at, or of the recording where the log had no such day. */
function idsAround(span: TimeSpan, $: Parameter): string[] {
  const firstMs = Number(span.from / 1000n) - PROMPT_MS
  const lastMs = Number(span.to / 1000n) + PROMPT_MS
  const first = `evt_${ulidAtTime(Math.max(0, firstMs))}`
  const beyond = `evt_${ulidAtTime(lastMs + 1)}`
  return [
    'not is_late',
    `event_id >= ${$(first)}`,
    `event_id < ${$(beyond)}`,
    `day >= ${$(dayAt(firstMs - DAY_MS))}`,
    `day <= ${$(dayAt(lastMs + DAY_MS))}`,
  ]
}

/** The id of an event that is not late was made within this of its `event_at`. */
const PROMPT_MS = 10 * 60_000
const DAY_MS = 86_400_000

/** When it may have been delivered first. */
const EARLIEST = `case when recorded.is_late then '-infinity' else recorded.day - 1 end`

/** Whether a subscription is where a new event would go (`events/select-subscription.ts`). */
export function takes(event: string): string {
  return `owner = ${event}.owner
    and event = (case when ${event}.owner <> '' then 'INCOMING'
                      when ${event}.event = 'DOMAIN_VERIFICATION' then ${event}.event
                      else 'EMAIL_EVENT' end) collate "default"`
}

/**
 * `matching`: of what was `recorded`, what the filter means, and where it would go; `found`: of that
 * what may be queued. The toggles of the destination are applied by the names in the filter.
 *
 * Lateral with a limit, so that every look into the queue and the record is an index scan. What is
 * frozen has no index by event: it is one object with a key for each, as a join's plan would depend
 * on how many there are said to be. What was queued or frozen before the webhook was last switched off
 * is not sent any more: it does not count as on its way.
 */
function replayable(filter: ReplayFilter, $: Parameter): string {
  const tenant = $(filter.tenantId)
  const webhookIds = $(filter.webhookIds ?? null)
  const undelivered = filter.isUndelivered
    ? `cross join lateral (
         select bool_or(true) as is_there
           from ${carriersOf('recorded.event_id', EARLIEST)} carrier
          where tenant_id = ${tenant} and status = 'delivered') delivered`
    : 'cross join (select null::boolean as is_there) delivered'
  return `
    frozen as materialized (
      select coalesce(jsonb_object_agg(webhook_id || generation || event_id, true), '{}') as members
        from webhooks_open cross join unnest(event_ids) as event_id
       where tenant_id = ${tenant}),
    matching as materialized (
      select recorded.*, destination.webhook_id, destination.generation, destination.active,
             coalesce(queued.is_there, sending.is_there, false) as is_waiting
        from recorded
       cross join frozen
        left join lateral (
         select webhook_id, generation, active from webhooks_subscription
          where tenant_id = ${tenant} and ${takes('recorded')}
          limit 1) destination on true
        left join lateral (
         select true as is_there from webhooks_pending
          where tenant_id = ${tenant} and webhook_id = destination.webhook_id and lane in (0, 1)
            and event_id = recorded.event_id and generation >= destination.generation
          limit 1) queued on true
        left join lateral (
         select true as is_there
          where frozen.members
                  ? (destination.webhook_id || destination.generation || recorded.event_id)
         ) sending on true
        ${undelivered}
       where recorded.event = any(${$(filter.names)})
         and recorded.event_at >= ${$(formatMicros(filter.span.from))}
         and recorded.event_at < ${$(formatMicros(filter.span.to))}
         and (${webhookIds}::text[] is null or destination.webhook_id = any(${webhookIds}))
         and delivered.is_there is null),
    found as materialized (
      select * from matching where active and not is_waiting)`
}

/**
 * Two replays of one tenant queue one after the other; until the transaction ends. False when
 * another has the lock: it is not waited for with a connection in hand.
 */
export async function lockReplays(tx: Tx, tenantId: string): Promise<boolean> {
  const { rows } = await tx.query<{ locked: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended('webhooks_replay ' || $1, 0)) as locked`,
    [tenantId],
  )
  return rows[0]?.locked === true
}

/** Those of these webhooks whose streams are there, and stay until the transaction ends. */
export async function holdStreams(
  tx: Tx,
  tenantId: string,
  webhookIds: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.query<{ webhook_id: string }>(
    `select webhook_id from webhooks_stream where tenant_id = $1 and webhook_id = any($2)
      order by webhook_id for key share`,
    [tenantId, webhookIds],
  )
  return rows.map((row) => row.webhook_id)
}

/**
 * Queues those of the events that may be queued now, behind what is live, and answers how many wait
 * for which webhook. The webhooks of the filter are held. Each event counts with the id of its
 * webhook, also those few that do not name it. One that was queued before the webhook was switched off
 * is queued anew in its place.
 */
export async function queueReplayed(
  tx: Tx,
  filter: ReplayFilter,
  events: readonly EventRef[],
): Promise<Map<string, number>> {
  const values: unknown[] = []
  const $: Parameter = (value) => `$${values.push(value)}`
  const tenant = $(filter.tenantId)
  const days = events.map((event) => event.day)
  const [first, last] = rangeOfDays(days)
  const { rows } = await tx.query<{ webhook_id: string; events: number }>(
    `with recorded as materialized (
       select event.* from unnest(${$(events.map((event) => event.eventId))}::text[],
                                  ${$(days)}::date[]) as given (event_id, day)
        cross join lateral (
          select ${RECORDED} from webhooks_event
           where tenant_id = ${tenant} and event_id = given.event_id and day = given.day
             and day between ${$(first)} and ${$(last)} limit 1) event),
     ${replayable(filter, $)},
     queued as (
       insert into webhooks_pending
         (tenant_id, webhook_id, lane, event_id, day, bytes, generation, solo)
       select ${tenant}, webhook_id, 1, event_id, day, bytes + octet_length(webhook_id), generation,
              event = 'MAILER_DEACTIVATED'
         from found order by event_id
       on conflict (tenant_id, webhook_id, lane, event_id) do update
         set generation = excluded.generation, queued_at = excluded.queued_at
       where webhooks_pending.generation < excluded.generation
       returning webhook_id)
     select webhook_id, count(*)::integer as events from queued group by webhook_id`,
    values,
  )
  return new Map(rows.map((row) => [row.webhook_id, row.events]))
}

/** Replayed events that wait to be sent, per webhook; none is counted beyond `max + 1`. */
export async function countReplayed(
  q: Queryable,
  tenantId: string,
  webhookIds: readonly string[],
  max: number,
): Promise<Map<string, number>> {
  const { rows } = await q.query<{ webhook_id: string; waiting: number }>(
    `select given.webhook_id, counted.waiting
       from unnest($2::text[]) as given (webhook_id)
       left join lateral (
         select generation from webhooks_subscription
          where tenant_id = $1 and webhook_id = given.webhook_id limit 1) sub on true
      cross join lateral (
        select count(*)::integer as waiting from (
          select from webhooks_pending
           where tenant_id = $1 and webhook_id = given.webhook_id and lane = 1
             and generation >= coalesce(sub.generation, 0)
           limit $3) waiting) counted`,
    [tenantId, webhookIds, max + 1],
  )
  return new Map(rows.map((row) => [row.webhook_id, row.waiting]))
}

export interface RegisteredWebhooks {
  readonly event: SubscriptionEvent
  /** Of those of mailboxes and inbound routes: one of them is. */
  readonly isActive: boolean
  /** Of the EMAIL_EVENT webhook. */
  readonly toggles: Toggles | null
}

/** By event type: at most three. */
export async function listRegistered(
  q: Queryable,
  tenantId: string,
): Promise<RegisteredWebhooks[]> {
  const { rows } = await q.query<RegisteredWebhooks>(
    `select event, bool_or(active) as "isActive", (array_agg(options))[1] as toggles
       from webhooks_subscription where tenant_id = $1 group by event`,
    [tenantId],
  )
  return rows
}

export interface Destinations {
  /** Of the given events those that are still in the log. */
  readonly events: number
  readonly isRegistered: boolean
  readonly isActive: boolean
  /** Those that are active. */
  readonly webhookIds: readonly string[]
}

/** Whether the webhooks that take these events now are there, and switched on. */
export async function findDestinationsOf(
  q: Queryable,
  tenantId: string,
  { eventIds, eventDays }: { eventIds: readonly string[]; eventDays: readonly string[] },
): Promise<Destinations> {
  const { rows } = await q.query<Destinations>(
    `select count(*)::integer as events, coalesce(bool_or(webhook_id is not null), false) as "isRegistered",
            coalesce(bool_or(active), false) as "isActive",
            coalesce(array_agg(distinct webhook_id) filter (where active), '{}') as "webhookIds"
       from unnest($2::text[], $3::date[]) as given (event_id, day)
      cross join lateral (
        select event, owner from webhooks_event
         where tenant_id = $1 and event_id = given.event_id and day = given.day
           and day between $4 and $5 limit 1) recorded
       left join lateral (
         select webhook_id, active from webhooks_subscription
          where tenant_id = $1 and ${takes('recorded')}
          limit 1) destination on true`,
    [tenantId, eventIds, eventDays, ...rangeOfDays(eventDays)],
  )
  return rows[0] ?? { events: 0, isRegistered: false, isActive: false, webhookIds: [] }
}

const EXPEDITE_STREAM = `
  update webhooks_stream stream
     set state = 'active',
         not_before = case when stream.delivery_id = delivery.delivery_id
                        then '-infinity' else stream.not_before end
    from webhooks_open delivery, webhooks_subscription sub
   where delivery.tenant_id = $1 and delivery.delivery_id = $2
     and stream.tenant_id = $1 and stream.webhook_id = delivery.webhook_id
     and sub.tenant_id = $1 and sub.webhook_id = delivery.webhook_id
     and sub.active and sub.generation = delivery.generation
  returning stream.webhook_id`
const EXPEDITE_DELIVERY = `
  update webhooks_open
     set next_attempt_at = case when status = 'pending' then next_attempt_at else now() end,
         due_at = case when due_at > now() then now() else due_at end
   where tenant_id = $1 and delivery_id = $2`

/**
 * An open delivery is tried again now, not when its wait is over. False when it is settled, or is
 * to be discarded. The stream first, as the dispatcher locks them; the delivery may have been
 * settled while that lock was waited for.
 */
export async function expedite(tx: Tx, tenantId: string, deliveryId: string): Promise<boolean> {
  const stream = await tx.query(EXPEDITE_STREAM, [tenantId, deliveryId])
  if (stream.rowCount === 0) return false
  const delivery = await tx.query(EXPEDITE_DELIVERY, [tenantId, deliveryId])
  return delivery.rowCount > 0
}

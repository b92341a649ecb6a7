/**
 * replayWebhookEvents (docs/reference/webhooks.md#replay): recorded events are queued again, behind what is
 * live, for the webhook that takes such events now. They keep their content and `event_at`, so that receivers
 * recognise them.
 *
 * What was recorded before the call is first found and counted, then queued in pieces, each a short
 * transaction. So a refusal leaves nothing behind, save one: when another replay takes the limit in
 * between, what was queued until then is sent, as after a crash in the middle. Calling again is
 * safe: what still waits is not queued twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type EventName,
  eventNames,
  type ReplayWebhookEventsBody,
  replayedEventsMax,
  subscriptionKeyOfEvent,
} from '@postrider/contract'
import type { Clock } from '../../platform/clock.ts'
import { type Db, planByIndex, readByIndex } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { ApiError, rateLimited, validationError } from '../../platform/errors.ts'
import { readStartAndEnd } from '../../platform/http/read-span.ts'
import { isId, isUlid, timeOfUlid } from '../../platform/ids.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { activateStreams, type BucketedStream } from '../dispatch/stream-store.ts'
import { subscriptionsOf } from '../events/select-subscription.ts'
import {
  countReplayed,
  type DestinationState,
  type EventRef,
  findReplayable,
  holdStreams,
  listRegistered,
  lockReplays,
  queueReplayed,
  type RegisteredWebhooks,
  type ReplayFilter,
  type ReplayPart,
  type ReplaySource,
} from './replay-store.ts'

export interface ReplayDeps {
  readonly db: Db
  readonly clock: Clock
  readonly wakeups: { wake(streams: readonly BucketedStream[]): void }
  /** Of replayed events in a day; the operator has none. */
  readonly replayBudget?: RateLimit
  /** Smaller ones, for tests. */
  readonly replayLimits?: ReplayLimits
}

export interface ReplayLimits {
  /** Replayed events that may wait for one webhook, and that one call may select. */
  readonly waitingMax: number
  /** Recorded events that one call may look at. */
  readonly lookedAtMax: number
  /** In one statement; in one transaction. */
  readonly findMax: number
  readonly queueMax: number
  /** For the lock that another process has: ten seconds in all. */
  readonly lockTries: number
}

const LIMITS: ReplayLimits = {
  waitingMax: replayedEventsMax,
  lookedAtMax: 500_000,
  findMax: 10_000,
  queueMax: 5_000,
  lockTries: 24,
}
const RETRY_AFTER_S = 60
/** A piece takes less than a second; of the same tenant, many processes can be at it. */
const LOCKED_RETRY_AFTER_S = 5
const LOCK_WAIT_MS_MAX = 500
const DAY_MS = 86_400_000

export interface ReplaySelection extends ReplayWebhookEventsBody {
  /** Only what goes to this webhook; of the operator's. */
  readonly webhook_id?: string
}

export async function replayEvents(
  deps: ReplayDeps,
  tenantId: string,
  selection: ReplaySelection,
): Promise<{ replayed: number; webhook_ids: string[] }> {
  const { events, filter } = await findEvents(deps, tenantId, selection)
  if (events.length > 0) await deps.replayBudget?.use(tenantId, events.length)
  const { queueMax } = deps.replayLimits ?? LIMITS
  let replayed = 0
  for (let i = 0; i < events.length; i += queueMax)
    replayed += await queueAgain(deps, filter, events.slice(i, i + queueMax))
  return { replayed, webhook_ids: [...filter.webhookIds] }
}

/** What `replayEvents` would queue now, or why it would refuse. */
export async function countEvents(
  deps: ReplayDeps,
  tenantId: string,
  selection: ReplaySelection,
): Promise<{ matched: number; replayed: number; webhook_ids: string[] }> {
  const { events, filter } = await findEvents(deps, tenantId, selection)
  return { matched: events.length, replayed: 0, webhook_ids: [...filter.webhookIds] }
}

async function findEvents(
  deps: ReplayDeps,
  tenantId: string,
  selection: ReplaySelection,
): Promise<{ readonly events: readonly EventRef[]; readonly filter: DestinedFilter }> {
  const { start, event } = selection
  const span = readStartAndEnd(selection)
  const subject = subjectOf(selection)
  if (start === undefined && subject === undefined)
    throw validationError({
      path: '/start',
      message: 'is required where neither ref_id nor inbound_id is given',
    })
  const now = deps.clock.nowMicros()
  const wanted = subject?.wanted ?? (event && subscriptionsOf(event))
  const filter: ReplayFilter = {
    tenantId,
    names: wantedNames(await requireWebhooks(deps.db, tenantId, wanted), event),
    // What happens from now on is live.
    span: { from: span.from, to: span.to < now ? span.to : now },
    isUndelivered: selection.undelivered === true,
    webhookIds: selection.webhook_id === undefined ? undefined : [selection.webhook_id],
  }
  const path = start === undefined ? (subject?.path ?? '/start') : '/start'
  const { events, perWebhook, destinations } = await selectEvents(deps, filter, subject?.id, path)
  if (destinations.size > 0)
    requireActive({
      isRegistered: destinations.has('active') || destinations.has('inactive'),
      isActive: destinations.has('active'),
    })
  await requireRoom(deps, tenantId, perWebhook)
  return { events, filter: { ...filter, webhookIds: [...perWebhook.keys()] } }
}

/** The email or the received message whose events are meant, and whom they go to: nobody else gets them. */
function subjectOf({ ref_id: refId, inbound_id: inboundId }: ReplaySelection) {
  if (refId !== undefined && inboundId !== undefined)
    throw validationError({ path: '/inbound_id', message: 'cannot be given beside ref_id' })
  if (inboundId !== undefined) {
    if (!isId('in', inboundId))
      throw validationError({
        path: '/inbound_id',
        message: 'must be the id of a received message',
      })
    return { id: inboundId, path: '/inbound_id', wanted: ['INCOMING'] }
  }
  if (refId === undefined) return undefined
  if (!isUlid(refId))
    throw validationError({ path: '/ref_id', message: 'must be the reference id of an email' })
  return { id: refId, path: '/ref_id', wanted: ['EMAIL_EVENT'] }
}

/**
 * The webhooks that the selected events could go to: one of them must be there, and active. Whether
 * it is one that takes what is found in the log is told by the search.
 */
async function requireWebhooks(
  db: Db,
  tenantId: string,
  wanted: readonly string[] | undefined,
): Promise<RegisteredWebhooks[]> {
  const all = await readByIndex(db, (tx) => listRegistered(tx, tenantId))
  const registered = all.filter((one) => wanted === undefined || wanted.includes(one.event))
  requireActive({
    isRegistered: registered.length > 0,
    isActive: registered.some((one) => one.isActive),
  })
  return registered
}

export function requireActive(o: { isRegistered: boolean; isActive: boolean }): void {
  if (!o.isRegistered)
    throw new ApiError('webhook_not_found', {
      message: 'Webhook Not Found: no webhook is registered for these events',
    })
  if (!o.isActive)
    throw new ApiError('conflict', { message: 'The webhook for these events is not active' })
}

/**
 * The toggles are those of now: an event that was not wanted when it happened may be had. Where no
 * webhook has any, every event counts as one that is missed.
 */
function wantedNames(
  registered: readonly RegisteredWebhooks[],
  event: EventName | undefined,
): EventName[] {
  const toggles = registered.find((one) => one.event === 'EMAIL_EVENT')?.toggles
  const keys: Partial<Record<EventName, keyof NonNullable<typeof toggles>>> = subscriptionKeyOfEvent
  return eventNames.filter((name) => {
    const key = keys[name]
    return (
      (event === undefined || name === event) &&
      (key === undefined || toggles == null || toggles[key])
    )
  })
}

interface Selected {
  readonly events: readonly EventRef[]
  readonly destinations: ReadonlySet<DestinationState>
  readonly perWebhook: ReadonlyMap<string, number>
}

async function selectEvents(
  deps: ReplayDeps,
  filter: ReplayFilter,
  subjectId: string | undefined,
  path: string,
): Promise<Selected> {
  const { waitingMax, lookedAtMax } = deps.replayLimits ?? LIMITS
  const events: EventRef[] = []
  const perWebhook = new Map<string, number>()
  const destinations = new Set<DestinationState>()
  let lookedAt = 0
  for await (const part of partsOf(deps, filter, subjectId)) {
    lookedAt += part.lookedAt
    events.push(...part.events)
    for (const state of part.destinations) destinations.add(state)
    for (const [webhookId, count] of Object.entries(part.perWebhook))
      perWebhook.set(webhookId, (perWebhook.get(webhookId) ?? 0) + count)
    const tooMuch =
      events.length > waitingMax
        ? `selects more than ${waitingMax} events, which is what may wait for a webhook`
        : lookedAt > lookedAtMax
          ? `covers more than ${lookedAtMax} recorded events`
          : undefined
    if (tooMuch !== undefined)
      throw validationError({ path, message: `${tooMuch}: select less at a time` })
  }
  return { events, perWebhook, destinations }
}

async function* partsOf(
  { db, replayLimits }: ReplayDeps,
  filter: ReplayFilter,
  subjectId: string | undefined,
): AsyncGenerator<ReplayPart> {
  const { findMax: limit } = replayLimits ?? LIMITS
  for (const source of sourcesOf(subjectId)) {
    let after: ReplayPart['last']
    for (let isMore = true; isMore; ) {
      const part = await readByIndex(db, (tx) =>
        findReplayable(tx, filter, source, { after, limit }),
      )
      yield part
      after = part.last
      isMore = part.lookedAt === limit
    }
  }
}

function sourcesOf(id: string | undefined): ReplaySource[] {
  if (id === undefined) return [{ kind: 'prompt' }, { kind: 'late' }]
  return [{ kind: 'email', refId: id, notBefore: dayAt(timeOfUlid(id).getTime() - DAY_MS) }]
}

async function requireRoom(
  { db, replayLimits = LIMITS }: ReplayDeps,
  tenantId: string,
  perWebhook: ReadonlyMap<string, number>,
): Promise<void> {
  const { waitingMax } = replayLimits
  const waiting = await readByIndex(db, (tx) =>
    countReplayed(tx, tenantId, [...perWebhook.keys()], waitingMax),
  )
  for (const [webhookId, count] of perWebhook) {
    const room = waitingMax - (waiting.get(webhookId) ?? 0)
    if (count > room) throw noRoom(waitingMax, room)
  }
}

/** When they fit depends on the receiver; the time is a hint to the caller. */
function noRoom(waitingMax: number, room: number): ApiError {
  return rateLimited({
    policy: 'replayed-events',
    quota: waitingMax,
    left: room,
    retryAfterS: RETRY_AFTER_S,
    message: `At most ${waitingMax} replayed events may wait for one webhook`,
  })
}

type DestinedFilter = ReplayFilter & { readonly webhookIds: readonly string[] }

/**
 * One piece, in one transaction; answers how many were queued for the webhooks of the filter. With
 * `charge`, those are counted where it counts, and none is queued when it refuses.
 */
export async function queueAgain(
  deps: ReplayDeps,
  filter: DestinedFilter,
  events: readonly EventRef[],
  charge?: (queued: number) => Promise<void>,
): Promise<number> {
  const { lockTries } = deps.replayLimits ?? LIMITS
  for (let tried = 1; ; tried += 1) {
    const queued = await queueUnlessLocked(deps, filter, events, charge)
    if (queued !== undefined) return queued
    // As of too many at once in one process, which are told apart before.
    if (tried === lockTries)
      throw rateLimited({
        policy: 'replays-at-once',
        quota: 1,
        retryAfterS: LOCKED_RETRY_AFTER_S,
        message: 'Another replay of this tenant is under way',
      })
    await sleep(Math.min(10 * 2 ** tried, LOCK_WAIT_MS_MAX))
  }
}

/** Undefined while another replay of the tenant queues. */
async function queueUnlessLocked(
  { db, wakeups, replayLimits = LIMITS }: ReplayDeps,
  filter: DestinedFilter,
  events: readonly EventRef[],
  charge: ((queued: number) => Promise<void>) | undefined,
): Promise<number | undefined> {
  const { tenantId } = filter
  const { waitingMax } = replayLimits
  const queued = await db.transaction(async (tx) => {
    const [, isLocked] = await Promise.all([planByIndex(tx), lockReplays(tx, tenantId)])
    if (!isLocked) return undefined
    const webhookIds = await holdStreams(tx, tenantId, filter.webhookIds)
    const counts = await queueReplayed(tx, { ...filter, webhookIds }, events)
    const streams = [...counts.keys()].map((webhookId) => ({ tenantId, webhookId }))
    if (streams.length === 0) return counts
    await activateStreams(tx, streams)
    const waiting = await countReplayed(tx, tenantId, [...counts.keys()], waitingMax)
    if ([...waiting.values()].some((count) => count > waitingMax)) throw noRoom(waitingMax, 0)
    await charge?.(sumOf(counts))
    return counts
  })
  if (queued === undefined) return undefined
  wakeups.wake(
    [...queued.keys()].map((webhookId) => ({ tenantId, webhookId, bucket: bucketOf(webhookId) })),
  )
  return sumOf(queued)
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

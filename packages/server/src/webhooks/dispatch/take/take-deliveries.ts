/**
 * Takes what the streams of a group have to send next, in one transaction that is flushed before any
 * request is made: what a request holds is on disk first, so that a repetition, also after a crash,
 * has the same bytes (docs/reference/webhooks.md#retries).
 *
 * What waits in the queue is held against the filter once more: the webhook may have been updated since.
 * What somebody asked for again (lane 1) is sent as it was asked for.
 *
 * The lock of a stream is held to the end and never waited for. Rare things (what is to be discarded,
 * exhausted or fixed) are only seen here and done elsewhere (clear-stream.ts): they must not delay a
 * group.
 */
import { type SubscriptionKey, subscriptionKeyOfEvent } from '@postrider/contract'
import { planByIndex, type Tx } from '../../../platform/db/index.ts'
import { dayOfUlid, newIdAt } from '../../../platform/ids.ts'
import { continueTrace } from '../../../platform/trace.ts'
import { nameOfEvent } from '../../events/event.ts'
import { hasOverdue } from '../operate/clear-store.ts'
import type { StreamKey } from '../stream-store.ts'
import { chooseBatch, decideTake, mayQueueBeFirst, type TakeLimits } from './decide-take.ts'
import type { LoggedEvent, OpenDelivery } from './delivery.ts'
import type { QueuedEvent } from './prefetch.ts'
import type { QueueCursorIds } from './queue-cursor.ts'
import {
  callUp,
  type DeliveryKey,
  deletePointers,
  deleteReadPointers,
  type EventOwner,
  existingStreams,
  havePending,
  holdDeliveries,
  insertOpen,
  type LockedStream,
  loadEvents,
  loadOpen,
  loadTargets,
  lockStreams,
  type NewOpenDelivery,
  type PeekRequest,
  type PendingPointer,
  peekPending,
  type StreamTarget,
} from './take-store.ts'

export interface Take extends StreamKey {
  readonly low: QueueCursorIds
  readonly limits: TakeLimits
  /** In [0, 1): decides where either of two is as good; the same for what follows from this take. */
  readonly random: number
  /** The next queued event, where it is known without a look at the queue. */
  readonly ahead?: QueuedEvent | undefined
  /** What is read behind it can be kept. */
  readonly canKeepAhead: boolean
}

/** A delivery that is on disk, its request to be made. */
export interface ReadyDelivery {
  readonly kind: 'ready'
  readonly delivery: OpenDelivery
  readonly stream: LockedStream
  readonly target: StreamTarget
  /** In the order in which they are sent. */
  readonly events: readonly LoggedEvent[]
  /** Of a new batch the last pointer of each lane; undefined for what was frozen before. */
  readonly pointers: readonly PendingPointer[] | undefined
  /** Those that follow in the queue, where one event travels alone. */
  readonly ahead: readonly QueuedEvent[]
}

export type Taken = ReadyDelivery | NotTaken

export type NotTaken =
  /** Another transaction holds the stream. */
  | { readonly kind: 'busy' }
  /** Paused, or gone. */
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Something is to leave the queue without a request. */
  | { readonly kind: 'clear' }
  /** Nothing was found above the cursor's ids. */
  | { readonly kind: 'empty' }

const BUSY: Taken = { kind: 'busy' }
const NONE: Taken = { kind: 'none' }
const CLEAR: Taken = { kind: 'clear' }
const EMPTY: Taken = { kind: 'empty' }
/** With the next group. */
const LATER: Taken = { kind: 'wait', waitMs: 0 }

/** Of the bodies that one group reads; one batch may be larger. Others wait while it does. */
const GROUP_OCTETS_MAX = 16_777_216

/** What is read of a queue at once where one event travels alone. */
const READ_EVENTS = 32
const READ_OCTETS_MAX = 65_536

/** One stream of the group on its way through the transaction. */
interface Course {
  readonly n: number
  readonly take: Take
  readonly stream: LockedStream
  readonly target: StreamTarget
}
interface Reopening extends DeliveryKey {
  readonly course: Course
  readonly isDue: boolean
}
interface Reopened {
  readonly course: Course
  readonly delivery: OpenDelivery
  readonly isDue: boolean
}
interface Peek {
  readonly course: Course
  readonly request: PeekRequest
  /** Of the batch. */
  readonly eventsMax: number
  /** Of the body; one event may be larger. */
  readonly bytesMax: number
}
interface Known {
  readonly course: Course
  readonly ahead: QueuedEvent
}
interface Batch extends EventOwner {
  readonly course: Course
  readonly pointers: readonly PendingPointer[]
  /** Read with them, and left in the queue. */
  readonly following: readonly PendingPointer[]
  /** Of all that is read. */
  readonly octets: number
}

/** Its first statements are issued at once: after those that were issued before, and without a pause. */
export async function takeDeliveries(tx: Tx, takes: readonly Take[]): Promise<Taken[]> {
  const [, streams, targets] = await Promise.all([
    planByIndex(tx),
    lockStreams(tx, takes),
    loadTargets(tx, takes),
  ])
  const taken = new Array<Taken>(takes.length).fill(BUSY)
  const courses: Course[] = []
  takes.forEach((take, n) => {
    const stream = streams[n]
    const target = targets[n]
    if (stream !== undefined && target !== undefined) courses.push({ n, take, stream, target })
  })
  if (courses.length < takes.length) await forgetWhatIsGone(tx, takes, taken, courses)
  const { reopenings, peeks, known } = await decideAll(tx, courses, taken)

  const [opened, peeked] = await Promise.all([
    loadOpen(tx, reopenings),
    peekPending(
      tx,
      peeks.map((peek) => peek.request),
    ),
  ])
  const reopened: Reopened[] = []
  reopenings.forEach(({ course, isDue }, i) => {
    const delivery = opened[i]
    if (delivery === undefined || delivery.generation < course.target.generation)
      taken[course.n] = CLEAR
    else reopened.push({ course, delivery, isDue })
  })
  const batches: Batch[] = []
  let octets = 0
  peeks.forEach((peek, i) => {
    const batch = chooseMembers(peek, peeked[i] ?? [])
    if ('kind' in batch) taken[peek.course.n] = batch
    else if (octets > 0 && octets + batch.octets > GROUP_OCTETS_MAX) taken[peek.course.n] = LATER
    else {
      octets += batch.octets
      batches.push(batch)
    }
  })

  const events = await loadEvents(tx, [...reopened.map((one) => one.delivery), ...batches])
  await repeat(tx, reopened, events, taken)
  await freeze(tx, batches, events.slice(reopened.length), known, taken)
  return taken
}

/** Of those that could not be locked: a stream that is gone will never be free again. */
async function forgetWhatIsGone(
  tx: Tx,
  takes: readonly Take[],
  taken: Taken[],
  courses: readonly Course[],
): Promise<void> {
  const existing = await existingStreams(tx, takes)
  const locked = new Set(courses.map((course) => course.n))
  takes.forEach((_, n) => {
    if (!locked.has(n) && !existing.has(n)) taken[n] = NONE
  })
}

async function decideAll(tx: Tx, courses: readonly Course[], taken: Taken[]) {
  const [overdue, queued] = await Promise.all([findOverdue(tx, courses), findQueued(tx, courses)])
  const reopenings: Reopening[] = []
  const peeks: Peek[] = []
  const known: Known[] = []
  for (const course of courses) {
    const { n, take, stream, target } = course
    const { isActive, dueId, isDueParked } = target
    const facts = {
      isActive,
      dueId,
      isDueParked,
      random: take.random,
      hasOverdue: overdue.has(course),
      hasPending: queued.has(course),
    }
    const step = decideTake(stream, facts, take.limits)
    const { tenantId, webhookId, low, ahead } = take
    if (step.kind === 'batch') {
      const { eventsMax, bytesMax } = step
      const isKnown =
        eventsMax === 1 &&
        ahead?.pointer.generation === target.generation &&
        isWanted(target, ahead.pointer, ahead.event)
      if (isKnown) known.push({ course, ahead })
      else {
        const readMax = eventsMax === 1 && take.canKeepAhead ? READ_EVENTS : eventsMax
        const request = { tenantId, webhookId, low, eventsMax: readMax }
        peeks.push({ course, request, eventsMax, bytesMax })
      }
    } else if (step.kind === 'open')
      reopenings.push({ course, tenantId, deliveryId: step.deliveryId, isDue: step.isDue })
    else if (step.kind === 'wait') taken[n] = step
    else taken[n] = step.kind === 'paused' ? NONE : CLEAR
  }
  return { reopenings, peeks, known }
}

async function findOverdue(tx: Tx, courses: readonly Course[]): Promise<Set<Course>> {
  const late = courses.filter((c) => c.stream.failingMs >= c.take.limits.policy.retryForMs)
  if (late.length === 0) return new Set()
  const found = await hasOverdue(
    tx,
    late.map((c) => ({ ...c.take, retryForMs: c.take.limits.policy.retryForMs })),
  )
  return new Set(late.filter((_, i) => found[i]))
}

/** Of the streams with something due that may not go first, those with something that is queued. */
async function findQueued(tx: Tx, courses: readonly Course[]): Promise<Set<Course>> {
  const unsure = courses.filter((c) => mayQueueBeFirst(c.stream, c.target))
  if (unsure.length === 0) return new Set()
  const found = await havePending(
    tx,
    unsure.map((c) => c.take),
  )
  return new Set(unsure.filter((_, i) => found.has(i)))
}

function chooseMembers(
  { course, request, eventsMax, bytesMax }: Peek,
  found: readonly PendingPointer[],
): Batch | Taken {
  const choice = chooseBatch(found.slice(0, eventsMax), course.target.generation, bytesMax)
  if (choice.kind !== 'members') return choice.kind === 'empty' ? EMPTY : CLEAR
  const pointers = found.slice(0, choice.count)
  const following = request.eventsMax > eventsMax ? worthReading(found) : []
  const read = [...pointers, ...following]
  return {
    course,
    pointers,
    following,
    octets: read.reduce((sum, pointer) => sum + pointer.bytes, 0),
    tenantId: request.tenantId,
    eventIds: read.map((pointer) => pointer.event_id),
    eventDays: read.map((pointer) => pointer.day),
  }
}

/** Behind the first: live ones, as a replayed one waits for every live one that comes meanwhile. */
function worthReading(found: readonly PendingPointer[]): PendingPointer[] {
  let octets = 0
  const end = found.findIndex((pointer, i) => {
    octets += pointer.bytes
    return i > 0 && (pointer.lane !== 0 || octets > READ_OCTETS_MAX)
  })
  return found.slice(1, end === -1 ? undefined : end)
}

/** What was sent before, or would have been: from its members alone. */
async function repeat(
  tx: Tx,
  reopened: readonly Reopened[],
  events: readonly (readonly LoggedEvent[])[],
  taken: Taken[],
): Promise<void> {
  const calledUp: OpenDelivery[] = []
  reopened.forEach(({ course, delivery, isDue }, i) => {
    const { n, stream, target } = course
    const members = events[i] ?? []
    if (members.length < delivery.eventIds.length) {
      taken[n] = CLEAR
      return
    }
    if (isDue) calledUp.push(delivery)
    taken[n] = {
      kind: 'ready',
      delivery,
      stream,
      target,
      events: members,
      pointers: undefined,
      ahead: [],
    }
  })
  if (calledUp.length > 0) await Promise.all([callUp(tx, calledUp), holdDeliveries(tx, calledUp)])
}

async function freeze(
  tx: Tx,
  batches: readonly Batch[],
  events: readonly (readonly LoggedEvent[])[],
  known: readonly Known[],
  taken: Taken[],
): Promise<void> {
  if (batches.length + known.length === 0) return
  const frozen: NewOpenDelivery[] = []
  const places: string[] = []
  batches.forEach((batch, i) => {
    const { n, stream, target } = batch.course
    const { members: found, ahead } = divideRead(batch, events[i] ?? [])
    for (const pointer of batch.pointers) places.push(pointer.place)
    const { pointers, members } = keepWanted(target, batch.pointers, found)
    if (pointers.length === 0) {
      taken[n] = LATER
      return
    }
    const delivery = freezeOne(batch.course, pointers, members)
    frozen.push(delivery)
    taken[n] =
      members.length < pointers.length
        ? CLEAR
        : {
            kind: 'ready',
            delivery,
            stream,
            target,
            events: members,
            pointers: batch.pointers,
            ahead,
          }
  })
  for (const { course, ahead } of known) {
    const { n, stream, target } = course
    const [members, pointers] = [[ahead.event], [ahead.pointer]]
    const delivery = freezeOne(course, pointers, members)
    frozen.push(delivery)
    taken[n] = { kind: 'ready', delivery, stream, target, events: members, pointers, ahead: [] }
  }
  await Promise.all([
    ...(places.length > 0 ? [deletePointers(tx, places)] : []),
    ...(known.length > 0
      ? [
          deleteReadPointers(
            tx,
            known.map((one) => one.ahead.pointer),
          ),
        ]
      : []),
    ...(frozen.length > 0 ? [insertOpen(tx, frozen), holdDeliveries(tx, frozen)] : []),
  ])
}

/** Of what is queued, what the filter of now lets through. */
function keepWanted(
  target: StreamTarget,
  pointers: readonly PendingPointer[],
  members: readonly LoggedEvent[],
): { readonly pointers: readonly PendingPointer[]; readonly members: readonly LoggedEvent[] } {
  if (target.toggles === undefined) return { pointers, members }
  const byId = new Map(members.map((event) => [event.eventId, event]))
  const unwanted = new Set<string>()
  for (const pointer of pointers) {
    const event = byId.get(pointer.event_id)
    if (event !== undefined && !isWanted(target, pointer, event)) unwanted.add(pointer.event_id)
  }
  if (unwanted.size === 0) return { pointers, members }
  return {
    pointers: pointers.filter((pointer) => !unwanted.has(pointer.event_id)),
    members: members.filter((event) => !unwanted.has(event.eventId)),
  }
}

function isWanted(
  { toggles }: StreamTarget,
  { lane }: PendingPointer,
  { body }: LoggedEvent,
): boolean {
  const keys: Readonly<Record<string, SubscriptionKey>> = subscriptionKeyOfEvent
  const key = toggles === undefined || lane !== 0 ? undefined : keys[nameOfEvent(body)]
  return key === undefined || toggles?.[key] === true
}

/** The events of a batch, and those that were read with them; one that has left the log is in neither. */
function divideRead(
  { pointers, following }: Batch,
  read: readonly LoggedEvent[],
): { readonly members: readonly LoggedEvent[]; readonly ahead: readonly QueuedEvent[] } {
  if (following.length === 0) return { members: read, ahead: [] }
  const byId = new Map(read.map((event) => [event.eventId, event]))
  const members = pointers.flatMap((pointer) => byId.get(pointer.event_id) ?? [])
  const ahead: QueuedEvent[] = []
  for (const pointer of following) {
    const event = byId.get(pointer.event_id)
    // What is missing is a matter of its own, for a look at the queue.
    if (event === undefined) break
    ahead.push({ pointer, event })
  }
  return { members, ahead }
}

/**
 * With a member that has left the log it is frozen all the same: what follows is as for any other
 * delivery of which a part is gone.
 */
function freezeOne(
  course: Course,
  pointers: readonly PendingPointer[],
  members: readonly LoggedEvent[],
): NewOpenDelivery & OpenDelivery {
  const isWhole = members.length === pointers.length
  const deliveryId = newIdAt('dlv', course.stream.nowMs)
  return {
    tenantId: course.take.tenantId,
    webhookId: course.take.webhookId,
    deliveryId,
    day: dayOfUlid(deliveryId),
    bucket: course.stream.bucket,
    generation: pointers[0]?.generation ?? 0,
    eventIds: isWhole ? members.map((event) => event.eventId) : pointers.map((p) => p.event_id),
    eventDays: isWhole ? members.map((event) => event.day) : pointers.map((p) => p.day),
    traceparent: continueTrace(members[0]?.traceparent),
    isDue: false,
    attempts: 0,
    isParked: false,
    ageMs: 0,
  }
}

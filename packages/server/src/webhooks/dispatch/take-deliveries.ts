/**
 * Takes what the streams of a group have to send next, in one transaction that is flushed before any
 * request is made: what a request holds is on disk first, so that a repetition, also after a crash,
 * has the same bytes (contract §4).
 *
 * The lock of a stream is held to the end and never waited for. Rare things (what is to be discarded,
 * exhausted or mended) are only seen here and done elsewhere (clear-stream.ts): they must not hold up a
 * group.
 */
import type { Tx } from '../../platform/db/index.ts'
import { dayOfUlid, newId } from '../../platform/ids.ts'
import { continueTrace } from '../../platform/trace.ts'
import { hasOverdue } from './clear-store.ts'
import { chooseBatch, decideTake, type TakeLimits } from './decide-take.ts'
import type { LoggedEvent, OpenDelivery } from './delivery.ts'
import type { LowWaterIds } from './low-water.ts'
import { planByIndex, type StreamKey } from './stream-store.ts'
import {
  callUp,
  deletePointers,
  type EventOwner,
  existingStreams,
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
  readonly low: LowWaterIds
  readonly limits: TakeLimits
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
}

export type Taken =
  | ReadyDelivery
  /** Another transaction holds the stream. */
  | { readonly kind: 'busy' }
  /** Paused, or gone. */
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly waitMs: number }
  /** Something is to leave the queue without a request. */
  | { readonly kind: 'clear' }
  /** Nothing was found above the low-water ids. */
  | { readonly kind: 'empty' }

const BUSY: Taken = { kind: 'busy' }
const NONE: Taken = { kind: 'none' }
const CLEAR: Taken = { kind: 'clear' }
const EMPTY: Taken = { kind: 'empty' }

/** One stream of the group on its way through the transaction. */
interface Course {
  readonly n: number
  readonly take: Take
  readonly stream: LockedStream
  readonly target: StreamTarget
}
interface Reopening extends Course {
  readonly tenantId: string
  readonly deliveryId: string
  readonly isDue: boolean
}
interface Batch extends Course, EventOwner {
  readonly pointers: readonly PendingPointer[]
}

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
  const { reopenings, peeks } = await decideAll(tx, courses, taken)

  const [opened, peeked] = await Promise.all([
    loadOpen(tx, reopenings),
    peekPending(
      tx,
      peeks.map((peek) => peek.request),
    ),
  ])
  const repeated = reopenings.flatMap((reopening, i) => {
    const delivery = opened[i]
    if (delivery !== undefined && delivery.generation >= reopening.target.generation)
      return [{ ...reopening, delivery }]
    taken[reopening.n] = CLEAR
    return []
  })
  const batches = peeks.flatMap(({ course }, i) => chooseMembers(course, peeked[i] ?? [], taken))

  const events = await loadEvents(tx, [...repeated.map((r) => r.delivery), ...batches])
  await repeat(tx, repeated, events, taken)
  await freeze(tx, batches, events.slice(repeated.length), taken)
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
  const late = courses.filter((c) => c.stream.failingMs >= c.take.limits.policy.retryForMs)
  const overdue = new Set<Course>()
  if (late.length > 0) {
    const found = await hasOverdue(
      tx,
      late.map((c) => ({ ...c.take, retryForMs: c.take.limits.policy.retryForMs })),
    )
    late.forEach((course, i) => {
      if (found[i] === true) overdue.add(course)
    })
  }
  const reopenings: Reopening[] = []
  const peeks: { course: Course; request: PeekRequest }[] = []
  for (const course of courses) {
    const { n, take, stream, target } = course
    const { isActive, dueId } = target
    const facts = { isActive, dueId, hasOverdue: overdue.has(course) }
    const step = decideTake(stream, facts, take.limits)
    if (step.kind === 'paused') taken[n] = NONE
    else if (step.kind === 'wait') taken[n] = step
    else if (step.kind === 'open') {
      const { tenantId } = take
      reopenings.push({ ...course, tenantId, deliveryId: step.deliveryId, isDue: step.isDue })
    } else if (step.kind === 'batch') {
      const { tenantId, webhookId, low } = take
      const { eventsMax, bytesMax } = step
      peeks.push({ course, request: { tenantId, webhookId, low, eventsMax, bytesMax } })
    } else taken[n] = CLEAR
  }
  return { reopenings, peeks }
}

function chooseMembers(course: Course, found: readonly PendingPointer[], taken: Taken[]): Batch[] {
  const choice = chooseBatch(found, course.target.generation)
  if (choice.kind === 'members') {
    const pointers = found.slice(0, choice.count)
    return [
      {
        ...course,
        pointers,
        tenantId: course.take.tenantId,
        eventIds: pointers.map((pointer) => pointer.event_id),
        eventDays: pointers.map((pointer) => pointer.day),
      },
    ]
  }
  taken[course.n] = choice.kind === 'empty' ? EMPTY : CLEAR
  return []
}

/** What was sent before, or would have been: from its members alone. */
async function repeat(
  tx: Tx,
  repeated: readonly (Reopening & { readonly delivery: OpenDelivery })[],
  events: readonly (readonly LoggedEvent[])[],
  taken: Taken[],
): Promise<void> {
  const calledUp: OpenDelivery[] = []
  repeated.forEach(({ n, stream, target, delivery, isDue }, i) => {
    const members = events[i] ?? []
    if (members.length < delivery.eventIds.length) {
      taken[n] = CLEAR
      return
    }
    if (isDue) calledUp.push(delivery)
    taken[n] = { kind: 'ready', delivery, stream, target, events: members, pointers: undefined }
  })
  if (calledUp.length > 0) await Promise.all([callUp(tx, calledUp), holdDeliveries(tx, calledUp)])
}

async function freeze(
  tx: Tx,
  batches: readonly Batch[],
  events: readonly (readonly LoggedEvent[])[],
  taken: Taken[],
): Promise<void> {
  if (batches.length === 0) return
  const frozen = batches.map((batch, i): NewOpenDelivery => {
    const members = events[i] ?? []
    const isWhole = members.length === batch.eventIds.length
    const deliveryId = newId('dlv')
    const { webhookId, tenantId } = batch.take
    const delivery: NewOpenDelivery = {
      tenantId,
      webhookId,
      deliveryId,
      day: dayOfUlid(deliveryId),
      bucket: batch.stream.bucket,
      generation: batch.pointers[0]?.generation ?? 0,
      // With a member that has left the log it is frozen all the same: what follows is as for any
      // other delivery of which a part is gone.
      eventIds: isWhole ? members.map((event) => event.eventId) : batch.eventIds,
      eventDays: isWhole ? members.map((event) => event.day) : batch.eventDays,
      traceparent: continueTrace(members[0]?.traceparent),
      isDue: false,
    }
    taken[batch.n] = isWhole
      ? {
          kind: 'ready',
          delivery: { ...delivery, attempts: 0, ageMs: 0 },
          stream: batch.stream,
          target: batch.target,
          events: members,
          pointers: batch.pointers,
        }
      : CLEAR
    return delivery
  })
  const places = batches.flatMap((batch) => batch.pointers.map((pointer) => pointer.place))
  await Promise.all([
    deletePointers(tx, places),
    insertOpen(tx, frozen),
    holdDeliveries(tx, frozen),
  ])
}

/**
 * Chooses the stream that starts its next step: the fair scheduling of the dispatcher (ARCHITECTURE.md,
 * invariant 8). Nothing here runs or waits.
 *
 * All steps under way share `total` places. A receiver may keep its place for as long as a request may
 * last. So the less an endpoint is trusted, the fewer places its class has, and endpoints that hang, or
 * may hang, never have all of them:
 *
 * | limit   | classes            | of 512 | one tenant alone |
 * |---------|--------------------|--------|------------------|
 * | all     | everyone           | 512    | 256              |
 * | unquick | slow, new, failing | 448    | 112              |
 * | unsure  | new, failing       | 384    | 96               |
 * | late    | slow, failing      | 256    | 64               |
 * | failing | failing            | 192    | 48               |
 *
 * A tenant may have as many places as are free, or a third of that where they may be held for long:
 * each tenant that takes all it can leaves half, or three quarters, of what was free to the next, and
 * it takes ten, or twenty, of them to reach a limit.
 *
 * Classes take turns, within a class the tenants, and within a tenant its streams. Streams at a limit
 * are skipped.
 */
import { createFairQueue, type FairQueue } from '@postrider/runtime/fair-queue'
import { createTenantLimiter, type TenantLimiter } from './tenant-limiter.ts'

/** What the last requests of a stream say about its endpoint. `new`: fewer than three requests. */
export type EndpointClass = 'quick' | 'slow' | 'new' | 'failing'

export interface Starter {
  readonly tenantId: string
  /** Does not change between join and leave. */
  readonly endpointClass: EndpointClass
}

type LimitName = 'all' | 'unquick' | 'unsure' | 'late' | 'failing'

/** Places by limit. */
export type SchedulerLimits = Readonly<Record<LimitName, number>>

/** Steps under way, by the class with which they started, and waiting ones. */
export type SchedulerCounts = Readonly<Record<EndpointClass | 'waiting', number>>

export interface FairScheduler<T extends Starter> {
  /** Adds it at the end of the queue of its class. */
  join(starter: T): void
  /** The next to start. It keeps a place until it leaves. */
  next(): T | undefined
  leave(starter: T): void
  /**
   * Whether somebody could start with the place that this one holds: not those that wait at a limit
   * which stays reached, or whose tenant stays at its limit.
   */
  isAnyWaitingFor(holder: T): boolean
  counts(): SchedulerCounts
  /** Forgets all waiting ones. */
  clear(): void
}

/** Of one tenant, of what is free. */
const LASTING_SHARE = 1 / 3

const ENDPOINT_CLASSES: readonly EndpointClass[] = ['quick', 'slow', 'new', 'failing']

export function schedulerLimits(total: number): SchedulerLimits {
  const eighths = (count: number) => Math.ceil((total * count) / 8)
  return {
    all: total,
    unquick: eighths(7),
    unsure: eighths(6),
    late: eighths(4),
    failing: eighths(3),
  }
}

export function createFairScheduler<T extends Starter>(limits: SchedulerLimits): FairScheduler<T> {
  const all = createTenantLimiter(limits.all, 1)
  const unquick = createTenantLimiter(limits.unquick, LASTING_SHARE)
  const unsure = createTenantLimiter(limits.unsure, LASTING_SHARE)
  const late = createTenantLimiter(limits.late, LASTING_SHARE)
  const failing = createTenantLimiter(limits.failing, LASTING_SHARE)
  const kinds: Readonly<Record<EndpointClass, Kind<T>>> = {
    quick: createKind([all]),
    slow: createKind([late, unquick, all]),
    new: createKind([unsure, unquick, all]),
    failing: createKind([failing, late, unsure, unquick, all]),
  }
  const inTurn = ENDPOINT_CLASSES.map((endpointClass) => kinds[endpointClass])
  let turn = 0

  // The queue may be long: what is full for all is asked for first.
  const isShut = ({ queue, limiters }: Kind<T>) =>
    queue.size === 0 || limiters.some((tenantLimiter) => tenantLimiter.isFull())

  function startOne(kind: Kind<T>): T | undefined {
    if (isShut(kind)) return undefined
    const { queue, limiters, started, tenantCanGo } = kind
    const starter = queue.take({ tenantCanGo })
    if (starter === undefined) return undefined
    started.add(starter)
    for (const tenantLimiter of limiters) tenantLimiter.enter(starter.tenantId)
    return starter
  }

  const waiting = () => inTurn.reduce((sum, { queue }) => sum + queue.size, 0)

  return {
    join(starter) {
      kinds[starter.endpointClass].queue.add(starter)
    },
    next() {
      for (let passed = 0; passed < ENDPOINT_CLASSES.length; passed += 1) {
        const kind = inTurn[turn]
        turn = (turn + 1) % ENDPOINT_CLASSES.length
        const starter = kind === undefined ? undefined : startOne(kind)
        if (starter !== undefined) return starter
      }
      return undefined
    },
    leave(starter) {
      const { limiters, started } = kinds[starter.endpointClass]
      if (started.delete(starter))
        for (const tenantLimiter of limiters) tenantLimiter.leave(starter.tenantId)
    },
    isAnyWaitingFor({ endpointClass, tenantId }) {
      if (waiting() === 0) return false
      const { limiters } = kinds[endpointClass]
      for (const tenantLimiter of limiters) tenantLimiter.leave(tenantId)
      // Who cannot go where not all is full holds a place itself: no more are looked at than there are.
      const isAny = inTurn.some((kind) => {
        const { queue, tenantCanGo } = kind
        return !isShut(kind) && queue.has({ tenantCanGo })
      })
      for (const tenantLimiter of limiters) tenantLimiter.enter(tenantId)
      return isAny
    },
    counts: () => ({
      quick: kinds.quick.started.size,
      slow: kinds.slow.started.size,
      new: kinds.new.started.size,
      failing: kinds.failing.started.size,
      waiting: waiting(),
    }),
    clear() {
      for (const { queue } of inTurn) queue.clear()
    },
  }
}

/** The streams of one class. */
interface Kind<T extends Starter> {
  readonly queue: FairQueue<T>
  /** Under way. */
  readonly started: Set<T>
  /** It needs a place in each of them. */
  readonly limiters: readonly TenantLimiter[]
  readonly tenantCanGo: (tenantId: string) => boolean
}

function createKind<T extends Starter>(limiters: readonly TenantLimiter[]): Kind<T> {
  const tenantCanGo = (tenantId: string) =>
    limiters.every((tenantLimiter) => tenantLimiter.hasPlaceFor(tenantId))
  return { queue: createFairQueue<T>(), started: new Set(), limiters, tenantCanGo }
}

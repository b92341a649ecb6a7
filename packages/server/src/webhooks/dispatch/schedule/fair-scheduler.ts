/**
 * Who may start a step now: the fairness of the dispatcher (architecture, invariant 8). Nothing here
 * runs or waits.
 *
 * All steps under way share `total` places, and nothing takes one away again: a receiver may hold its
 * place for as long as a request may last. So each pace has places only within what those that are
 * trusted more leave to it, and what hangs, or may hang, never has all of it:
 *
 * | limit   | who counts         | of 512 | one tenant alone |
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
 * Each pace has its turn, in each of them the tenants, and of each tenant its streams. Those that are
 * at a limit are passed over.
 */
import { createFairQueue, type FairQueue } from '@postrider/runtime/fair-queue'
import { createTenantLimiter, type TenantLimiter } from './tenant-limiter.ts'

/** How a stream's next step will go, as far as is known. `new`: nothing is known yet. */
export type Pace = 'quick' | 'slow' | 'new' | 'failing'

export interface Starter {
  readonly tenantId: string
  /** The same from when it joins until it leaves. */
  readonly pace: Pace
}

type RoomName = 'all' | 'unquick' | 'unsure' | 'late' | 'failing'

/** Places by limit. */
export type SchedulerLimits = Readonly<Record<RoomName, number>>

/** Under way, by the pace with which they started, and in line. */
export type SchedulerCounts = Readonly<Record<Pace | 'waiting', number>>

export interface FairScheduler<T extends Starter> {
  /** To the end of its line. */
  join(starter: T): void
  /** The next to start, which holds a place from now until it leaves. */
  next(): T | undefined
  leave(starter: T): void
  /**
   * Whether somebody could start with the place that this one holds: not those that wait at a limit
   * which stays reached, or whose tenant stays at its limit.
   */
  isAnyWaitingFor(holder: T): boolean
  counts(): SchedulerCounts
  /** Nobody waits any more. */
  clear(): void
}

/** Of one tenant, of what is free. */
const LASTING_SHARE = 1 / 3

const PACES: readonly Pace[] = ['quick', 'slow', 'new', 'failing']

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
  const kinds: Readonly<Record<Pace, Kind<T>>> = {
    quick: createKind([all]),
    slow: createKind([late, unquick, all]),
    new: createKind([unsure, unquick, all]),
    failing: createKind([failing, late, unsure, unquick, all]),
  }
  const inTurn = PACES.map((pace) => kinds[pace])
  let turn = 0

  // The line may be long: what is full for all is asked for first.
  const isShut = ({ line, limiters }: Kind<T>) =>
    line.size === 0 || limiters.some((tenantLimiter) => tenantLimiter.isFull())

  function startOne(kind: Kind<T>): T | undefined {
    if (isShut(kind)) return undefined
    const { line, limiters, started, tenantCanGo } = kind
    const starter = line.take({ tenantCanGo })
    if (starter === undefined) return undefined
    started.add(starter)
    for (const tenantLimiter of limiters) tenantLimiter.enter(starter.tenantId)
    return starter
  }

  const waiting = () => inTurn.reduce((sum, { line }) => sum + line.size, 0)

  return {
    join(starter) {
      kinds[starter.pace].line.add(starter)
    },
    next() {
      for (let passed = 0; passed < PACES.length; passed += 1) {
        const kind = inTurn[turn]
        turn = (turn + 1) % PACES.length
        const starter = kind === undefined ? undefined : startOne(kind)
        if (starter !== undefined) return starter
      }
      return undefined
    },
    leave(starter) {
      const { limiters, started } = kinds[starter.pace]
      if (started.delete(starter))
        for (const tenantLimiter of limiters) tenantLimiter.leave(starter.tenantId)
    },
    isAnyWaitingFor({ pace, tenantId }) {
      if (waiting() === 0) return false
      const { limiters } = kinds[pace]
      for (const tenantLimiter of limiters) tenantLimiter.leave(tenantId)
      // Who cannot go where not all is full holds a place itself: no more are looked at than there are.
      const isAny = inTurn.some((kind) => {
        const { line, tenantCanGo } = kind
        return !isShut(kind) && line.has({ tenantCanGo })
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
      for (const { line } of inTurn) line.clear()
    },
  }
}

/** Those of one pace. */
interface Kind<T extends Starter> {
  readonly line: FairQueue<T>
  /** Under way. */
  readonly started: Set<T>
  /** It needs a place in each of them. */
  readonly limiters: readonly TenantLimiter[]
  readonly tenantCanGo: (tenantId: string) => boolean
}

function createKind<T extends Starter>(limiters: readonly TenantLimiter[]): Kind<T> {
  const tenantCanGo = (tenantId: string) =>
    limiters.every((tenantLimiter) => tenantLimiter.hasPlaceFor(tenantId))
  return { line: createFairQueue<T>(), started: new Set(), limiters, tenantCanGo }
}

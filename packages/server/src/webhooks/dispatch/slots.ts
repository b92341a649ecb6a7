/**
 * Who may start a step now: the fairness of the dispatcher (architecture, invariant 8). Nothing here
 * runs or waits; the clock is handed in.
 *
 * Streams start quick unless they are known to be slow or failing. Quick ones share few places; one
 * that lasts hands its place over to the slow ones, beside which there is room up to `total`, so a
 * receiver that hangs holds a quick place for 50 ms while others wait for it, and for 300 ms at most.
 * Slow ones (the last request was) and failing ones share a pool, the failing ones not all of it:
 * what answers late, but answers, does not wait for what hangs.
 *
 * In each line tenants take turns. One tenant has at most half of the pool and of all places, and
 * those that are at a limit are passed over. One that holds more than half of the quick places gives
 * one up as soon as another tenant waits: the first request of 200 receivers that turn out to hang
 * lets the next tenant in at once.
 */
import { createTurns, type Turns } from '../../platform/turns.ts'

/** As far as is known, how a stream's next step will go. */
export type Pace = 'quick' | 'slow' | 'failing'

export interface Starter {
  readonly tenantId: string
  /** The same from when it joins until it leaves. */
  readonly pace: Pace
}

export interface SlotLimits {
  /** Steps under way, of every pace. */
  readonly total: number
  readonly quick: number
  /** Started slow or failing. */
  readonly slow: number
  readonly failing: number
}

export interface SlotCounts {
  /** Holding a quick place. */
  readonly quick: number
  readonly slow: number
  readonly waiting: number
}

export interface Slots<T extends Starter> {
  /** To the end of its line. */
  join(starter: T): void
  /** The next to start, which holds a place from now until it leaves. */
  next(): T | undefined
  leave(starter: T): void
  /** In how many milliseconds a place is handed over to one that waits, if nothing leaves before. */
  handOverInMs(): number | undefined
  counts(): SlotCounts
  /** Nobody waits any more. */
  clear(): void
}

/**
 * Steps that are under way together share commits: with 32, 200 busy webhooks got 8 into one, and each
 * request cost the database twice the time that it costs with 128.
 */
const QUICK_PLACES = 128
const SLOW_PLACES = 128
const HAND_OVER_MS = 300
/** While others wait. */
const HAND_OVER_MS_PRESSED = 50

/** The pool of the slow is a quarter of all, and a quarter of it is closed to failing ones. */
export function slotLimits(total: number): SlotLimits {
  const slow = Math.min(SLOW_PLACES, Math.ceil(total / 4))
  return { total, quick: Math.min(QUICK_PLACES, total), slow, failing: Math.ceil((slow * 3) / 4) }
}

export function createSlots<T extends Starter>(o: {
  readonly limits: SlotLimits
  readonly monotonicMs: () => number
}): Slots<T> {
  const { limits, monotonicMs } = o
  const lines: Readonly<Record<Pace, Turns<T>>> = {
    quick: createTurns<T>(),
    slow: createTurns<T>(),
    failing: createTurns<T>(),
  }
  /** Under way, and how each started. */
  const started = new Map<T, Pace>()
  /** Those that hold a quick place, and since when; the oldest first. */
  const quick = new Map<T, number>()
  const quickOf = createTally()
  /** The tenant with more than half of the quick places. */
  let majority: string | undefined
  const all = createTally()
  const pool = createTally()
  let failing = 0
  let isSlowsTurn = false

  // Of one tenant. What is full for all is asked for first: the lines may be long.
  const hasRoom = (tenantId: string) => all.of(tenantId) < halfOf(limits.total)
  const hasPoolRoom = (tenantId: string) =>
    pool.of(tenantId) < halfOf(limits.slow) && hasRoom(tenantId)

  function takeQuick(): T | undefined {
    if (quick.size < limits.quick) return lines.quick.take({ tenantCanGo: hasRoom })
    if (!lines.quick.has({ tenantCanGo: hasRoom })) return undefined
    handOver(HAND_OVER_MS_PRESSED)
    if (quick.size < limits.quick) return lines.quick.take({ tenantCanGo: hasRoom })
    const largest = majorityHolder()
    if (largest === undefined) return undefined
    const tenantCanGo = (tenantId: string) => tenantId !== largest.tenantId && hasRoom(tenantId)
    const starter = lines.quick.take({ tenantCanGo })
    if (starter !== undefined) giveUpQuick(largest)
    return starter
  }

  function holdQuick(starter: T): void {
    quick.set(starter, monotonicMs())
    quickOf.add(starter.tenantId)
    if (quickOf.of(starter.tenantId) > halfOf(limits.quick)) majority = starter.tenantId
  }

  function giveUpQuick(starter: T): void {
    if (!quick.delete(starter)) return
    quickOf.remove(starter.tenantId)
    if (majority !== undefined && quickOf.of(majority) <= halfOf(limits.quick)) majority = undefined
  }

  function takeSlow(): T | undefined {
    if (pool.total >= limits.slow) return undefined
    const slow = lines.slow.take({ tenantCanGo: hasPoolRoom })
    if (slow !== undefined || failing >= limits.failing) return slow
    return lines.failing.take({ tenantCanGo: hasPoolRoom })
  }

  /** From quick places, those that have held one for so long. */
  function handOver(afterMs: number): void {
    const latestMs = monotonicMs() - afterMs
    for (const [starter, startedMs] of quick) {
      if (startedMs > latestMs) return
      giveUpQuick(starter)
    }
  }

  /** The oldest step of the tenant that holds more than half of the quick places. */
  function majorityHolder(): T | undefined {
    if (majority === undefined) return undefined
    for (const starter of quick.keys()) if (starter.tenantId === majority) return starter
    return undefined
  }

  return {
    join(starter) {
      lines[starter.pace].add(starter)
    },
    next() {
      if (all.total >= limits.total) return undefined
      // When every place is taken, each that becomes free goes to the other kind.
      isSlowsTurn = !isSlowsTurn
      const starter = isSlowsTurn ? (takeSlow() ?? takeQuick()) : (takeQuick() ?? takeSlow())
      if (starter === undefined) return undefined
      const { pace, tenantId } = starter
      started.set(starter, pace)
      all.add(tenantId)
      if (pace === 'quick') holdQuick(starter)
      else pool.add(tenantId)
      if (pace === 'failing') failing += 1
      return starter
    },
    leave(starter) {
      const pace = started.get(starter)
      if (pace === undefined) return
      started.delete(starter)
      giveUpQuick(starter)
      all.remove(starter.tenantId)
      if (pace !== 'quick') pool.remove(starter.tenantId)
      if (pace === 'failing') failing -= 1
    },
    handOverInMs() {
      const [oldestMs] = quick.values()
      if (oldestMs === undefined || all.total >= limits.total) return undefined
      if (!lines.quick.has({ tenantCanGo: hasRoom })) return undefined
      return Math.max(0, oldestMs + HAND_OVER_MS_PRESSED - monotonicMs())
    },
    counts() {
      handOver(HAND_OVER_MS)
      const waiting = lines.quick.size + lines.slow.size + lines.failing.size
      return { quick: quick.size, slow: all.total - quick.size, waiting }
    },
    clear() {
      for (const line of Object.values(lines)) line.clear()
    },
  }
}

const halfOf = (places: number) => Math.ceil(places / 2)

/** How many, in all and by tenant. */
function createTally() {
  const byTenant = new Map<string, number>()
  let total = 0
  return {
    add(tenantId: string) {
      total += 1
      byTenant.set(tenantId, (byTenant.get(tenantId) ?? 0) + 1)
    },
    remove(tenantId: string) {
      total -= 1
      const left = (byTenant.get(tenantId) ?? 0) - 1
      if (left > 0) byTenant.set(tenantId, left)
      else byTenant.delete(tenantId)
    },
    of: (tenantId: string) => byTenant.get(tenantId) ?? 0,
    get total() {
      return total
    },
  }
}

/**
 * Divides the 64 buckets of a role among its live members (spec-wide rule: leases are hints, rows are truth).
 *
 * Every member renews its membership and its buckets each third of the TTL, by the database's clock, under one lock
 * per role. It keeps at most its fair share, gives the rest back, and takes what is free or expired.
 * A bucket's epoch grows whenever it gets an owner, so a write that names an older epoch can be refused.
 *
 * What it has too much of it gives back when nothing is under way there any more, which `BucketUser` says: work that
 * moves as planned is not repeated by the next owner. Until then, or until `giveBackMsMax` is over, it owns it.
 *
 * A member without a database counts its buckets as lost when its own monotonic clock passes the start of its last
 * successful renewal + TTL - margin, which is before anyone else can take them. What it gives back it stops owning
 * before the others can see that; what it takes it owns only after the commit.
 */

import type { Service } from '@postrider/runtime/service'
import type { Logger } from '../log.ts'
import { type BucketRound, bucketCount, leaveRole, runLeaseRound } from './lease-round.ts'
import type { Db } from './statement.ts'

export { bucketCount }

export interface BucketLeases extends Service {
  /** Asked anew for each piece of work: it empties by itself when the lease runs out. */
  owned(): ReadonlySet<number>
  epochOf(bucket: number): number | undefined
  /** Called after each change of what is owned. */
  onChange(listener: () => void): void
  /** From now on what it says is heeded. The answer is to be called when a bucket that is to be given back is free. */
  usedBy(user: BucketUser): () => void
  /** Renews, gives back and takes, once. Rejects when the database is away. */
  runOnce(): Promise<void>
}

/** What works in the buckets. */
export interface BucketUser {
  /** These, and no others, are to be given back: to begin nothing there that would last. */
  giveBack(buckets: ReadonlySet<number>): void
  isFree(bucket: number): boolean
  /** How long a bucket that is not free is kept. */
  readonly giveBackMsMax: number
}

/** FNV-1a over the UTF-16 units: the same in every process and version. */
export function bucketOf(id: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index += 1)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % bucketCount
}

const nothingOwned: ReadonlyMap<number, number> = new Map()
/** Those that become free one by one are given back a few at a time. */
const GIVE_BACK_PAUSE_MS = 20

interface LeaseOptions {
  readonly db: Db
  readonly role: string
  readonly memberId: string
  readonly ttlMs: number
  readonly log: Logger
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
}

export function createBucketLeases(o: LeaseOptions): BucketLeases {
  const monotonicMs = o.monotonicMs ?? (() => performance.now())
  const marginMs = o.ttlMs / 10
  const excess = createExcess(monotonicMs)
  const ownership = createOwnership({ ...o, monotonicMs, onExpired: excess.clear })
  let next: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  /** The next round is to give something back. */
  let isSoon = false
  let isRunning = false
  let hadRound = false

  async function renew(): Promise<BucketRound> {
    ownership.expire()
    // Before the first statement: the database's own TTL starts later, so ours ends earlier.
    const startedMs = monotonicMs()
    const result = await runLeaseRound(o, keep)
    hadRound = true
    ownership.extend(startedMs + o.ttlMs - marginMs)
    ownership.own(result.epochs)
    return result
  }

  function keep(held: readonly number[], share: number): ReadonlySet<number> {
    const busy = excess.busyOf(held.slice(share))
    const kept = new Set([...held.slice(0, share), ...busy.keys()])
    ownership.keep(kept)
    excess.set(busy)
    return kept
  }

  /** Until the next round, when the last one went well. */
  function pauseMs({ epochs: owned, share }: BucketRound): number {
    if (excess.isAnyFree()) return GIVE_BACK_PAUSE_MS
    // Others hold what is ours by share, and give it back soon; or time is up for what is in use.
    return excess.isAny() || owned.size < share ? o.ttlMs / 12 : o.ttlMs / 3
  }

  /** One round at a time: a second call joins the one in flight. */
  function runOnce(): Promise<void> {
    round ??= renew()
      .then((result) => scheduleNext(pauseMs(result)))
      .finally(() => {
        round = undefined
      })
    return round
  }

  async function runAndSchedule(): Promise<void> {
    await runOnce().catch((error: unknown) => {
      o.log.warn({ err: error, role: o.role }, 'lease.renewal_failed')
      scheduleNext(o.ttlMs / 12)
    })
  }

  function scheduleNext(afterMs: number) {
    clearTimeout(next)
    isSoon = isRunning && afterMs === GIVE_BACK_PAUSE_MS
    if (!isRunning) return
    next = setTimeout(() => {
      isSoon = false
      void runAndSchedule()
    }, afterMs)
  }

  return {
    name: `leases of ${o.role}`,
    owned: ownership.owned,
    epochOf: ownership.epochOf,
    onChange: ownership.onChange,
    usedBy(user) {
      excess.usedBy(user)
      return () => {
        // While a round is under way it looks itself.
        if (excess.isAny() && round === undefined && !isSoon) scheduleNext(GIVE_BACK_PAUSE_MS)
      }
    },
    runOnce,
    async start() {
      if (isRunning) return
      isRunning = true
      await runAndSchedule()
    },
    async stop() {
      isRunning = false
      clearTimeout(next)
      await round?.catch(() => undefined)
      clearTimeout(next)
      ownership.end()
      excess.clear()
      if (!hadRound) return
      hadRound = false
      // Given back at once, so that a successor need not wait for the TTL.
      await leaveRole(o).catch((error: unknown) => {
        o.log.warn({ err: error, role: o.role }, 'lease.release_failed')
      })
    },
  }
}

/** What is owned, for as long as the lease is valid. Tells of each change. */
function createOwnership(o: {
  readonly role: string
  readonly log: Logger
  readonly monotonicMs: () => number
  readonly onExpired: () => void
}) {
  const listeners: (() => void)[] = []
  let epochs = nothingOwned
  let ownedBuckets: ReadonlySet<number> = new Set()
  let validUntilMs = Number.NEGATIVE_INFINITY
  let expiry: NodeJS.Timeout | undefined

  const isValid = () => o.monotonicMs() < validUntilMs

  function own(now: ReadonlyMap<number, number>): void {
    const before = epochs
    epochs = now
    const isSame =
      now.size === before.size && [...now].every(([bucket, epoch]) => before.get(bucket) === epoch)
    if (isSame) return
    ownedBuckets = new Set(now.keys())
    for (const listener of listeners) {
      try {
        listener()
      } catch (error) {
        o.log.error({ err: error, role: o.role }, 'lease.listener_failed')
      }
    }
  }

  function expire(): void {
    if (isValid() || epochs.size === 0) return
    o.log.warn({ role: o.role, buckets: epochs.size }, 'lease.expired')
    own(nothingOwned)
    o.onExpired()
  }

  /** A timer may fire before its time by the clock that counts: then it is set again. */
  function awaitExpiry(): void {
    clearTimeout(expiry)
    expiry = setTimeout(
      () => (isValid() ? awaitExpiry() : expire()),
      Math.max(0, validUntilMs - o.monotonicMs()) + 1,
    )
    expiry.unref()
  }

  return {
    owned: (): ReadonlySet<number> => (isValid() ? ownedBuckets : new Set()),
    epochOf: (bucket: number) => (isValid() ? epochs.get(bucket) : undefined),
    onChange(listener: () => void): void {
      listeners.push(listener)
    },
    own,
    /** These, as far as they are owned. */
    keep(kept: ReadonlySet<number>): void {
      own(new Map([...epochs].filter(([bucket]) => kept.has(bucket))))
    },
    expire,
    extend(untilMs: number): void {
      validUntilMs = untilMs
      awaitExpiry()
    },
    end(): void {
      clearTimeout(expiry)
      validUntilMs = Number.NEGATIVE_INFINITY
      own(nothingOwned)
    },
  }
}

/** Buckets that are to be given back and are still in use, with the time since when. */
function createExcess(monotonicMs: () => number) {
  let user: BucketUser | undefined
  let excess: ReadonlyMap<number, number> = new Map()

  function set(now: ReadonlyMap<number, number>): void {
    if (excess.size === 0 && now.size === 0) return
    excess = now
    user?.giveBack(new Set(now.keys()))
  }

  return {
    usedBy(one: BucketUser): void {
      user = one
    },
    /** Of these, the buckets that are in use, and not for too long. */
    busyOf(buckets: readonly number[]): ReadonlyMap<number, number> {
      const nowMs = monotonicMs()
      const since = buckets
        .filter((bucket) => user?.isFree(bucket) === false)
        .map((bucket) => [bucket, excess.get(bucket) ?? nowMs] as const)
      return new Map(since.filter(([, ms]) => nowMs - ms < (user?.giveBackMsMax ?? 0)))
    },
    set,
    clear: () => set(new Map()),
    isAny: () => excess.size > 0,
    isAnyFree: () => [...excess.keys()].some((bucket) => user?.isFree(bucket)),
  }
}

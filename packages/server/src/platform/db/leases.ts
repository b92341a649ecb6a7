/**
 * Divides the 64 buckets of a role among its live members (spec-wide rule: leases are hints, rows are truth).
 *
 * Every member renews its membership and its buckets each third of the TTL, by the database's clock, under one lock
 * per role. It keeps at most its fair share, gives the rest back, and takes what is free or expired.
 * A bucket's epoch grows whenever it gets an owner, so a write that names an older epoch can be refused.
 *
 * A member without a database counts its buckets as lost when its own monotonic clock passes the start of its last
 * successful renewal + TTL - margin, which is before anyone else can take them. What it gives back it stops owning
 * before the others can see that; what it takes it owns only after the commit.
 */
import type { Logger } from '../log.ts'
import type { Service } from '../service.ts'
import { type BucketRound, bucketCount, leaveRole, runLeaseRound } from './lease-round.ts'
import type { Db } from './statement.ts'

export { bucketCount }

export interface BucketLeases extends Service {
  /** Asked anew for each piece of work: it empties by itself when the lease runs out. */
  owned(): ReadonlySet<number>
  epochOf(bucket: number): number | undefined
  /** Called after each change of what is owned. */
  onChange(listener: () => void): void
  /** Renews, gives back and takes, once. Rejects when the database is away. */
  runOnce(): Promise<void>
}

/** FNV-1a over the UTF-16 units: the same in every process and version. */
export function bucketOf(id: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < id.length; index += 1)
    hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % bucketCount
}

const nothingOwned: ReadonlyMap<number, number> = new Map()

export function createBucketLeases(o: {
  db: Db
  role: string
  memberId: string
  ttlMs: number
  log: Logger
  /** Milliseconds of a clock that never jumps. */
  monotonicMs?: () => number
}): BucketLeases {
  const monotonicMs = o.monotonicMs ?? (() => performance.now())
  const marginMs = o.ttlMs / 10
  const listeners: (() => void)[] = []
  let epochs = nothingOwned
  let ownedBuckets: ReadonlySet<number> = new Set()
  let validUntilMs = Number.NEGATIVE_INFINITY
  let expiry: NodeJS.Timeout | undefined
  let next: NodeJS.Timeout | undefined
  let round: Promise<void> | undefined
  let isRunning = false

  const isValid = () => monotonicMs() < validUntilMs

  function own(now: ReadonlyMap<number, number>) {
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

  function expire() {
    if (isValid() || epochs.size === 0) return
    o.log.warn({ role: o.role, buckets: epochs.size }, 'lease.expired')
    own(nothingOwned)
  }

  function extend(untilMs: number) {
    validUntilMs = untilMs
    clearTimeout(expiry)
    expiry = setTimeout(expire, Math.max(0, untilMs - monotonicMs()) + 1)
    expiry.unref()
  }

  async function renew(): Promise<BucketRound> {
    expire()
    // Before the first statement: the database's own TTL starts later, so ours ends earlier.
    const startedMs = monotonicMs()
    const result = await runLeaseRound(o, (kept) => {
      own(new Map([...epochs].filter(([bucket]) => kept.has(bucket))))
    })
    extend(startedMs + o.ttlMs - marginMs)
    own(result.epochs)
    return result
  }

  /** One round at a time: a second call joins the one in flight. */
  function runOnce(): Promise<void> {
    round ??= renew()
      .then((result) => {
        // Others hold what is ours by share, and give it back in their next round: look again soon.
        scheduleNext(result.epochs.size < result.share ? o.ttlMs / 12 : o.ttlMs / 3)
      })
      .finally(() => {
        round = undefined
      })
    return round
  }

  function scheduleNext(afterMs: number) {
    clearTimeout(next)
    if (!isRunning) return
    next = setTimeout(() => {
      runOnce().catch((error: unknown) => {
        o.log.warn({ err: error, role: o.role }, 'lease.renewal_failed')
        scheduleNext(o.ttlMs / 12)
      })
    }, afterMs)
  }

  return {
    name: `leases of ${o.role}`,
    owned: () => (isValid() ? ownedBuckets : new Set()),
    epochOf: (bucket) => (isValid() ? epochs.get(bucket) : undefined),
    onChange: (listener) => {
      listeners.push(listener)
    },
    runOnce,
    async start() {
      if (isRunning) return
      isRunning = true
      await runOnce().catch((error: unknown) => {
        o.log.warn({ err: error, role: o.role }, 'lease.renewal_failed')
        scheduleNext(o.ttlMs / 12)
      })
    },
    async stop() {
      isRunning = false
      clearTimeout(next)
      await round?.catch(() => undefined)
      clearTimeout(next)
      clearTimeout(expiry)
      const hadRound = validUntilMs !== Number.NEGATIVE_INFINITY
      validUntilMs = Number.NEGATIVE_INFINITY
      own(nothingOwned)
      if (!hadRound) return
      // Given back at once, so that a successor need not wait for the TTL.
      await leaveRole(o).catch((error: unknown) => {
        o.log.warn({ err: error, role: o.role }, 'lease.release_failed')
      })
    },
  }
}

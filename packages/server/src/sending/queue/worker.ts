/**
 * The sender: serves the mailers of the buckets whose lease this process holds.
 *
 * Each mailer with something due is a queue (`mailer-queue.ts`). Queues are found by a sweep and by wake-ups,
 * and served by `send-scheduler.ts`; here is what makes that begin, keep its claims, and end.
 *
 * Leases and wake-ups are hints. What keeps two senders apart is the fence of each row.
 */

import type { Service } from '@postrider/runtime/service'
import { waitAtMost } from '@postrider/runtime/timeout'
import { findReleased } from '../../mailers/index.ts'
import { type BucketLeases, createBucketSweep, type Db } from '../../platform/db/index.ts'
import { findActivatedTenants } from '../../tenants/index.ts'
import { queueScheduled } from '../accept/queue-scheduled.ts'
import { createConversations } from '../attempt/conversations.ts'
import { claimPoisonRow } from './claim/claim-poison-row.ts'
import { claimExpired, discoverQueues } from './claim/claim-store.ts'
import { createLeasedRecipients } from './claim/leased-recipients.ts'
import { type PauseReason, queueIdOf } from './mailer-queue.ts'
import type { QueueWakeups, WokenQueue } from './queue-wakeups.ts'
import {
  createSendScheduler,
  type SendScheduler,
  type SendSchedulerDeps,
} from './send-scheduler.ts'

export interface SenderDeps
  extends Omit<SendSchedulerDeps, 'conversations' | 'held' | 'monotonicMs'> {
  readonly leases: BucketLeases
  readonly wakeups: QueueWakeups
  readonly sweepMs?: number
  /** How long conversations under way may last after `stop`. */
  readonly stopGraceMs?: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
}

/** Made anew for each start of a process: once stopped, it stays stopped. */
export interface Sender extends Service {
  /** Of mailers that are served otherwise than at full speed now (`mailer-throttle.ts`). */
  counts(): Record<PauseReason | 'slowed', number>
  /** Finds what is due and attempts it, until nothing is. For tests. */
  runOnce(): Promise<void>
}

const SWEEP_MS = 1_000
/**
 * Each mailer with mail in the queue costs a probe, due or not: with many of them not every sweep
 * looks at all. It takes such a share of the time, or is made that often.
 */
const DISCOVERY_SHARE = 0.02
const DISCOVERY_REST_MS_MAX = 5_000
/** What is due before the next of them has a timer. */
const AHEAD_MS = DISCOVERY_REST_MS_MAX + 2 * SWEEP_MS
const SUSPECT_MS = 1_000
/** Longer than a sweep that the database delays. */
const ACTIVATED_MS = 30_000
const EXPIRED_AT_ONCE = 100
const STOP_GRACE_MS = 10_000
/** For what conversations that were cut have left to write. */
const CUT_GRACE_MS = 3_000

export function createSender(deps: SenderDeps): Sender {
  const { db, leases, leaseMs, log } = deps
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const conversations = createConversations()
  const held = createLeasedRecipients({ db, leaseMs, monotonicMs })
  const queues = createSendScheduler({ ...deps, conversations, held, monotonicMs })
  const later = createLaterWakeups({ monotonicMs, wake })
  const discovery = createDiscovery({ db, queues, monotonicMs, wake, wakeLater: later.add })
  const background = createBackgroundClaims(deps, { queues, monotonicMs })
  let isRunning = false
  let heartbeat: NodeJS.Timeout | undefined
  let unsubscribe: (() => void)[] = []

  function wake(queue: WokenQueue): void {
    if (leases.owned().has(queue.bucket)) queues.wake(queue)
  }

  async function look(buckets: readonly number[]): Promise<void> {
    if (buckets.length === 0) return
    background.begin()
    await queueScheduled(db, buckets)
    await discovery.run(buckets, { isAll: buckets.length >= leases.owned().size })
  }

  function beat(): void {
    held.extend().catch((error: unknown) => log.warn({ err: error }, 'sender_claims.not_extended'))
  }

  async function settled(): Promise<void> {
    await background.settled()
    await queues.settled()
  }

  leases.onChange(discovery.hurry)
  const sweep = createBucketSweep({
    ...{ name: 'sender', log, failed: 'sender_sweep.failed' },
    leases,
    sweepMs: deps.sweepMs ?? SWEEP_MS,
    look,
  })

  return {
    name: 'sender',
    async start() {
      if (isRunning) return
      isRunning = true
      later.start()
      unsubscribe = [
        deps.wakeups.onWake((woken) => woken.forEach(wake)),
        deps.wakeups.onNews(sweep.lookAt),
      ]
      heartbeat = setInterval(beat, leaseMs / 3)
      await sweep.start()
    },
    async stop() {
      isRunning = false
      background.stop()
      for (const end of unsubscribe) end()
      later.stop()
      queues.close()
      await waitAtMost(
        Promise.allSettled([sweep.stop(), settled()]),
        deps.stopGraceMs ?? STOP_GRACE_MS,
      )
      conversations.cut()
      if (queues.isBusy) {
        log.warn({ attempts: held.size }, 'sender.cuts_attempts_under_way')
        await deps.pool.stop()
        await waitAtMost(settled(), CUT_GRACE_MS)
      }
      // What still cannot be written is left to its claim: before the commit point it is run again, after it
      // the outcome is uncertain.
      deps.finishes.abandon()
      clearInterval(heartbeat)
    },
    counts: queues.counts,
    async runOnce() {
      discovery.hurry()
      await look([...leases.owned()])
      await settled()
    },
  }
}

/** Wakes queues when their next mail is due. */
function createLaterWakeups(o: {
  readonly monotonicMs: () => number
  readonly wake: (queue: WokenQueue) => void
}) {
  const timers = new Map<string, { readonly atMs: number; readonly timer: NodeJS.Timeout }>()
  let isRunning = false
  return {
    start(): void {
      isRunning = true
    },
    add(queue: WokenQueue, waitMs: number): void {
      if (!isRunning) return
      const id = `${queueIdOf(queue)} ${queue.isBulk}`
      const atMs = o.monotonicMs() + waitMs
      const known = timers.get(id)
      if (known !== undefined && known.atMs <= atMs) return
      clearTimeout(known?.timer)
      const fire = () => {
        timers.delete(id)
        o.wake(queue)
      }
      timers.set(id, { atMs, timer: setTimeout(fire, waitMs) })
    },
    stop(): void {
      isRunning = false
      for (const { timer } of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** Finds queues with something due, and those whose mailers may send again. */
function createDiscovery(o: {
  readonly db: Db
  readonly queues: Pick<SendScheduler, 'held' | 'noteReleased'>
  readonly monotonicMs: () => number
  readonly wake: (queue: WokenQueue) => void
  readonly wakeLater: (queue: WokenQueue, waitMs: number) => void
}) {
  const { db, queues, monotonicMs } = o
  let fromMs = 0

  async function discover(buckets: readonly number[]): Promise<void> {
    for (const queue of await discoverQueues(db, buckets, AHEAD_MS)) {
      if (queue.waitMs <= 0) o.wake(queue)
      else o.wakeLater(queue, queue.waitMs)
    }
    // The process that activated or deleted a mailer has woken its queue, but not in other processes.
    const resting = queues.held()
    if (resting.length === 0) return
    const tenantIds = resting.map(({ tenantId }) => tenantId)
    const [released, activated] = await Promise.all([
      findReleased(db, { withinMs: ACTIVATED_MS, held: resting }),
      findActivatedTenants(db, { withinMs: ACTIVATED_MS, tenantIds }),
    ])
    const ofActivated = resting.filter(({ tenantId }) => activated.has(tenantId))
    for (const mailer of [...released, ...ofActivated]) queues.noteReleased(mailer)
  }

  return {
    /** In all buckets not more often than it may be, in some whenever it is asked for. */
    async run(buckets: readonly number[], { isAll }: { readonly isAll: boolean }): Promise<void> {
      if (!isAll) return discover(buckets)
      if (monotonicMs() < fromMs) return
      const startedMs = monotonicMs()
      await discover(buckets)
      const tookMs = monotonicMs() - startedMs
      fromMs = startedMs + Math.min(tookMs / DISCOVERY_SHARE, DISCOVERY_REST_MS_MAX)
    },
    /** The next look is made in any case. */
    hurry(): void {
      fromMs = 0
    },
  }
}

/** Claims what is served whosever turn it is: suspect rows, and those that have expired. */
function createBackgroundClaims(
  deps: Pick<SenderDeps, 'db' | 'keyRing' | 'leases' | 'leaseMs' | 'log'>,
  o: { readonly queues: Pick<SendScheduler, 'serveNow'>; readonly monotonicMs: () => number },
) {
  const { db, leases, leaseMs, log } = deps
  let isStopping = false
  let suspects: Promise<void> | undefined
  let expiring: Promise<void> | undefined

  /**
   * Rows that were interrupted again and again, one at a time. What ends a process does so at once:
   * a server that hangs does not delay the next.
   */
  async function serveSuspects(): Promise<void> {
    while (!isStopping) {
      const validUntilMs = o.monotonicMs() + leaseMs
      const found = await claimPoisonRow(deps, [...leases.owned()], leaseMs)
      if (found === undefined) return
      await waitAtMost(o.queues.serveNow([found], validUntilMs), SUSPECT_MS)
    }
  }

  /** What expires does so whatever its mailer waits for: limits, or to be active again. */
  async function serveExpired(): Promise<void> {
    while (!isStopping) {
      const validUntilMs = o.monotonicMs() + leaseMs
      const bounds = { limit: EXPIRED_AT_ONCE, leaseMs }
      const found = await claimExpired(db, [...leases.owned()], bounds)
      if (found.length === 0) return
      await o.queues.serveNow(found, validUntilMs)
    }
  }

  return {
    /** Unless it is under way. */
    begin(): void {
      suspects ??= serveSuspects()
        .catch((error: unknown) => log.warn({ err: error }, 'sender_suspect.failed'))
        .finally(() => {
          suspects = undefined
        })
      expiring ??= serveExpired()
        .catch((error: unknown) => log.warn({ err: error }, 'sender_expired.failed'))
        .finally(() => {
          expiring = undefined
        })
    },
    async settled(): Promise<void> {
      await Promise.all([suspects, expiring])
    },
    stop(): void {
      isStopping = true
    },
  }
}

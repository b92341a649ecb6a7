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
import { type BucketLeases, createBucketSweep } from '../../platform/db/index.ts'
import { queueScheduled } from '../accept/queue-scheduled.ts'
import { createConversations } from '../attempt/conversations.ts'
import { claimPoisonRow } from './claim-poison-row.ts'
import { claimExpired, discoverQueues } from './claim-store.ts'
import { createLeasedRecipients } from './leased-recipients.ts'
import { queueIdOf, type Rest } from './mailer-queue.ts'
import type { QueueWakeups, WokenQueue } from './queue-wakeups.ts'
import { createSendScheduler, type SendSchedulerDeps } from './send-scheduler.ts'

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
  counts(): Record<Rest | 'slowed', number>
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
/** Longer than a sweep that the database holds up. */
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
  const timers = new Map<string, { readonly atMs: number; readonly timer: NodeJS.Timeout }>()
  let isRunning = false
  let isStopping = false
  let discoverFromMs = 0
  let suspects: Promise<void> | undefined
  let expiring: Promise<void> | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let unsubscribe: (() => void)[] = []

  function wake(queue: WokenQueue): void {
    if (leases.owned().has(queue.bucket)) queues.wake(queue)
  }

  function wakeLater(queue: WokenQueue, waitMs: number): void {
    if (!isRunning) return
    const id = `${queueIdOf(queue)} ${queue.isBulk}`
    const atMs = monotonicMs() + waitMs
    const known = timers.get(id)
    if (known !== undefined && known.atMs <= atMs) return
    clearTimeout(known?.timer)
    const fire = () => {
      timers.delete(id)
      wake(queue)
    }
    timers.set(id, { atMs, timer: setTimeout(fire, waitMs) })
  }

  async function look(buckets: readonly number[]): Promise<void> {
    if (buckets.length === 0) return
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
    await queueScheduled(db, buckets)
    if (buckets.length < leases.owned().size) return discover(buckets)
    if (monotonicMs() < discoverFromMs) return
    const startedMs = monotonicMs()
    await discover(buckets)
    const tookMs = monotonicMs() - startedMs
    discoverFromMs = startedMs + Math.min(tookMs / DISCOVERY_SHARE, DISCOVERY_REST_MS_MAX)
  }

  async function discover(buckets: readonly number[]): Promise<void> {
    for (const queue of await discoverQueues(db, buckets, AHEAD_MS)) {
      if (queue.waitMs <= 0) wake(queue)
      else wakeLater(queue, queue.waitMs)
    }
    // Whoever made a mailer active, or deleted it, has woken its queue, but not in other processes.
    const resting = queues.held()
    if (resting.length === 0) return
    const released = await findReleased(db, { withinMs: ACTIVATED_MS, held: resting })
    for (const mailer of released) queues.noteReleased(mailer)
  }

  /**
   * Rows that were interrupted again and again, one at a time. What ends a process does so at once:
   * a server that hangs does not hold up the next.
   */
  async function serveSuspects(): Promise<void> {
    while (!isStopping) {
      const validUntilMs = monotonicMs() + leaseMs
      const found = await claimPoisonRow(deps, [...leases.owned()], leaseMs)
      if (found === undefined) return
      await waitAtMost(queues.serveNow([found], validUntilMs), SUSPECT_MS)
    }
  }

  /** What expires does so whatever its mailer waits for: limits, or to be active again. */
  async function serveExpired(): Promise<void> {
    while (!isStopping) {
      const validUntilMs = monotonicMs() + leaseMs
      const o = { limit: EXPIRED_AT_ONCE, leaseMs }
      const found = await claimExpired(db, [...leases.owned()], o)
      if (found.length === 0) return
      await queues.serveNow(found, validUntilMs)
    }
  }

  function beat(): void {
    held.extend().catch((error: unknown) => log.warn({ err: error }, 'sender_claims.not_extended'))
  }

  async function settled(): Promise<void> {
    await Promise.all([suspects, expiring])
    await queues.settled()
  }

  leases.onChange(() => {
    discoverFromMs = 0
  })
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
      unsubscribe = [
        deps.wakeups.onWake((woken) => woken.forEach(wake)),
        deps.wakeups.onNews(sweep.lookAt),
      ]
      heartbeat = setInterval(beat, leaseMs / 3)
      await sweep.start()
    },
    async stop() {
      isRunning = false
      isStopping = true
      for (const end of unsubscribe) end()
      for (const { timer } of timers.values()) clearTimeout(timer)
      timers.clear()
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
      discoverFromMs = 0
      await look([...leases.owned()])
      await settled()
    },
  }
}

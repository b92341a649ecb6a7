/**
 * Serves queues: claims what is due (`claim-in-turn.ts`), attempts it, and writes what came of it
 * (`attempt-recipients.ts`).
 *
 * Tenants and their queues take turns (`runtime/fair-queue.ts`) for the claims and for the `concurrency`
 * places. What is held in memory is bounded (`leased-recipients.ts`, `large-email-budget.ts`).
 */

import { createFairQueue } from '@postrider/runtime/fair-queue'
import type { Db } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { Tracing } from '../../platform/tracing/span.ts'
import type { AcceptedMail } from '../accept/accepted-mail.ts'
import type { Claim } from '../attempt/attempt.ts'
import type { RunAttemptDeps } from '../attempt/run-attempt.ts'
import type { Ending } from '../results/ending.ts'
import type { FinishAttempts } from '../results/finish-attempts.ts'
import { createMailerEpisodes } from '../results/mailer-episodes.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { createRecipientAttempts, type RecipientAttempts } from './attempt-recipients.ts'
import { createQueueClaims, type QueueClaims } from './claim/claim-in-turn.ts'
import type { QueuedClaim, QueueKey } from './claim/claim-store.ts'
import { createLargeBudget, type LargeBudget, largeBytesOf } from './claim/large-email-budget.ts'
import { createLargeEmails } from './claim/large-emails.ts'
import type { LeasedRecipients } from './claim/leased-recipients.ts'
import { createRowLoader } from './claim/load-rows.ts'
import {
  canStart,
  claimableBy,
  classesOf,
  createMailerQueue,
  firstOf,
  isIdle,
  isUnreachable,
  type LeasedRecipient,
  type MailerQueue,
  noteClasses,
  queueIdOf,
  takeSurplus,
} from './mailer-queue.ts'
import { createMailerThrottle, type MailerThrottle } from './mailer-throttle.ts'
import { forgetMailer } from './queue-mailer.ts'
import type { WokenQueue } from './queue-wakeups.ts'

export interface SendSchedulerDeps extends Omit<RunAttemptDeps, 'markCommitted' | 'returnPaths'> {
  readonly tracing?: Tracing | undefined
  readonly db: Db
  readonly keyRing: KeyRing
  readonly trackingUrls: TrackingUrls
  /** What this process has accepted. */
  readonly acceptedMail?: Pick<AcceptedMail, 'take'> | undefined
  readonly finishes: FinishAttempts
  readonly held: LeasedRecipients
  /** How long a claim holds without being extended. */
  readonly leaseMs: number
  readonly concurrency: number
  readonly observe: (o: { outcome: string; durationMs: number }) => void
  readonly monotonicMs: () => number
}

export interface SendScheduler {
  /** A queue has, or may have, something due. */
  wake(queue: WokenQueue): void
  /** Of queues whose mail is held: their mailers are not active. */
  held(): QueueKey[]
  /** Its mailer has become active, or was deleted. */
  noteReleased(mailer: QueueKey): void
  /** Attempts claimed rows at once, whosever turn it is. Resolves when they are over. */
  serveNow(claimed: readonly QueuedClaim[], validUntilMs: number): Promise<void>
  /** Begins nothing any more; what was claimed and not begun goes back at once. */
  close(): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  readonly isBusy: boolean
  readonly counts: MailerThrottle['counts']
}

export function createSendScheduler(deps: SendSchedulerDeps): SendScheduler {
  const { log, monotonicMs } = deps
  const tasks = createTasks()
  const throttle = createMailerThrottle({ monotonicMs, onEnd: endPause })
  const queues = createQueues(throttle)
  const episodes = createMailerEpisodes({ log, monotonicMs })
  let isClosed = false
  const gate = { track: tasks.track, isClosed: () => isClosed }

  const large = createLargeBudget({
    isWaiting: (row) => row.queue.waiting.includes(row) && canStart(row.queue),
  })
  const largeEmails = createLargeEmails(deps)
  const { load, giveBack } = createRowLoader({ ...deps, ...gate, largeEmails })
  const claims = createQueueClaims({ ...deps, ...gate, throttle, load, onClaimed: serve })
  const attempts = createRecipientAttempts({
    ...deps,
    ...gate,
    large,
    onChange: serve,
    onResult: noteResult,
    onWritten: () => turns.proceed(),
  })
  const turns = createTurns({ ...deps, ...gate, claims, attempts, large })

  function endPause(queue: MailerQueue): void {
    noteClasses(queue, { small: true, bulk: true })
    serve(queue)
  }

  /** To be called after each change of a queue. */
  function serve(queue: MailerQueue): void {
    const surplus = takeSurplus(queue)
    noteClasses(queue, classesOf(surplus))
    giveBack(surplus)
    turns.join(queue)
    if (isIdle(queue)) queues.delete(queue)
    turns.proceed()
  }

  function noteResult(row: LeasedRecipient, ending: Ending, begunMs: number): void {
    // Nothing was heard of the server.
    if (ending.kind !== 'finished' || ending.claim.isExpired) return
    const { queue } = row
    episodes.note(row, ending)
    queue.isFailing = isUnreachable(ending)
    // What was claimed goes back, so that it can expire, and be cancelled.
    if (throttle.noteResult(queue, ending, begunMs)) giveBack(queue.waiting.splice(0))
  }

  async function attemptAtOnce(
    queue: MailerQueue,
    claimed: readonly Claim[],
    validUntilMs: number,
  ): Promise<void> {
    const rows = await load(queue, claimed, validUntilMs)
    await Promise.all(rows.map(attempts.attempt))
    serve(queue)
  }

  return {
    wake(key) {
      if (isClosed) return
      const queue = queues.of(key)
      const { isBulk = false, isChanged = false } = key
      noteClasses(queue, { small: !isBulk || isChanged, bulk: isBulk || isChanged })
      if (isChanged) {
        throttle.end(queue)
        forgetMailer(queue)
      }
      serve(queue)
    },
    held: throttle.inactive,
    noteReleased(mailer) {
      const queue = queues.find(mailer)
      if (queue?.pause !== 'inactive') return
      forgetMailer(queue)
      throttle.end(queue)
      endPause(queue)
    },
    async serveNow(claimed, validUntilMs) {
      const served = queues
        .group(claimed)
        .map(([queue, claims]) => attemptAtOnce(queue, claims, validUntilMs))
      const all = Promise.all(served)
      tasks.track(all)
      await all
    },
    close() {
      isClosed = true
      throttle.stop()
      for (const queue of queues.all()) giveBack(queue.waiting.splice(0))
    },
    settled: tasks.settled,
    get isBusy() {
      return tasks.isBusy
    },
    counts: throttle.counts,
  }
}

/** The queues that have, or may have, something to do. */
function createQueues(throttle: Pick<MailerThrottle, 'slowingOf'>) {
  const queues = new Map<string, MailerQueue>()

  function of(key: WokenQueue): MailerQueue {
    const known = queues.get(queueIdOf(key))
    if (known !== undefined) return known
    const queue = createMailerQueue(key)
    queue.slowing = throttle.slowingOf(queue)
    queues.set(queue.id, queue)
    return queue
  }

  return {
    of,
    find: (key: QueueKey) => queues.get(queueIdOf(key)),
    all: () => queues.values(),
    delete: ({ id }: MailerQueue) => queues.delete(id),
    group(claimed: readonly QueuedClaim[]): (readonly [MailerQueue, readonly Claim[]])[] {
      return [...Map.groupBy(claimed, queueIdOf).values()].flatMap((ofQueue) => {
        const [key] = ofQueue
        return key === undefined ? [] : [[of(key), ofQueue.map(({ claim }) => claim)] as const]
      })
    },
  }
}

/** Whose turn it is: to claim, and to attempt what was claimed. */
function createTurns({
  held,
  concurrency,
  claims,
  attempts,
  large,
  track,
  isClosed,
}: Pick<SendSchedulerDeps, 'held' | 'concurrency'> & {
  readonly claims: QueueClaims
  readonly attempts: RecipientAttempts
  readonly large: LargeBudget
  readonly track: (task: Promise<unknown>) => void
  readonly isClosed: () => boolean
}) {
  const hungry = createFairQueue<MailerQueue>()
  const ready = createFairQueue<MailerQueue>()

  function claimInTurn(): void {
    while (!isClosed() && !claims.isFull) {
      const queue = hungry.take({ tenantCanGo: (tenantId) => held.roomFor(tenantId) > 0 })
      if (queue === undefined) break
      const limit = Math.min(claimableBy(queue), held.roomFor(queue.tenantId))
      if (limit > 0) track(claims.claim(queue, limit))
    }
  }

  function attemptInTurn(): void {
    while (!isClosed() && attempts.places < concurrency) {
      // One that cannot start is taken, too, and put back when it can.
      const canGo = (one: MailerQueue) => !canStart(one) || nextOf(one, large) !== undefined
      const queue = ready.take({ canGo })
      if (queue === undefined) break
      const row = canStart(queue) ? nextOf(queue, large) : undefined
      if (row !== undefined) {
        queue.waiting.splice(queue.waiting.indexOf(row), 1)
        track(attempts.attempt(row))
      }
      if (canStart(queue)) ready.add(queue)
    }
  }

  return {
    join(queue: MailerQueue): void {
      if (claimableBy(queue) > 0) hungry.add(queue)
      if (canStart(queue)) ready.add(queue)
    },
    /** To be called after each change of what is held. */
    proceed(): void {
      claimInTurn()
      attemptInTurn()
    },
  }
}

/** The first to go; a large one that does not fit now is overtaken by small ones only. */
function nextOf(queue: MailerQueue, large: LargeBudget): LeasedRecipient | undefined {
  const first = firstOf(queue)
  if (first === undefined || large.hasRoomFor(first)) return first
  return queue.waiting.find((row) => largeBytesOf(row) === 0)
}

/** What is under way, and reports its failures itself. */
function createTasks() {
  const tasks = new Set<Promise<unknown>>()
  return {
    track(task: Promise<unknown>): void {
      const tracked = task.catch(() => undefined).finally(() => tasks.delete(tracked))
      tasks.add(tracked)
    },
    async settled(): Promise<void> {
      while (tasks.size > 0) await Promise.allSettled(tasks)
    },
    get isBusy() {
      return tasks.size > 0
    },
  }
}

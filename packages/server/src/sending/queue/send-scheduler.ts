/**
 * Serves queues: claims what is due, attempts it, writes what came of it.
 *
 * Tenants and their queues take turns (`runtime/fair-queue.ts`) for the claims and for the `concurrency`
 * places. An attempt that lasts longer than a second gives its place up: slow servers do not hold
 * up others. What is held in memory is bounded (`leased-recipients.ts`, `large-email-budget.ts`).
 */

import { createFairQueue } from '@postrider/runtime/fair-queue'
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { Claim, ReadMailer } from '../attempt/attempt.ts'
import { idsOf, logAttempt } from '../attempt/attempt-log.ts'
import { createReturnPathTokens } from '../attempt/return-path-tokens.ts'
import { type RunAttemptDeps, runAttempt } from '../attempt/run-attempt.ts'
import type { Ending, Finish } from '../results/ending.ts'
import type { FinishAttempts } from '../results/finish-attempts.ts'
import { createMailerEpisodes } from '../results/mailer-episodes.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { claimRows } from './claim-rows.ts'
import type { QueuedClaim, QueueKey } from './claim-store.ts'
import { createLargeBudget, largeBytesOf } from './large-email-budget.ts'
import { createLargeEmails } from './large-emails.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import { createRowLoader, RELOAD_WAIT_MS, undone } from './load-rows.ts'
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
  noteFinished,
  noteSlow,
  queueIdOf,
  takeClasses,
  takeSurplus,
} from './mailer-queue.ts'
import { createMailerThrottle, type MailerThrottle } from './mailer-throttle.ts'
import { forgetMailer, mailerOf } from './queue-mailer.ts'
import { markCommitted } from './queue-store.ts'
import type { WokenQueue } from './queue-wakeups.ts'

export interface SendSchedulerDeps extends Omit<RunAttemptDeps, 'markCommitted' | 'returnPaths'> {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly trackingUrls: TrackingUrls
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

const SLOW_MS = 1_000
/** Each takes up to three connections to the database for a moment. */
const CLAIMS_AT_ONCE = 4

export function createSendScheduler(deps: SendSchedulerDeps): SendScheduler {
  const { db, held, leaseMs, log, monotonicMs } = deps
  const queues = new Map<string, MailerQueue>()
  const hungry = createFairQueue<MailerQueue>()
  const ready = createFairQueue<MailerQueue>()
  const tasks = new Set<Promise<unknown>>()
  const throttle = createMailerThrottle({ monotonicMs, onEnd: endRest })
  const episodes = createMailerEpisodes({ log, monotonicMs })
  let claims = 0
  let places = 0
  let isClosed = false

  const committed = createGroupCommit<Claim, boolean>({
    db,
    itemsMax: 128,
    parallel: 1,
    run: markCommitted,
  })
  const { load, giveBack } = createRowLoader({
    ...deps,
    largeEmails: createLargeEmails(deps),
    track,
    isClosed: () => isClosed,
  })
  const attemptDeps: RunAttemptDeps = {
    ...deps,
    markCommitted: committed.add,
    returnPaths: createReturnPathTokens(deps.keyRing),
  }
  const large = createLargeBudget({
    isWaiting: (row) => row.queue.waiting.includes(row) && canStart(row.queue),
  })

  function track(task: Promise<unknown>): void {
    const tracked = task.catch(() => undefined).finally(() => tasks.delete(tracked))
    tasks.add(tracked)
  }

  function queueOf(key: WokenQueue): MailerQueue {
    const known = queues.get(queueIdOf(key))
    if (known !== undefined) return known
    const queue = createMailerQueue(key)
    queue.slowing = throttle.slowingOf(queue)
    queues.set(queue.id, queue)
    return queue
  }

  function endRest(queue: MailerQueue): void {
    noteClasses(queue, { small: true, bulk: true })
    serve(queue)
  }

  /** To be called after each change of a queue. */
  function serve(queue: MailerQueue): void {
    const surplus = takeSurplus(queue)
    noteClasses(queue, classesOf(surplus))
    giveBack(surplus)
    if (claimableBy(queue) > 0) hungry.add(queue)
    if (canStart(queue)) ready.add(queue)
    if (isIdle(queue)) queues.delete(queue.id)
    proceed()
  }

  /** To be called after each change of what is held. */
  function proceed(): void {
    while (!isClosed && claims < CLAIMS_AT_ONCE) {
      const queue = hungry.take({ tenantCanGo: (tenantId) => held.roomFor(tenantId) > 0 })
      if (queue === undefined) break
      const limit = Math.min(claimableBy(queue), held.roomFor(queue.tenantId))
      if (limit > 0) track(claim(queue, limit))
    }
    while (!isClosed && places < deps.concurrency) {
      // One that cannot fly is taken, too, and put back when it can.
      const queue = ready.take({ canGo: (one) => !canStart(one) || nextOf(one) !== undefined })
      if (queue === undefined) break
      const row = canStart(queue) ? nextOf(queue) : undefined
      if (row !== undefined) {
        queue.waiting.splice(queue.waiting.indexOf(row), 1)
        track(fly(row))
      }
      if (canStart(queue)) ready.add(queue)
    }
  }

  /** The first to go; a large one for which there is no room now is passed by small ones only. */
  function nextOf(queue: MailerQueue): LeasedRecipient | undefined {
    const first = firstOf(queue)
    if (first === undefined || large.hasRoomFor(first)) return first
    return queue.waiting.find((row) => largeBytesOf(row) === 0)
  }

  async function claim(queue: MailerQueue, limit: number): Promise<void> {
    claims += 1
    const classes = takeClasses(queue)
    queue.isClaiming = true
    try {
      // What ran out while this process stood still is not claimed anew, as if it were interrupted.
      await held.catchUp()
      const validUntilMs = monotonicMs() + leaseMs
      const {
        claims: claimed,
        left,
        rest,
      } = await claimRows(deps, queue, {
        classes,
        limit,
        leaseMs,
      })
      noteClasses(queue, left)
      if (rest !== undefined && !isClosed) throttle.begin(queue, rest.because, rest.ms)
      if (claimed.length > 0) {
        deps.failpoints.hit('send.after_claim')
        queue.waiting.push(...(await load(queue, claimed, validUntilMs)))
      }
    } catch (error) {
      // What may have been claimed is due again when its claim runs out.
      log.warn({ err: error, mailer_id: queue.mailerId }, 'sender_claim.failed')
    }
    claims -= 1
    queue.isClaiming = false
    serve(queue)
  }

  async function serveOfQueue(
    ofQueue: readonly QueuedClaim[],
    validUntilMs: number,
  ): Promise<void> {
    const [key] = ofQueue
    if (key === undefined) return
    const queue = queueOf(key)
    const claimed = ofQueue.map((one) => one.claim)
    const rows = await load(queue, claimed, validUntilMs)
    await Promise.all(rows.map(fly))
    serve(queue)
  }

  async function fly(row: LeasedRecipient): Promise<void> {
    const { queue } = row
    const use = large.begin(row)
    let isSlow = false
    let holdsPlace = true
    queue.inFlight += 1
    queue.begun += 1
    places += 1
    const leavePlace = () => {
      clearTimeout(slow)
      if (holdsPlace) places -= 1
      holdsPlace = false
    }
    const slow = setTimeout(() => {
      isSlow = true
      leavePlace()
      use.slow()
      noteSlow(queue)
      serve(queue)
    }, SLOW_MS)
    const startedMs = monotonicMs()
    const ending = await run(row)
    leavePlace()
    use.end()
    noteFinished(queue, isSlow)
    if (ending === undefined) {
      held.delete(row)
    } else {
      if (ending.kind === 'finished') noteResult(row, ending, startedMs)
      // The connection is free: the next message does not wait for this one's commit.
      track(finish(row, ending, monotonicMs() - startedMs))
    }
    serve(queue)
  }

  function noteResult(row: LeasedRecipient, ending: Finish, begunMs: number): void {
    // Nothing was heard of the server.
    if (ending.claim.isExpired) return
    const { queue } = row
    episodes.note(row, ending)
    queue.isFailing = isUnreachable(ending)
    // What was claimed goes back, so that it can expire, and be cancelled.
    if (throttle.noteResult(queue, ending, begunMs)) giveBack(queue.waiting.splice(0))
  }

  /** Undefined when nothing is to be written. */
  async function run(row: LeasedRecipient): Promise<Ending | undefined> {
    const { claim: claimed } = row.loaded
    const mailer = await freshMailer(row.queue)
    if (mailer === undefined) return undone(claimed, RELOAD_WAIT_MS)
    if (!held.isValid(row)) {
      // Nothing was begun, so nothing was interrupted.
      log.warn(idsOf(claimed), 'claim.ran_out')
      return undone(claimed, 0)
    }
    try {
      return await runAttempt(attemptDeps, { ...row.loaded, mailer })
    } catch (error) {
      // A defect. Its claim runs out, and it counts as interrupted.
      log.error({ err: error, ...idsOf(claimed) }, 'attempt.crashed')
      return undefined
    }
  }

  /** Undefined when it cannot be read now. */
  async function freshMailer(queue: MailerQueue): Promise<ReadMailer | undefined> {
    try {
      return await mailerOf(deps, queue)
    } catch (error) {
      log.warn({ err: error, mailer_id: queue.mailerId }, 'mailer.not_read')
      return undefined
    }
  }

  async function finish(row: LeasedRecipient, ending: Ending, durationMs: number): Promise<void> {
    try {
      const ended = await deps.finishes.end(ending)
      deps.failpoints.hit('send.after_finish')
      const { queue, loaded } = row
      logAttempt(deps, { ending, durationMs, email: loaded.email, mailer: queue.mailer }, ended)
    } catch (error) {
      log.error({ err: error, ...idsOf(ending.claim) }, 'attempt.not_written')
    }
    held.delete(row)
    proceed()
  }

  return {
    wake(key) {
      if (isClosed) return
      const queue = queueOf(key)
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
      const queue = queues.get(queueIdOf(mailer))
      if (queue?.rest !== 'inactive') return
      forgetMailer(queue)
      throttle.end(queue)
      endRest(queue)
    },
    async serveNow(claimed, validUntilMs) {
      const served = [...Map.groupBy(claimed, queueIdOf).values()].map((ofQueue) =>
        serveOfQueue(ofQueue, validUntilMs),
      )
      const all = Promise.all(served)
      track(all)
      await all
    },
    close() {
      isClosed = true
      throttle.stop()
      for (const queue of queues.values()) giveBack(queue.waiting.splice(0))
    },
    async settled() {
      while (tasks.size > 0) await Promise.allSettled(tasks)
    },
    get isBusy() {
      return tasks.size > 0
    },
    counts: throttle.counts,
  }
}

/**
 * Serves lanes: claims what is due, attempts it, writes what came of it.
 *
 * Tenants and their lanes take turns (`platform/turns.ts`) for the claims and for the `concurrency`
 * places. An attempt that lasts longer than a second gives its place up: slow servers do not hold
 * up others. What is held in memory is bounded (`leased-recipients.ts`, `large-email-budget.ts`).
 */
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { createTurns } from '../../platform/turns.ts'
import type { Claim, ReadMailer } from '../attempt/attempt.ts'
import { idsOf, logAttempt } from '../attempt/attempt-log.ts'
import { createReturnPathTokens } from '../attempt/return-path-tokens.ts'
import { type RunAttemptDeps, runAttempt } from '../attempt/run-attempt.ts'
import type { Ending, Finish } from '../results/ending.ts'
import type { FinishAttempts } from '../results/finish-attempts.ts'
import { createMailerEpisodes } from '../results/mailer-episodes.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { claimRows } from './claim-rows.ts'
import type { ClaimOfLane, LaneKey } from './claim-store.ts'
import { createLargeBudget, largeBytesOf } from './large-email-budget.ts'
import { createLargeEmails } from './large-emails.ts'
import type { HeldRows } from './leased-recipients.ts'
import { createRowLoader, RELOAD_WAIT_MS, undone } from './load-rows.ts'
import {
  canFly,
  claimableBy,
  classesOf,
  createLane,
  firstOf,
  type Held,
  isIdle,
  isUnreachable,
  type Lane,
  laneId,
  noteClasses,
  noteLanded,
  noteSlow,
  takeClasses,
  takeSurplus,
} from './mailer-queue.ts'
import { createLaneRests, type LaneRests } from './mailer-throttle.ts'
import { forgetMailer, mailerOf } from './queue-mailer.ts'
import { markDot } from './queue-store.ts'
import type { WokenLane } from './queue-wakeups.ts'

export interface ServeLanesDeps extends Omit<RunAttemptDeps, 'markDot' | 'returnPaths'> {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly trackingUrls: TrackingUrls
  readonly finishes: FinishAttempts
  readonly held: HeldRows
  /** How long a claim holds without being extended. */
  readonly leaseMs: number
  readonly concurrency: number
  readonly observe: (o: { outcome: string; durationMs: number }) => void
  readonly monotonicMs: () => number
}

export interface LaneServer {
  /** A lane has, or may have, something due. */
  wake(lane: WokenLane): void
  /** Of lanes whose mail is held: their mailers are not active. */
  held(): LaneKey[]
  /** Its mailer has become active, or was deleted. */
  noteReleased(mailer: LaneKey): void
  /** Attempts claimed rows at once, whosever turn it is. Resolves when they are over. */
  serveNow(claimed: readonly ClaimOfLane[], validUntilMs: number): Promise<void>
  /** Begins nothing any more; what was claimed and not begun goes back at once. */
  close(): void
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  readonly isBusy: boolean
  readonly counts: LaneRests['counts']
}

const SLOW_MS = 1_000
/** Each takes up to three connections to the database for a moment. */
const CLAIMS_AT_ONCE = 4

export function createLaneServer(deps: ServeLanesDeps): LaneServer {
  const { db, held, leaseMs, log, monotonicMs } = deps
  const lanes = new Map<string, Lane>()
  const hungry = createTurns<Lane>()
  const ready = createTurns<Lane>()
  const tasks = new Set<Promise<unknown>>()
  const rests = createLaneRests({ monotonicMs, onEnd: endRest })
  const episodes = createMailerEpisodes({ log, monotonicMs })
  let claims = 0
  let places = 0
  let isClosed = false

  const dots = createGroupCommit<Claim, boolean>({ db, itemsMax: 128, lanes: 1, run: markDot })
  const { load, giveBack } = createRowLoader({
    ...deps,
    largeEmails: createLargeEmails(deps),
    track,
    isClosed: () => isClosed,
  })
  const attemptDeps: RunAttemptDeps = {
    ...deps,
    markDot: dots.add,
    returnPaths: createReturnPathTokens(deps.keyRing),
  }
  const large = createLargeBudget({
    isWaiting: (row) => row.lane.waiting.includes(row) && canFly(row.lane),
  })

  function track(task: Promise<unknown>): void {
    const tracked = task.catch(() => undefined).finally(() => tasks.delete(tracked))
    tasks.add(tracked)
  }

  function laneOf(key: WokenLane): Lane {
    const known = lanes.get(laneId(key))
    if (known !== undefined) return known
    const lane = createLane(key)
    lane.slowing = rests.slowingOf(lane)
    lanes.set(lane.id, lane)
    return lane
  }

  function endRest(lane: Lane): void {
    noteClasses(lane, { small: true, bulk: true })
    serve(lane)
  }

  /** To be called after each change of a lane. */
  function serve(lane: Lane): void {
    const surplus = takeSurplus(lane)
    noteClasses(lane, classesOf(surplus))
    giveBack(surplus)
    if (claimableBy(lane) > 0) hungry.add(lane)
    if (canFly(lane)) ready.add(lane)
    if (isIdle(lane)) lanes.delete(lane.id)
    proceed()
  }

  /** To be called after each change of what is held. */
  function proceed(): void {
    while (!isClosed && claims < CLAIMS_AT_ONCE) {
      const lane = hungry.take({ tenantCanGo: (tenantId) => held.roomFor(tenantId) > 0 })
      if (lane === undefined) break
      const limit = Math.min(claimableBy(lane), held.roomFor(lane.tenantId))
      if (limit > 0) track(claim(lane, limit))
    }
    while (!isClosed && places < deps.concurrency) {
      // One that cannot fly is taken, too, and put back when it can.
      const lane = ready.take({ canGo: (one) => !canFly(one) || nextOf(one) !== undefined })
      if (lane === undefined) break
      const row = canFly(lane) ? nextOf(lane) : undefined
      if (row !== undefined) {
        lane.waiting.splice(lane.waiting.indexOf(row), 1)
        track(fly(row))
      }
      if (canFly(lane)) ready.add(lane)
    }
  }

  /** The first to go; a large one for which there is no room now is passed by small ones only. */
  function nextOf(lane: Lane): Held | undefined {
    const first = firstOf(lane)
    if (first === undefined || large.hasRoomFor(first)) return first
    return lane.waiting.find((row) => largeBytesOf(row) === 0)
  }

  async function claim(lane: Lane, limit: number): Promise<void> {
    claims += 1
    const classes = takeClasses(lane)
    lane.isClaiming = true
    try {
      // What ran out while this process stood still is not claimed anew, as if it were interrupted.
      await held.catchUp()
      const validUntilMs = monotonicMs() + leaseMs
      const {
        claims: claimed,
        left,
        rest,
      } = await claimRows(deps, lane, {
        classes,
        limit,
        leaseMs,
      })
      noteClasses(lane, left)
      if (rest !== undefined && !isClosed) rests.begin(lane, rest.because, rest.ms)
      if (claimed.length > 0) {
        deps.failpoints.hit('send.after_claim')
        lane.waiting.push(...(await load(lane, claimed, validUntilMs)))
      }
    } catch (error) {
      // What may have been claimed is due again when its claim runs out.
      log.warn({ err: error, mailer_id: lane.mailerId }, 'sender_claim.failed')
    }
    claims -= 1
    lane.isClaiming = false
    serve(lane)
  }

  async function serveOfLane(ofLane: readonly ClaimOfLane[], validUntilMs: number): Promise<void> {
    const [key] = ofLane
    if (key === undefined) return
    const lane = laneOf(key)
    const claimed = ofLane.map((one) => one.claim)
    const rows = await load(lane, claimed, validUntilMs)
    await Promise.all(rows.map(fly))
    serve(lane)
  }

  async function fly(row: Held): Promise<void> {
    const { lane } = row
    const use = large.begin(row)
    let isSlow = false
    let holdsPlace = true
    lane.inFlight += 1
    lane.begun += 1
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
      noteSlow(lane)
      serve(lane)
    }, SLOW_MS)
    const startedMs = monotonicMs()
    const ending = await run(row)
    leavePlace()
    use.end()
    noteLanded(lane, isSlow)
    if (ending === undefined) {
      held.delete(row)
    } else {
      if (ending.kind === 'finished') noteResult(row, ending, startedMs)
      // The connection is free: the next message does not wait for this one's commit.
      track(finish(row, ending, monotonicMs() - startedMs))
    }
    serve(lane)
  }

  function noteResult(row: Held, ending: Finish, begunMs: number): void {
    // Nothing was heard of the server.
    if (ending.claim.isExpired) return
    const { lane } = row
    episodes.note(row, ending)
    lane.isFailing = isUnreachable(ending)
    // What was claimed goes back, so that it can expire, and be cancelled.
    if (rests.noteResult(lane, ending, begunMs)) giveBack(lane.waiting.splice(0))
  }

  /** Undefined when nothing is to be written. */
  async function run(row: Held): Promise<Ending | undefined> {
    const { claim: claimed } = row.loaded
    const mailer = await freshMailer(row.lane)
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
  async function freshMailer(lane: Lane): Promise<ReadMailer | undefined> {
    try {
      return await mailerOf(deps, lane)
    } catch (error) {
      log.warn({ err: error, mailer_id: lane.mailerId }, 'mailer.not_read')
      return undefined
    }
  }

  async function finish(row: Held, ending: Ending, durationMs: number): Promise<void> {
    try {
      const ended = await deps.finishes.end(ending)
      deps.failpoints.hit('send.after_finish')
      const { lane, loaded } = row
      logAttempt(deps, { ending, durationMs, email: loaded.email, mailer: lane.mailer }, ended)
    } catch (error) {
      log.error({ err: error, ...idsOf(ending.claim) }, 'attempt.not_written')
    }
    held.delete(row)
    proceed()
  }

  return {
    wake(key) {
      if (isClosed) return
      const lane = laneOf(key)
      const { isBulk = false, isChanged = false } = key
      noteClasses(lane, { small: !isBulk || isChanged, bulk: isBulk || isChanged })
      if (isChanged) {
        rests.end(lane)
        forgetMailer(lane)
      }
      serve(lane)
    },
    held: rests.inactive,
    noteReleased(mailer) {
      const lane = lanes.get(laneId(mailer))
      if (lane?.rest !== 'inactive') return
      forgetMailer(lane)
      rests.end(lane)
      endRest(lane)
    },
    async serveNow(claimed, validUntilMs) {
      const served = [...Map.groupBy(claimed, laneId).values()].map((ofLane) =>
        serveOfLane(ofLane, validUntilMs),
      )
      const all = Promise.all(served)
      track(all)
      await all
    },
    close() {
      isClosed = true
      rests.stop()
      for (const lane of lanes.values()) giveBack(lane.waiting.splice(0))
    },
    async settled() {
      while (tasks.size > 0) await Promise.allSettled(tasks)
    },
    get isBusy() {
      return tasks.size > 0
    },
    counts: rests.counts,
  }
}

/** Waits for the work, at most so long. */
export async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const timeout = Promise.withResolvers<void>()
  const timer = setTimeout(timeout.resolve, ms)
  await Promise.race([work, timeout.promise])
  clearTimeout(timer)
}

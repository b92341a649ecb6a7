/**
 * The sender: serves the mailers of the buckets whose lease this process holds.
 *
 * Each mailer with something due is a lane (`lane.ts`). Tenants and their lanes take turns, for the
 * claims as for the `concurrency` places (`lane-turns.ts`), and an attempt that lasts longer than a
 * second gives its place up: slow servers do not hold up others. What is held in memory is bounded
 * (`held-rows.ts`).
 *
 * Leases and wake-ups are hints. What keeps two senders apart is the fence of each row.
 */
import { createGroupCommit, type Db } from '../platform/db/index.ts'
import type { BucketLeases } from '../platform/db/leases.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import type { Service } from '../platform/service.ts'
import type { Claim } from './attempt.ts'
import { idsOf, logAttempt } from './attempt-log.ts'
import { createConversations } from './conversations.ts'
import type { Ending, FinishAttempts } from './finish-attempts.ts'
import { createHeldRows } from './held-rows.ts'
import {
  canFly,
  claimableBy,
  createLane,
  type Held,
  isIdle,
  isUnreachable,
  type Lane,
  laneId,
} from './lane.ts'
import { createLaneTurns } from './lane-turns.ts'
import type { LaneWakeups, WokenLane } from './lane-wakeups.ts'
import { createLargeContents, LARGE_CONTENT_BYTES } from './large-contents.ts'
import { loadAttempts } from './load-attempts.ts'
import { claimDue, claimSuspect, discoverLanes, markDot } from './queue-store.ts'
import { type RunAttemptDeps, runAttempt } from './run-attempt.ts'

export interface SenderDeps
  extends Omit<RunAttemptDeps, 'markDot' | 'conversations' | 'loadContent'> {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly leases: BucketLeases
  readonly wakeups: LaneWakeups
  readonly finishes: FinishAttempts
  /** How long a claim holds without being extended. */
  readonly leaseMs: number
  readonly concurrency: number
  readonly observe: (o: { outcome: string; durationMs: number }) => void
  /** How long conversations under way may last after `stop`. */
  readonly stopGraceMs?: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
}

export interface Sender extends Service {
  /** Finds what is due and attempts it, until nothing is. For tests. */
  runOnce(): Promise<void>
}

const SWEEP_MS = 1_000
const SLOW_MS = 1_000
const STOP_GRACE_MS = 10_000
/** For what conversations that were cut have left to write. */
const CUT_GRACE_MS = 3_000
/** Each takes up to three connections to the database for a moment. */
const CLAIMS_AT_ONCE = 4
/** Of emails with large attachments, in messages under way: each is in memory about three times. */
const LARGE_BYTES_MAX = 100 * 1024 * 1024
const ORPHAN_WAIT_MS = 3_600_000

export function createSender(deps: SenderDeps): Sender {
  const { db, leases, leaseMs, log } = deps
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const contents = createLargeContents({ db })
  const held = createHeldRows({ db, leaseMs, monotonicMs })
  const lanes = new Map<string, Lane>()
  const hungry = createLaneTurns()
  const ready = createLaneTurns()
  const tasks = new Set<Promise<unknown>>()
  const timers = new Map<string, NodeJS.Timeout>()
  let conversations = createConversations()
  let claims = 0
  let places = 0
  let largeBytes = 0
  let isSuspectServed = false
  let isStarted = false
  let isStopping = false
  let sweepTimer: NodeJS.Timeout | undefined
  let sweeping: Promise<void> | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let unsubscribe = (): void => undefined

  const dots = createGroupCommit<Claim, boolean>({ db, itemsMax: 128, run: markDot })
  const attemptDeps: RunAttemptDeps = {
    ...deps,
    get conversations() {
      return conversations
    },
    markDot: (claim) => dots.add(claim),
    loadContent: contents.get,
  }

  function track(task: Promise<unknown>): void {
    const tracked = task.finally(() => tasks.delete(tracked))
    tasks.add(tracked)
  }

  function wake(key: WokenLane): void {
    if (isStopping || !leases.owned().has(key.bucket)) return
    const lane = laneOf(key)
    lane.isWoken = true
    serve(lane)
  }

  function laneOf(key: WokenLane): Lane {
    const known = lanes.get(laneId(key))
    if (known !== undefined) return known
    const lane = createLane(key)
    lanes.set(lane.id, lane)
    return lane
  }

  /** To be called after each change of a lane. */
  function serve(lane: Lane): void {
    if (claimableBy(lane) > 0) hungry.add(lane)
    if (canFly(lane)) ready.add(lane)
    if (isIdle(lane)) lanes.delete(lane.id)
    proceed()
  }

  /** To be called after each change of what is held. */
  function proceed(): void {
    while (!isStopping && claims < CLAIMS_AT_ONCE) {
      const lane = hungry.take({ tenantCanGo: (tenantId) => held.roomFor(tenantId) > 0 })
      if (lane === undefined) break
      const limit = Math.min(claimableBy(lane), held.roomFor(lane.tenantId))
      if (limit > 0) track(claim(lane, limit))
    }
    while (!isStopping && places < deps.concurrency) {
      const lane = ready.take({ canGo: hasMemoryForNext })
      const row = lane !== undefined && canFly(lane) ? lane.waiting.shift() : undefined
      if (lane === undefined) break
      if (row !== undefined) track(fly(row))
      if (canFly(lane)) ready.add(lane)
    }
  }

  function hasMemoryForNext(lane: Lane): boolean {
    const bytes = largeBytesOf(lane.waiting[0])
    return bytes === 0 || largeBytes === 0 || largeBytes + bytes <= LARGE_BYTES_MAX
  }

  async function claim(lane: Lane, limit: number): Promise<void> {
    claims += 1
    lane.isClaiming = true
    lane.isWoken = false
    try {
      const validUntilMs = monotonicMs() + leaseMs
      const claimed = await claimDue(db, lane, { limit, leaseMs })
      // A full answer: there may be more.
      if (claimed.length === limit) lane.isWoken = true
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
    if (isStopping) giveBack(lane.waiting.splice(0))
    serve(lane)
  }

  async function load(
    lane: Lane,
    claimed: readonly Claim[],
    validUntilMs: number,
  ): Promise<Held[]> {
    try {
      const loaded = await loadAttempts(deps, lane, claimed)
      lane.connectionsMax = loaded.connectionsMax
      for (const orphan of loaded.orphans) {
        log.error(idsOf(orphan), 'sender_email.missing')
        undo(orphan, ORPHAN_WAIT_MS)
      }
      const rows = loaded.attempts.map((attempt) => ({ loaded: attempt, lane, validUntilMs }))
      held.add(rows)
      return rows
    } catch (error) {
      // Nothing was begun, so nothing was interrupted.
      for (const one of claimed) undo(one, SWEEP_MS)
      throw error
    }
  }

  function undo(claimed: Claim, waitMs: number): void {
    const ending: Ending = { kind: 'undone', claim: claimed, undo: { kind: 'undone', waitMs } }
    track(
      deps.finishes.end(ending).catch((error: unknown) => {
        log.warn({ err: error, ...idsOf(claimed) }, 'claim.not_given_back')
      }),
    )
  }

  function giveBack(rows: readonly Held[]): void {
    for (const row of rows) {
      held.delete(row)
      undo(row.loaded.claim, 0)
    }
  }

  async function fly(row: Held): Promise<void> {
    const { lane } = row
    const bytes = largeBytesOf(row)
    let holdsPlace = true
    lane.inFlight += 1
    places += 1
    largeBytes += bytes
    const leavePlace = () => {
      clearTimeout(slow)
      if (holdsPlace) places -= 1
      holdsPlace = false
    }
    const slow = setTimeout(() => {
      leavePlace()
      proceed()
    }, SLOW_MS)
    const startedMs = monotonicMs()
    const ending = await run(row)
    leavePlace()
    lane.inFlight -= 1
    largeBytes -= bytes
    // The connection is free: the next message does not wait for this one's commit.
    if (ending === undefined) held.delete(row)
    else {
      if (ending.kind === 'finished') lane.isFailing = isUnreachable(ending)
      track(finish(row, ending, monotonicMs() - startedMs))
    }
    serve(lane)
  }

  /** Undefined when nothing is to be written. */
  async function run(row: Held): Promise<Ending | undefined> {
    const { claim: claimed } = row.loaded
    if (!held.isValid(row)) {
      log.warn(idsOf(claimed), 'claim.ran_out')
      return undefined
    }
    try {
      return await runAttempt(attemptDeps, row.loaded)
    } catch (error) {
      // A defect. Its claim runs out, and it counts as interrupted.
      log.error({ err: error, ...idsOf(claimed) }, 'attempt.crashed')
      return undefined
    }
  }

  async function finish(row: Held, ending: Ending, durationMs: number): Promise<void> {
    try {
      const ended = await deps.finishes.end(ending)
      deps.failpoints.hit('send.after_finish')
      logAttempt(deps, ending, ended, durationMs)
    } catch (error) {
      log.error({ err: error, ...idsOf(ending.claim) }, 'attempt.not_written')
    }
    held.delete(row)
    proceed()
  }

  /** Rows that were interrupted again and again: one at a time, besides all others. */
  async function serveSuspects(): Promise<void> {
    if (isSuspectServed) return
    isSuspectServed = true
    try {
      while (!isStopping) {
        const validUntilMs = monotonicMs() + leaseMs
        const found = await claimSuspect(db, [...leases.owned()], leaseMs)
        if (found === undefined) break
        const [row] = await load(laneOf(found), [found.claim], validUntilMs)
        if (row === undefined) continue
        if (isStopping) return giveBack([row])
        const flight = fly(row)
        track(flight)
        // What ends a process does so at once; a server that hangs does not hold up the next.
        await within(flight, SLOW_MS)
      }
    } finally {
      isSuspectServed = false
    }
  }

  async function sweep(): Promise<void> {
    const buckets = [...leases.owned()]
    if (buckets.length === 0) return
    track(
      serveSuspects().catch((error: unknown) => log.warn({ err: error }, 'sender_suspect.failed')),
    )
    for (const lane of await discoverLanes(db, buckets)) {
      if (lane.waitMs <= 0) wake(lane)
      else if (isStarted) wakeLater(lane, lane.waitMs)
    }
  }

  function wakeLater(lane: WokenLane, waitMs: number): void {
    const id = laneId(lane)
    if (timers.has(id)) return
    const fire = () => {
      timers.delete(id)
      wake(lane)
    }
    timers.set(id, setTimeout(fire, waitMs))
  }

  function sweepForever(): void {
    clearTimeout(sweepTimer)
    if (!isStarted || sweeping !== undefined) return
    sweeping = sweep()
      .catch((error: unknown) => log.warn({ err: error }, 'sender_sweep.failed'))
      .finally(() => {
        sweeping = undefined
        if (isStarted) sweepTimer = setTimeout(sweepForever, SWEEP_MS)
      })
  }

  function beat(): void {
    held.extend().catch((error: unknown) => log.warn({ err: error }, 'sender_claims.not_extended'))
  }

  async function settle(): Promise<void> {
    while (tasks.size > 0) await Promise.allSettled(tasks)
  }

  /** What was claimed and not begun goes back at once. */
  async function windDown(): Promise<void> {
    await sweeping
    clearTimeout(sweepTimer)
    for (const lane of lanes.values()) giveBack(lane.waiting.splice(0))
    await settle()
  }

  leases.onChange(sweepForever)

  return {
    name: 'sender',
    async start() {
      if (isStarted) return
      isStarted = true
      isStopping = false
      conversations = createConversations()
      unsubscribe = deps.wakeups.onWake(wake)
      heartbeat = setInterval(beat, leaseMs / 3)
      sweepForever()
    },
    async stop() {
      isStarted = false
      isStopping = true
      unsubscribe()
      clearTimeout(sweepTimer)
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
      hungry.clear()
      ready.clear()
      await within(windDown(), deps.stopGraceMs ?? STOP_GRACE_MS)
      conversations.cut()
      if (tasks.size > 0) {
        log.warn({ attempts: held.size }, 'sender.cuts_attempts_under_way')
        await deps.pool.stop()
        await within(settle(), CUT_GRACE_MS)
      }
      // What still cannot be written is left to its claim: before the dot it is run again, after it
      // the outcome is uncertain.
      deps.finishes.abandon()
      clearInterval(heartbeat)
      lanes.clear()
    },
    async runOnce() {
      await sweep()
      await settle()
    },
  }
}

function largeBytesOf(row: Held | undefined): number {
  const bytes = row?.loaded.claim.contentBytes ?? 0
  return bytes < LARGE_CONTENT_BYTES ? 0 : bytes
}

async function within(work: Promise<unknown>, ms: number): Promise<void> {
  const timeout = Promise.withResolvers<void>()
  const timer = setTimeout(timeout.resolve, ms)
  await Promise.race([work, timeout.promise])
  clearTimeout(timer)
}

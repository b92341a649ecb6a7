/**
 * The sender: serves the mailers of the buckets whose lease this process holds.
 *
 * Each mailer with something due is a lane. A lane claims a few rows at a time and keeps at most
 * as many attempts under way as its mailer may have connections; one whose server cannot be
 * reached is tried by one attempt at a time. Lanes take turns for the `concurrency` places, and an
 * attempt that lasts longer than a second gives its place up: slow servers do not hold up others.
 *
 * Leases and wake-ups are hints. What keeps two senders apart is the fence of each row.
 */
import type { FailureCategory } from '../mail/index.ts'
import { loadMailerForSend, type MailerForSend } from '../mailers/index.ts'
import { createGroupCommit, type Db } from '../platform/db/index.ts'
import type { BucketLeases } from '../platform/db/leases.ts'
import { dayOfUlid } from '../platform/ids.ts'
import { type KeyRing, SealedValueError } from '../platform/secrets/index.ts'
import type { Service } from '../platform/service.ts'
import type { Claim } from './attempt.ts'
import type { EmailContent } from './email.ts'
import type { Ending, FinishAttempts } from './finish-attempts.ts'
import type { LaneWakeups } from './lane-wakeups.ts'
import { claimDue, discoverLanes, extendClaims, loadForSend, markDot } from './queue-store.ts'
import { type LoadedAttempt, type RunAttemptDeps, runAttempt } from './run-attempt.ts'

export interface SenderDeps extends Omit<RunAttemptDeps, 'markDot'> {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly leases: BucketLeases
  readonly wakeups: LaneWakeups
  readonly finishes: FinishAttempts
  /** How long a claim holds without being extended. */
  readonly leaseMs: number
  readonly concurrency: number
  readonly observe: (o: { outcome: string; durationMs: number }) => void
}

export interface Sender extends Service {
  /** Finds what is due and attempts it, until nothing is. For tests. */
  runOnce(): Promise<void>
}

const SWEEP_MS = 1_000
const SLOW_MS = 1_000
/** Attempts under way at once, the slow ones included: each may hold a message in memory. */
const IN_FLIGHT_MAX = 2_048
const CLAIMED_AHEAD = 4
const STOP_GRACE_MS = 10_000

interface Lane {
  readonly tenantId: string
  readonly mailerId: string
  readonly bucket: number
  readonly waiting: LoadedAttempt[]
  inFlight: number
  connectionsMax: number
  /** The server could not be reached at the last try. */
  isFailing: boolean
  isClaiming: boolean
  /** Something became due, or may have, since the last claim. */
  isWoken: boolean
}

interface Flight {
  readonly claim: Claim
  extendAt: number
}

export function createSender(deps: SenderDeps): Sender {
  const lanes = new Map<string, Lane>()
  const flights = new Set<Flight>()
  const tasks = new Set<Promise<unknown>>()
  let turn: Lane[] = []
  let places = 0
  let isStarted = false
  let isStopping = false
  let sweepTimer: NodeJS.Timeout | undefined
  let sweeping: Promise<void> | undefined
  let heartbeat: NodeJS.Timeout | undefined
  let unsubscribe = (): void => undefined

  const dots = createGroupCommit<Claim, boolean>({
    db: deps.db,
    itemsMax: 128,
    run: markDot,
  })
  const attemptDeps: RunAttemptDeps = { ...deps, markDot: (claim) => dots.add(claim) }

  function track(task: Promise<unknown>): void {
    const tracked = task.finally(() => tasks.delete(tracked))
    tasks.add(tracked)
  }

  function wake(key: { tenantId: string; mailerId: string; bucket: number }): void {
    if (isStopping || !deps.leases.owned().has(key.bucket)) return
    const id = `${key.tenantId} ${key.mailerId}`
    let lane = lanes.get(id)
    if (lane === undefined) {
      lane = {
        ...key,
        waiting: [],
        inFlight: 0,
        connectionsMax: 1,
        isFailing: false,
        isClaiming: false,
        isWoken: true,
      }
      lanes.set(id, lane)
    }
    lane.isWoken = true
    serve(lane)
  }

  /** Claims ahead of the connections, so that none of them waits for a round trip. */
  function serve(lane: Lane): void {
    // A few at a time: one claim for each connection that comes free would cost a commit per mail.
    const ahead = limitOf(lane) * CLAIMED_AHEAD
    const isLow = lane.waiting.length <= ahead / 2
    if (lane.isWoken && !lane.isClaiming && isLow && !isStopping) {
      lane.isClaiming = true
      lane.isWoken = false
      track(claim(lane, ahead - lane.waiting.length))
    }
    if (lane.waiting.length > 0 && !turn.includes(lane)) turn.push(lane)
    fill()
  }

  function limitOf(lane: Lane): number {
    return lane.isFailing ? 1 : lane.connectionsMax
  }

  async function claim(lane: Lane, limit: number): Promise<void> {
    try {
      const claims = await claimDue(deps.db, lane, { limit, leaseMs: deps.leaseMs })
      // A full answer: there may be more.
      if (claims.length === limit) lane.isWoken = true
      if (claims.length > 0) {
        deps.failpoints.hit('send.after_claim')
        await load(lane, claims)
      }
    } catch (error) {
      // Whatever was claimed is due again when its claim runs out.
      deps.log.warn({ err: error, mailer_id: lane.mailerId }, 'sender_claim.failed')
    } finally {
      lane.isClaiming = false
    }
    serve(lane)
    forgetIfIdle(lane)
  }

  async function load(lane: Lane, claims: readonly Claim[]): Promise<void> {
    const located = claims.map((c) => ({ ...c, day: dayOfUlid(c.refId) }))
    const [mailer, { emails, recipients }] = await Promise.all([
      loadMailer(lane),
      loadForSend(deps.db, lane.tenantId, located),
    ])
    lane.connectionsMax = mailer?.connectionsMax ?? 1
    const emailOf = new Map(emails.map((e) => [e.ref_id, e]))
    const recipientOf = new Map(recipients.map((r) => [`${r.ref_id}.${r.n}`, r]))
    for (const claimed of claims) {
      const email = emailOf.get(claimed.refId)
      const recipient = recipientOf.get(`${claimed.refId}.${claimed.n}`)
      if (email === undefined || recipient === undefined) {
        deps.log.error({ ref_id: claimed.refId, n: claimed.n }, 'sender_email.missing')
        continue
      }
      lane.waiting.push({
        claim: claimed,
        mailer,
        content: email.content as EmailContent,
        customArgs: email.custom_args,
        traceparent: email.traceparent,
        createdAt: email.created_at,
        email: recipient.email,
        messageId: recipient.message_id,
      })
    }
  }

  async function loadMailer(lane: Lane): Promise<MailerForSend | undefined> {
    try {
      return await loadMailerForSend(deps.db, deps.keyRing, lane.tenantId, lane.mailerId)
    } catch (error) {
      if (!(error instanceof SealedValueError)) throw error
      deps.log.error({ err: error, mailer_id: lane.mailerId }, 'mailer.unreadable')
      return undefined
    }
  }

  /** One attempt of each lane in turn, while there are places. */
  function fill(): void {
    while (places < deps.concurrency && flights.size < IN_FLIGHT_MAX) {
      const i = turn.findIndex((lane) => lane.inFlight < limitOf(lane))
      const lane = turn[i]
      if (lane === undefined) return
      turn.splice(i, 1)
      const next = lane.waiting.shift()
      if (next === undefined) continue
      if (lane.waiting.length > 0) turn.push(lane)
      track(fly(lane, next))
    }
  }

  async function fly(lane: Lane, loaded: LoadedAttempt): Promise<void> {
    const flight: Flight = { claim: loaded.claim, extendAt: Date.now() + deps.leaseMs / 3 }
    flights.add(flight)
    lane.inFlight += 1
    places += 1
    let holdsPlace = true
    const leavePlace = () => {
      if (holdsPlace) places -= 1
      holdsPlace = false
    }
    const slow = setTimeout(() => {
      leavePlace()
      fill()
    }, SLOW_MS)
    const startedMs = performance.now()
    try {
      const ending = await runAttempt(attemptDeps, loaded)
      clearTimeout(slow)
      leavePlace()
      lane.inFlight -= 1
      lane.isFailing = isUnreachable(ending)
      // The connection is free: the next message does not wait for this one's commit.
      if (ending !== undefined) track(finish(flight, ending, performance.now() - startedMs))
      else flights.delete(flight)
    } catch (error) {
      clearTimeout(slow)
      leavePlace()
      lane.inFlight -= 1
      flights.delete(flight)
      deps.log.error({ err: error, ref_id: loaded.claim.refId }, 'attempt.crashed')
    }
    serve(lane)
    forgetIfIdle(lane)
  }

  async function finish(flight: Flight, ending: Ending, durationMs: number): Promise<void> {
    const { claim: c } = flight
    try {
      const ended = await deps.finishes.end(ending)
      deps.failpoints.hit('send.after_finish')
      const outcome = outcomeOf(ending)
      deps.observe({ outcome: ended.isLost ? 'lost' : outcome, durationMs })
      deps.log.info(
        {
          tenant_id: c.tenantId,
          ref_id: c.refId,
          n: c.n,
          mailer_id: c.mailerId,
          attempt: c.attempt,
          max_attempts: c.maxAttempts,
          outcome,
          ...describe(ending),
          duration_ms: Math.round(durationMs),
          is_lost: ended.isLost || undefined,
        },
        'attempt.finished',
      )
    } catch (error) {
      deps.log.error({ err: error, ref_id: c.refId, n: c.n }, 'attempt.not_written')
    } finally {
      flights.delete(flight)
    }
  }

  function forgetIfIdle(lane: Lane): void {
    const isIdle = lane.inFlight === 0 && lane.waiting.length === 0 && !lane.isClaiming
    if (isIdle && !lane.isWoken) lanes.delete(`${lane.tenantId} ${lane.mailerId}`)
  }

  /** Claims of attempts that take long, or wait for their turn, are kept alive. */
  async function extend(): Promise<void> {
    const now = Date.now()
    const waiting = [...lanes.values()].flatMap((lane) => lane.waiting.map((w) => w.claim))
    const due = [...flights].filter((flight) => flight.extendAt <= now)
    for (const flight of due) flight.extendAt = now + deps.leaseMs / 3
    const claims = [...due.map((flight) => flight.claim), ...waiting]
    if (claims.length > 0) await extendClaims(deps.db, claims, deps.leaseMs)
  }

  async function sweep(): Promise<void> {
    const buckets = [...deps.leases.owned()]
    if (buckets.length === 0) return
    for (const lane of await discoverLanes(deps.db, buckets)) {
      if (lane.waitMs <= 0) wake(lane)
      else setTimeout(wake, lane.waitMs, lane).unref()
    }
  }

  function sweepForever(): void {
    clearTimeout(sweepTimer)
    if (!isStarted || sweeping !== undefined) return
    sweeping = sweep()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'sender_sweep.failed'))
      .finally(() => {
        sweeping = undefined
        if (isStarted) sweepTimer = setTimeout(sweepForever, SWEEP_MS)
      })
  }

  async function settle(): Promise<void> {
    while (tasks.size > 0) await Promise.allSettled(tasks)
  }

  /** What was claimed and not begun goes back at once. */
  async function giveBack(): Promise<void> {
    const waiting = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0))
    turn = []
    await Promise.allSettled(
      waiting.map(({ claim: c }) =>
        deps.finishes.end({ kind: 'undone', claim: c, undo: { kind: 'undone', waitMs: 0 } }),
      ),
    )
  }

  deps.leases.onChange(sweepForever)

  return {
    name: 'sender',
    async start() {
      if (isStarted) return
      isStarted = true
      isStopping = false
      unsubscribe = deps.wakeups.onWake(wake)
      heartbeat = setInterval(() => {
        extend().catch((error: unknown) =>
          deps.log.warn({ err: error }, 'sender_claims.not_extended'),
        )
      }, deps.leaseMs / 3)
      sweepForever()
    },
    async stop() {
      isStarted = false
      isStopping = true
      unsubscribe()
      clearTimeout(sweepTimer)
      await sweeping
      clearTimeout(sweepTimer)
      await giveBack()
      const isDone = await Promise.race([settle().then(() => true), after(STOP_GRACE_MS)])
      if (isDone !== true) {
        // What is still under way is left to its claim: before the dot it is run again, after it
        // the outcome is uncertain.
        deps.finishes.abandon()
        deps.log.warn({ attempts: flights.size }, 'sender.stopped_with_attempts_under_way')
      }
      clearInterval(heartbeat)
      lanes.clear()
    },
    async runOnce() {
      await sweep()
      await settle()
    },
  }
}

/** A server that cannot be reached is not worth more than one connection at a time. */
function isUnreachable(ending: Ending | undefined): boolean {
  if (ending?.kind !== 'finished' || ending.result.kind !== 'failed') return false
  return UNREACHABLE.has(ending.result.category)
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'network',
  'host_not_found',
  'address_refused',
  'tls_unavailable',
  'tls_certificate',
  'tls_certificate_expired',
  'tls_wrong_port',
  'auth_rejected',
  'auth_required',
  'auth_temporary',
  'auth_throttled',
] satisfies FailureCategory[])

function outcomeOf(ending: Ending): string {
  if (ending.kind === 'undone') return 'undone'
  if (ending.result.kind === 'accepted') return 'accepted'
  if (ending.result.isUncertain) return 'uncertain'
  return ending.next?.kind === 'retry' ? 'deferred' : 'failed'
}

function describe(ending: Ending): Record<string, unknown> {
  if (ending.kind === 'undone') return {}
  const { result, next, event } = ending
  return {
    ...(result.kind === 'failed' ? { category: result.category } : {}),
    ...(next?.kind === 'retry' ? { wait_ms: next.waitMs } : {}),
    ...(next?.kind === 'give-up' ? { because: next.because } : {}),
    traceparent: event.traceparent,
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

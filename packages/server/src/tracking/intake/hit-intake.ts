/**
 * Takes hits in, so that what is answered is on a disk: in the spool, from where it is recorded soon,
 * or in the database (docs/adr/0014).
 *
 * With the disk as the first place, opens and clicks are answered when they are in the spool; only a
 * link that is not known here is asked of the database before.
 *
 * With the database as the first place, and always for unsubscribing, a request waits for its commit
 * for a bounded time. One that takes longer goes into the spool too; should its commit come after all,
 * the hit meets itself there. While the database is known to be away nobody waits for it: pixels and
 * unsubscriptions, and clicks on links that were followed lately, go into the spool and are answered;
 * every other one is refused with `unavailable` at once. A probe finds out when the database is back.
 */

import type { Service } from '@postrider/runtime/service'
import { withTimeout } from '@postrider/runtime/timeout'
import { createGroupCommit, DatabaseUnavailableError, type Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Logger } from '../../platform/log.ts'
import { createSummedLog } from '../../platform/summed-log.ts'
import { findFull } from '../record/hit-store.ts'
import type { HitRecorder } from '../record/record-hits.ts'
import { type HitSpool, SpoolFullError } from '../spool/hit-spool.ts'
import { createHitReplay } from '../spool/replay-hits.ts'
import type { TrackedRecipient } from '../tokens.ts'
import { createDeadlines } from './deadlines.ts'
import { type FloodGuard, hitsAnHourMax, hourMs } from './flood-guard.ts'
import type { Hit, HitOutcome } from './hit.ts'
import { millisOf, recipientKey } from './judge-hits.ts'

export type TakenIn =
  | HitOutcome
  /** Kept in a file, and recorded soon, or when the database is back. */
  | { readonly kind: 'spooled'; readonly url?: string }
  /** One of too many of its token: answered and not recorded. */
  | { readonly kind: 'bounded'; readonly url?: string }

export interface HitIntake extends Service {
  /** Throws `unavailable` when it can be neither recorded nor kept. */
  take(hit: Hit): Promise<TakenIn>
  /** Where a link leads to, without a hit. Throws likewise. */
  urlOf(hit: Hit): Promise<string | undefined>
  /** Whether nobody knows any more whom it is about. Of what cannot be asked now that is not said. */
  isGone(who: TrackedRecipient): Promise<boolean>
  /** Records what is in the spool; answers how many hits that were. */
  runOnce(): Promise<number>
  readonly isDatabaseAway: boolean
}

export interface HitIntakeDeps {
  readonly db: Db
  readonly recorder: HitRecorder
  readonly spool: HitSpool
  readonly floods: FloodGuard
  readonly log: Logger
  readonly failpoints: Failpoints
  /** Where opens and clicks have to be before they are answered. */
  readonly firstOn: 'disk' | 'database'
  /** How long an answer waits for its commit, and for a flush of the spool. */
  readonly answerMs?: number | undefined
  /** What came of hits from the spool. */
  readonly observe: (hit: Hit, result: HitOutcome['kind'] | 'refused') => void
}

const ANSWER_MS = 600
const ASKED_AT_ONCE = 256
/** Requests that wait for a commit; more are more than the database can do. */
const WAITING_MAX = 5_000
const PROBE_MS = 250
const PROBE_MS_MAX = 5_000
/** Back for less than that, it was not. */
const BRIEF_MS = 2 * PROBE_MS_MAX
/** One that hangs tells nothing, and must not take all connections. */
const PROBES_MAX = 2
const CLOSED_WITHIN_MS = 5_000
/** How long the first of a file waits: so many more go into one transaction. */
const WRITTEN_AFTER_MS = 100
/** A random part of it is added, so that callers do not all come back at once. */
const RETRY_S = 2

export function createHitIntake(deps: HitIntakeDeps): HitIntake {
  const { recorder, spool, floods, log, answerMs = ANSWER_MS } = deps
  let isAway = false
  const isFirstOnDisk = deps.firstOn === 'disk'
  const deadlines = createDeadlines(answerMs)
  let inFlight = 0
  /** When the database last did what it was asked for; by the monotonic clock. */
  let committedAt = Number.NEGATIVE_INFINITY
  let probes = 0
  let probeMs = PROBE_MS
  let backAt = Number.NEGATIVE_INFINITY
  let isStopped = false
  let probeTimer: NodeJS.Timeout | undefined
  /** By token: whether all processes together have recorded enough of it. */
  const asking = new Map<string, Promise<boolean>>()

  /** By token: what many requests to unsubscribe share. */
  const unsubscribing = new Map<string, Promise<HitOutcome>>()
  const asks = createGroupCommit<Hit, boolean>({
    db: deps.db,
    itemsMax: ASKED_AT_ONCE,
    run: (tx, hits) => findFull(tx, hits, { withinMs: hourMs, max: hitsAnHourMax }),
  })
  const links = createGroupCommit<Hit, string | undefined>({
    db: deps.db,
    itemsMax: ASKED_AT_ONCE,
    run: (tx, hits) => Promise.all(hits.map((hit) => recorder.findUrl(hit, tx))),
  })
  // A disk that fails does so for every hit.
  const spoolFailed = createSummedLog({ log, level: 'error', message: 'tracking.spool_failed' })
  const failed = createSummedLog({ log, level: 'error', message: 'tracking.failed' })
  const replay = createHitReplay({
    ...deps,
    ownEveryMs: isFirstOnDisk ? WRITTEN_AFTER_MS : undefined,
    isAway: () => isAway,
    goAway,
  })

  /** What `work` brings; when that is late, or fails, what `otherwise` does. */
  function inTimeOr<T, Else>(work: Promise<T>, otherwise: () => Else): Promise<T | Awaited<Else>> {
    inFlight += 1
    return new Promise<T | Awaited<Else>>((resolve) => {
      let isLate = false
      const giveUp = () => resolve(otherwise() as Awaited<Else>)
      const deadline = deadlines.add(() => {
        isLate = true
        // Others are served: it is slow, not away.
        if (performance.now() - committedAt >= answerMs) goAway('no commit in time')
        giveUp()
      })
      const end = () => {
        deadlines.delete(deadline)
        inFlight -= 1
      }
      work.then(
        (result) => {
          end()
          committedAt = performance.now()
          resolve(result)
        },
        (error: unknown) => {
          end()
          if (!(error instanceof DatabaseUnavailableError)) failed.note({ err: error })
          else if (!isLate) goAway(error)
          if (!isLate) giveUp()
        },
      )
    })
  }

  function goAway(reason: unknown): void {
    if (isAway || isStopped) return
    isAway = true
    // One that answers and does no work (a full disk, a standby) is asked less and less often.
    const isBrief = performance.now() - backAt < BRIEF_MS
    probeMs = isBrief ? Math.min(probeMs * 2, PROBE_MS_MAX) : PROBE_MS
    log.warn({ err: reason }, 'tracking.database_away')
    probeTimer = setInterval(probe, probeMs)
  }

  function probe(): void {
    if (probes >= PROBES_MAX) return
    probes += 1
    deps.db
      .query('select 1')
      .then(comeBack, () => undefined)
      .finally(() => {
        probes -= 1
      })
  }

  function comeBack(): void {
    if (!isAway) return
    isAway = false
    backAt = performance.now()
    clearInterval(probeTimer)
    log.info({ spool_bytes: spool.bytes }, 'tracking.database_back')
    replay.look()
  }

  function record(hit: Hit, token: string): Promise<TakenIn> {
    const isOpen = !isAway && inFlight < WAITING_MAX
    return isOpen ? inTimeOr(recorder.record(hit), () => keep(hit, token)) : keep(hit, token)
  }

  /** Rejects when it takes too long as well; then it may be in a file all the same. */
  function append(hit: Hit, o?: { readonly isTried: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      const deadline = deadlines.add(() => reject(new Error('no flush in time')))
      const appended = spool.append(hit, o).finally(() => deadlines.delete(deadline))
      appended.then(resolve, reject)
    })
  }

  /** On the disk first. What that does not take, as it is full, broken or slow, goes to the database. */
  async function keepFirst(hit: Hit, token: string): Promise<TakenIn> {
    try {
      const url = hit.kind === 'click' ? await urlOf(hit) : undefined
      if (hit.kind === 'click' && url === undefined) return { kind: 'gone' }
      await append(hit)
      deps.failpoints.hit('hit.after_append')
      return url === undefined ? { kind: 'spooled' } : { kind: 'spooled', url }
    } catch (error) {
      if (error instanceof ApiError) {
        floods.giveBack(token)
        throw error
      }
      if (!(error instanceof SpoolFullError)) spoolFailed.note({ err: error })
      return await record(hit, token)
    }
  }

  async function keep(hit: Hit, token: string): Promise<TakenIn> {
    const url = hit.kind === 'click' ? recorder.knownUrl(hit) : undefined
    try {
      if (hit.kind === 'click' && url === undefined) throw unavailable()
      await append(hit, { isTried: true })
    } catch (error) {
      floods.giveBack(token)
      if (error instanceof ApiError) throw error
      spoolFailed.note({ err: error })
      throw unavailable(error)
    }
    return url === undefined ? { kind: 'spooled' } : { kind: 'spooled', url }
  }

  async function takeAsked(hit: Hit, token: string, isFullHere: boolean): Promise<TakenIn> {
    // Those of the same token that come meanwhile wait for the answer, too.
    if (!isFullHere && (await asking.get(token)) !== true) return await record(hit, token)
    if (hit.kind === 'unsubscribe') return await unsubscribeAgain(hit, token)
    const url = hit.kind === 'click' ? await urlOf(hit) : undefined
    if (hit.kind === 'click' && url === undefined) return { kind: 'gone' }
    return url === undefined ? { kind: 'bounded' } : { kind: 'bounded', url }
  }

  /** Whether others have filled the hour; unknown is no reason to refuse. */
  async function isFullElsewhere(hit: Hit, token: string): Promise<boolean> {
    const isFull = await inTimeOr(asks.add(hit), () => false)
    if (isFull) floods.fill(token)
    return isFull
  }

  async function urlOf(hit: Hit): Promise<string | undefined> {
    const known = recorder.knownUrl(hit)
    if (known !== undefined) return known
    if (isAway) throw unavailable()
    const refuse = () => Promise.reject(unavailable())
    return await inTimeOr(links.add(hit), refuse)
  }

  async function isGone(who: TrackedRecipient): Promise<boolean> {
    if (isAway || inFlight >= WAITING_MAX) return false
    return await inTimeOr(recorder.isGone(who), () => false)
  }

  /** Whoever is told that it is done is out, so it is asked for all the same: once at a time. */
  async function unsubscribeAgain(hit: Hit, token: string): Promise<TakenIn> {
    if (isAway) throw unavailable()
    const refuse = () => Promise.reject(unavailable())
    const underWay = unsubscribing.get(token) ?? inTimeOr(recorder.record(hit), refuse)
    unsubscribing.set(token, underWay)
    return await underWay.finally(() => unsubscribing.delete(token))
  }

  return {
    name: 'hit intake',
    get isDatabaseAway() {
      return isAway
    },
    urlOf,
    isGone,
    runOnce: replay.runOnce,
    take(hit) {
      const token = `${hit.kind} ${recipientKey(hit)} ${hit.link}`
      const answer = floods.admit(token, millisOf(hit))
      if (answer === 'ask' && !isAway) {
        const asked = isFullElsewhere(hit, token).finally(() => asking.delete(token))
        asking.set(token, asked)
      }
      if (answer !== 'full' && isFirstOnDisk && hit.kind !== 'unsubscribe')
        return keepFirst(hit, token)
      if (answer !== 'full' && !asking.has(token)) return record(hit, token)
      return takeAsked(hit, token, answer === 'full')
    },
    async start() {
      isStopped = false
      await replay.start()
    },
    async stop() {
      isStopped = true
      clearInterval(probeTimer)
      await replay.stop({ isDraining: !isAway })
      // What waits for a flush is answered as late by now; a disk that is stuck must not hold up the end.
      await withTimeout(spool.close(), CLOSED_WITHIN_MS).catch((error: unknown) =>
        log.warn({ err: error }, 'spool.not_closed'),
      )
    },
  }
}

function unavailable(cause?: unknown): ApiError {
  const retryAfterS = RETRY_S + Math.floor(Math.random() * RETRY_S)
  return new ApiError('unavailable', { retryAfterS, ...(cause === undefined ? {} : { cause }) })
}

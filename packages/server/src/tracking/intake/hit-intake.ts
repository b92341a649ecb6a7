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
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Logger } from '../../platform/log.ts'
import { findFull } from '../record/hit-store.ts'
import type { HitRecorder } from '../record/record-hits.ts'
import type { HitSpool } from '../spool/hit-spool.ts'
import { createHitReplay } from '../spool/replay-hits.ts'
import type { TrackedRecipient } from '../tokens.ts'
import { createDatabaseWatch, type DatabaseWatch } from './database-watch.ts'
import { createDeadlines } from './deadlines.ts'
import { type FloodGuard, hitsAnHourMax, hourMs } from './flood-guard.ts'
import type { Hit, HitOutcome } from './hit.ts'
import { millisOf, recipientKey } from './judge-hits.ts'
import { createHitKeeper, type TakenIn, unavailable } from './keep-hits.ts'
import { createTimedCommits, type TimedCommits } from './timed-commits.ts'

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
const CLOSED_WITHIN_MS = 5_000
/** How long the first of a file waits: so many more go into one transaction. */
const WRITTEN_AFTER_MS = 100

export function createHitIntake(deps: HitIntakeDeps): HitIntake {
  const { db, recorder, spool, floods, log, answerMs = ANSWER_MS } = deps
  const isFirstOnDisk = deps.firstOn === 'disk'
  const deadlines = createDeadlines(answerMs)
  const database = createDatabaseWatch({
    db,
    log,
    onBack() {
      log.info({ spool_bytes: spool.bytes }, 'tracking.database_back')
      replay.look()
    },
  })
  const replay = createHitReplay({
    ...deps,
    ownEveryMs: isFirstOnDisk ? WRITTEN_AFTER_MS : undefined,
    isAway: () => database.isAway,
    goAway: database.goAway,
  })
  const commits = createTimedCommits({ answerMs, deadlines, database, log })
  const urlOf = createLinkLookup(deps, database, commits)
  const keeper = createHitKeeper({ ...deps, deadlines, urlOf })
  const floodQuestions = createFloodQuestions(deps, commits)
  /** By token: what many requests to unsubscribe share. */
  const unsubscribing = new Map<string, Promise<HitOutcome>>()

  function take(hit: Hit): Promise<TakenIn> {
    const token = `${hit.kind} ${recipientKey(hit)} ${hit.link}`
    const answer = floods.admit(token, millisOf(hit))
    if (answer === 'ask' && !database.isAway) floodQuestions.ask(hit, token)
    if (answer !== 'full' && isFirstOnDisk && hit.kind !== 'unsubscribe')
      return keeper.keepFirst(hit, token, () => record(hit, token))
    const isFull = answer === 'full' || floodQuestions.underWay(token)
    return isFull === undefined ? record(hit, token) : takeAsked(hit, token, isFull)
  }

  function record(hit: Hit, token: string): Promise<TakenIn> {
    const keep = () => keeper.keep(hit, token)
    const isOpen = !database.isAway && !commits.isFull
    return isOpen ? commits.inTimeOr(recorder.record(hit), keep) : keep()
  }

  /** Those of the same token that come while it is asked for wait for the answer, too. */
  async function takeAsked(
    hit: Hit,
    token: string,
    isFull: boolean | Promise<boolean>,
  ): Promise<TakenIn> {
    if (!(await isFull)) return await record(hit, token)
    if (hit.kind === 'unsubscribe') return await unsubscribeAgain(hit, token)
    const url = hit.kind === 'click' ? await urlOf(hit) : undefined
    if (hit.kind === 'click' && url === undefined) return { kind: 'gone' }
    return url === undefined ? { kind: 'bounded' } : { kind: 'bounded', url }
  }

  /** A person who was told so must be unsubscribed, so it is still done: once at a time. */
  async function unsubscribeAgain(hit: Hit, token: string): Promise<TakenIn> {
    if (database.isAway) throw unavailable()
    const refuse = () => Promise.reject(unavailable())
    const underWay = unsubscribing.get(token) ?? commits.inTimeOr(recorder.record(hit), refuse)
    unsubscribing.set(token, underWay)
    return await underWay.finally(() => unsubscribing.delete(token))
  }

  return {
    name: 'hit intake',
    get isDatabaseAway() {
      return database.isAway
    },
    take,
    urlOf,
    async isGone(who) {
      if (database.isAway || commits.isFull) return false
      return await commits.inTimeOr(recorder.isGone(who), () => false)
    },
    runOnce: replay.runOnce,
    async start() {
      database.start()
      await replay.start()
    },
    async stop() {
      database.stop()
      await replay.stop({ isDraining: !database.isAway })
      // Hits that wait for a flush are answered as late by now; a disk that hangs must not delay the end.
      await withTimeout(spool.close(), CLOSED_WITHIN_MS).catch((error: unknown) =>
        log.warn({ err: error }, 'spool.not_closed'),
      )
    },
  }
}

/** Where links lead to: those that are not known here are asked of the database, many at once. */
function createLinkLookup(
  { db, recorder }: HitIntakeDeps,
  database: DatabaseWatch,
  { inTimeOr }: TimedCommits,
): HitIntake['urlOf'] {
  const links = createGroupCommit<Hit, string | undefined>({
    db,
    itemsMax: ASKED_AT_ONCE,
    run: (tx, hits) => Promise.all(hits.map((hit) => recorder.findUrl(hit, tx))),
  })
  return async (hit) => {
    const known = recorder.knownUrl(hit)
    if (known !== undefined) return known
    if (database.isAway) throw unavailable()
    const refuse = () => Promise.reject(unavailable())
    return await inTimeOr(links.add(hit), refuse)
  }
}

/** Asks by token whether all processes together have recorded enough of it. */
function createFloodQuestions({ db, floods }: HitIntakeDeps, { inTimeOr }: TimedCommits) {
  const asking = new Map<string, Promise<boolean>>()
  const asks = createGroupCommit<Hit, boolean>({
    db,
    itemsMax: ASKED_AT_ONCE,
    run: (tx, hits) => findFull(tx, hits, { withinMs: hourMs, max: hitsAnHourMax }),
  })

  /** Whether others have filled the hour; unknown is no reason to refuse. */
  async function isFullElsewhere(hit: Hit, token: string): Promise<boolean> {
    const isFull = await inTimeOr(asks.add(hit), () => false)
    if (isFull) floods.fill(token)
    return isFull
  }

  return {
    ask(hit: Hit, token: string): void {
      const asked = isFullElsewhere(hit, token).finally(() => asking.delete(token))
      asking.set(token, asked)
    },
    underWay: (token: string) => asking.get(token),
  }
}

/**
 * Records the hits of a file in few transactions, and finds out which of them the database refuses, and
 * which wait for a lock that others hold: a group that fails is halved until what fails is one hit.
 *
 * A locked row delays others for a bounded time. A group waits for a lock for a second, its parts for
 * less; the one that is found is put off with all that wait for the same lock; and where the search takes
 * too long, the rest of what was searched.
 */
import { DatabaseUnavailableError, isStatementTimeout } from '../../platform/db/index.ts'
import type { Hit, HitOutcome } from '../intake/hit.ts'
import type { HitRecorder } from '../record/record-hits.ts'
import type { SpooledHits } from './spool-folder.ts'

export interface RecordSpooledDeps {
  readonly recorder: Pick<HitRecorder, 'record' | 'recordAll'>
  readonly observe: (hit: Hit, outcome: HitOutcome) => void
  readonly refuse: (hit: Hit, error: unknown) => void
  /** Called after each group with how long it took. */
  readonly pause: (tookMs: number) => Promise<void>
  /** Nothing more is begun. */
  readonly isOver: () => boolean
  /** It is not tried now. */
  readonly isBlocked: (hit: Hit) => boolean
  /** It has waited for a lock alone, in vain. */
  readonly block: (hit: Hit) => void
}

export interface RecordedFile {
  readonly refused: readonly Hit[]
  /** To be tried again later; last those that have waited alone. */
  readonly late: readonly Hit[]
}

const RECORDED_AT_ONCE = 512
/** Longer than others of this program hold a lock. */
const LOCK_MS_MAX = 1_000
/** Once one has waited in vain. */
const SEARCH_LOCK_MS_MAX = 250
/** Of one file: enough to find one of a group. */
const TIMEOUTS_MAX = 12

/**
 * Undefined where it ended before all of it was tried. Throws DatabaseUnavailableError where the
 * database cannot take any now.
 */
export async function recordSpooled(
  deps: RecordSpooledDeps,
  { hits, isFresh }: Pick<SpooledHits, 'hits' | 'isFresh'>,
): Promise<RecordedFile | undefined> {
  const { recorder } = deps
  const refused: Hit[] = []
  const late: Hit[] = []
  const locked: Hit[] = []
  let timeouts = 0

  async function settle(given: readonly Hit[], isRepeated: boolean): Promise<void> {
    const some: Hit[] = []
    // Some may wait for a lock that was found a moment ago.
    for (const hit of given) (deps.isBlocked(hit) ? late : some).push(hit)
    if (some.length === 0) return
    const lockMsMax = timeouts === 0 ? LOCK_MS_MAX : SEARCH_LOCK_MS_MAX
    try {
      const outcomes = await recorder.recordAll(some, { isRepeated, lockMsMax })
      for (const [i, outcome] of outcomes.entries()) {
        const hit = some[i]
        if (hit !== undefined) deps.observe(hit, outcome)
      }
    } catch (error) {
      if (isAway(error)) throw error
      if (isStatementTimeout(error)) return await searchLocked(some)
      // Any of them may be at fault; or be recorded by now.
      if (!isRepeated) return await settle(some, true)
      if (some.length === 1) return await settleOne(some[0] as Hit)
      await settleHalves(some)
    }
  }

  async function settleHalves(some: readonly Hit[]): Promise<void> {
    const half = Math.ceil(some.length / 2)
    await settle(some.slice(0, half), true)
    await settle(some.slice(half), true)
  }

  async function searchLocked(some: readonly Hit[]): Promise<void> {
    timeouts += 1
    if (some.length === 1) return putOff(some[0] as Hit)
    if (timeouts >= TIMEOUTS_MAX) late.push(...some)
    // What a tenant's transaction holds is the tenant's.
    else await settleHalves(byTenant(some))
  }

  function putOff(hit: Hit): void {
    locked.push(hit)
    deps.block(hit)
  }

  async function settleOne(hit: Hit): Promise<void> {
    try {
      deps.observe(hit, await recorder.record(hit, { isRepeated: true }))
    } catch (error) {
      if (isAway(error)) throw error
      if (isStatementTimeout(error)) return putOff(hit)
      refused.push(hit)
      deps.refuse(hit, error)
    }
  }

  const unsubscriptions = hits.filter(({ kind }) => kind === 'unsubscribe')
  const engagements = hits.filter(({ kind }) => kind !== 'unsubscribe')
  for (let from = 0; from < engagements.length; from += RECORDED_AT_ONCE) {
    if (deps.isOver()) return undefined
    const startedAt = performance.now()
    await settle(engagements.slice(from, from + RECORDED_AT_ONCE), !isFresh)
    await deps.pause(performance.now() - startedAt)
  }
  for (const hit of unsubscriptions) {
    if (deps.isOver()) return undefined
    // One by one: what it locks besides has no order that two could share.
    if (timeouts < TIMEOUTS_MAX) await settle([hit], true)
    else late.push(hit)
  }
  return { refused, late: [...late, ...locked] }
}

/** In their order within each. */
function byTenant(hits: readonly Hit[]): Hit[] {
  return [...hits].sort((a, b) => Number(a.tenantId > b.tenantId) - Number(a.tenantId < b.tenantId))
}

/** Where a group takes too long, one of its hits may be at fault. */
function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && !isStatementTimeout(error)
}

/**
 * Records the hits of a file in few transactions, and finds out which of them the database refuses:
 * a group that fails is halved until what fails is one hit.
 */
import { DatabaseUnavailableError, isStatementTimeout } from '../platform/db/index.ts'
import type { Hit, HitOutcome } from './hit.ts'
import type { SpooledHits } from './hit-spool.ts'
import type { HitRecorder } from './record-hits.ts'

export interface RecordSpooledDeps {
  readonly recorder: Pick<HitRecorder, 'record' | 'recordAll'>
  readonly observe: (hit: Hit, outcome: HitOutcome) => void
  readonly refuse: (hit: Hit, error: unknown) => void
  /** Called after each group with how long it took. */
  readonly pause: (tookMs: number) => Promise<void>
  /** Nothing more is begun. */
  readonly isOver: () => boolean
}

const RECORDED_AT_ONCE = 512

/**
 * Answers those that the database refuses; undefined where not all were recorded. Throws
 * DatabaseUnavailableError where it cannot take them now.
 */
export async function recordSpooled(
  deps: RecordSpooledDeps,
  { hits, isFresh }: Pick<SpooledHits, 'hits' | 'isFresh'>,
): Promise<readonly Hit[] | undefined> {
  const { recorder } = deps
  const refused: Hit[] = []

  async function settle(some: readonly Hit[], isRepeated: boolean): Promise<void> {
    try {
      const outcomes = await recorder.recordAll(some, { isRepeated })
      for (const [i, outcome] of outcomes.entries()) {
        const hit = some[i]
        if (hit !== undefined) deps.observe(hit, outcome)
      }
    } catch (error) {
      if (isAway(error)) throw error
      // Any of them may be at fault; or be recorded by now.
      if (!isRepeated) return await settle(some, true)
      if (some.length === 1) return await settleOne(some[0] as Hit)
      const half = Math.ceil(some.length / 2)
      await settle(some.slice(0, half), true)
      await settle(some.slice(half), true)
    }
  }

  async function settleOne(hit: Hit): Promise<void> {
    try {
      deps.observe(hit, await recorder.record(hit, { isRepeated: true }))
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) throw error
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
    await settleOne(hit)
  }
  return refused
}

/** Where a group takes too long, one of its hits may be at fault. */
function isAway(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError && !isStatementTimeout(error)
}

/**
 * Tries unmatched reports that are due, some at a time. Where the database refuses them together they
 * are looked at one by one, and one that cannot be applied is left unmatched.
 */
import {
  type Db,
  isConflict,
  isDatabaseAway,
  isStatementTimeout,
  isWithoutPartition,
  transactByIndex,
} from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import {
  type Handled,
  type HandleReportsDeps,
  handleUnmatched,
  MATCHING_MS,
} from './handle-reports.ts'
import {
  type DueReport,
  deleteUnmatched,
  postponeUnmatched,
  takeUnmatched,
} from './unmatched-store.ts'

export interface UnmatchedApplier {
  /** A bounded piece of what is due; answers how many reports that was. */
  runOnce(): Promise<number>
}

const PIECE = 200
/** What took too long, a lock as a rule, is left alone for so long. */
const POSTPONED_MS = 30_000

export function createUnmatchedApplier(
  deps: HandleReportsDeps & {
    readonly db: Db
    readonly log: Logger
    /** After the commit. */
    readonly onHandled: (handled: Handled) => void
  },
): UnmatchedApplier {
  const { db, log } = deps

  async function apply(
    limit: number,
    onTaken?: (due: readonly DueReport[]) => void,
  ): Promise<number> {
    const handled = await transactByIndex(db, async (tx) => {
      const due = await takeUnmatched(tx, limit)
      onTaken?.(due)
      return await handleUnmatched(tx, deps, due)
    })
    deps.onHandled(handled)
    return handled.outcomes.length
  }

  async function applyOne(): Promise<number> {
    let taken: DueReport | undefined
    try {
      return await apply(1, ([one]) => {
        taken = one
      })
    } catch (error) {
      if (isDatabaseAway(error) || taken === undefined) throw error
      await putAside(taken, error)
      return 1
    }
  }

  /** Exactly that one: others may be first by now. */
  async function putAside({ report, ageMs }: DueReport, problem: unknown): Promise<void> {
    // Retention has taken the email's day meanwhile: nothing follows from it any more.
    if (isWithoutPartition(problem))
      return await transactByIndex(db, (tx) => deleteUnmatched(tx, [report]))
    const isPassing = isStatementTimeout(problem) || isConflict(problem)
    const waitMs = isPassing && ageMs < MATCHING_MS ? POSTPONED_MS : null
    await transactByIndex(db, (tx) => postponeUnmatched(tx, [{ report, waitMs }]))
    if (waitMs === null)
      log.error(
        { err: problem, tenant_id: report.tenantId, fact_id: report.fact.factId },
        'report.refused',
      )
  }

  return {
    async runOnce() {
      try {
        return await apply(PIECE)
      } catch (error) {
        if (isDatabaseAway(error)) throw error
        let count = 0
        for (let i = 0; i < PIECE; i++) {
          const done = await applyOne()
          if (done === 0) break
          count += done
        }
        return count
      }
    },
  }
}

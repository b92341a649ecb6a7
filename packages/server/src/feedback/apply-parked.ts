/**
 * Looks at parked reports that are due, some at a time. Where the database refuses them together they
 * are looked at one by one, and one that cannot be applied is left unmatched.
 */
import { type Db, isDatabaseAway, transactByIndex } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import { type Handled, type HandleReportsDeps, handleParked } from './handle-reports.ts'
import { postponeParked, takeParked } from './park-store.ts'

export interface ParkedApplier {
  /** A bounded piece of what is due; answers how many reports that was. */
  runOnce(): Promise<number>
}

const PIECE = 200

export function createParkedApplier(
  deps: HandleReportsDeps & {
    readonly db: Db
    readonly log: Logger
    /** After the commit. */
    readonly onHandled: (handled: Handled) => void
  },
): ParkedApplier {
  const { db, log } = deps

  async function apply(limit: number): Promise<number> {
    const handled = await transactByIndex(db, async (tx) => {
      const due = await takeParked(tx, limit)
      return await handleParked(tx, deps, due)
    })
    deps.onHandled(handled)
    return handled.outcomes.length
  }

  async function applyOne(): Promise<number> {
    try {
      return await apply(1)
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      return await giveUpOne(error)
    }
  }

  /** The first that is due, which has just been refused, or one that others have refused likewise. */
  async function giveUpOne(problem: unknown): Promise<number> {
    return await transactByIndex(db, async (tx) => {
      const [due] = await takeParked(tx, 1)
      if (due === undefined) return 0
      const { report } = due
      await postponeParked(tx, [{ report, waitMs: null }])
      log.error(
        { err: problem, tenant_id: report.tenantId, fact_id: report.fact.factId },
        'report.refused',
      )
      return 1
    })
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

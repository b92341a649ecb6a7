/**
 * Waits for what the database is asked for, for a bounded time. What is late, or fails, is answered in
 * another way; when nothing else was committed meanwhile either, the database counts as away.
 */
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createSummedLog } from '../../platform/summed-log.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Deadlines } from './deadlines.ts'

export interface TimedCommits {
  /** What `work` brings; when that is late, or fails, what `otherwise` does. */
  inTimeOr<T, Else>(work: Promise<T>, otherwise: () => Else): Promise<T | Awaited<Else>>
  /** Whether so many requests wait that the database could not serve one more. */
  readonly isFull: boolean
}

/** Requests that wait for a commit; more are more than the database can do. */
const WAITING_MAX = 5_000

export function createTimedCommits({
  answerMs,
  deadlines,
  database,
  log,
}: {
  readonly answerMs: number
  /** Of `answerMs`. */
  readonly deadlines: Deadlines
  readonly database: Pick<DatabaseWatch, 'goAway'>
  readonly log: Logger
}): TimedCommits {
  const failed = createSummedLog({ log, level: 'error', message: 'tracking.failed' })
  let waitingCount = 0
  /** When the database last did what it was asked for; by the monotonic clock. */
  let committedAt = Number.NEGATIVE_INFINITY

  return {
    inTimeOr<T, Else>(work: Promise<T>, otherwise: () => Else) {
      waitingCount += 1
      return new Promise<T | Awaited<Else>>((resolve) => {
        let isLate = false
        const giveUp = () => resolve(otherwise() as Awaited<Else>)
        const deadline = deadlines.add(() => {
          isLate = true
          // Others are served: it is slow, not away.
          if (performance.now() - committedAt >= answerMs) database.goAway('no commit in time')
          giveUp()
        })
        const end = () => {
          deadlines.delete(deadline)
          waitingCount -= 1
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
            else if (!isLate) database.goAway(error)
            if (!isLate) giveUp()
          },
        )
      })
    },
    get isFull() {
      return waitingCount >= WAITING_MAX
    },
  }
}

/** Keeps hits in the spool, before the database has them or in its place. */
import { ApiError } from '../../platform/errors.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Logger } from '../../platform/log.ts'
import { createSummedLog } from '../../platform/summed-log.ts'
import type { HitRecorder } from '../record/record-hits.ts'
import { type HitSpool, SpoolFullError } from '../spool/hit-spool.ts'
import type { Deadlines } from './deadlines.ts'
import type { FloodGuard } from './flood-guard.ts'
import type { Hit, HitOutcome } from './hit.ts'

export type TakenIn =
  | HitOutcome
  /** Kept in a file, and recorded soon, or when the database is back. */
  | { readonly kind: 'spooled'; readonly url?: string }
  /** One of too many of its token: answered and not recorded. */
  | { readonly kind: 'bounded'; readonly url?: string }

export interface HitKeeper {
  /** On the disk first. What that does not take, as it is full, broken or slow, `record` does. */
  keepFirst(hit: Hit, token: string, record: () => Promise<TakenIn>): Promise<TakenIn>
  /** In place of the database. Throws `unavailable`. */
  keep(hit: Hit, token: string): Promise<TakenIn>
}

/** A random part of it is added, so that callers do not all come back at once. */
const RETRY_S = 2

export function createHitKeeper(deps: {
  readonly spool: Pick<HitSpool, 'append'>
  readonly deadlines: Deadlines
  readonly floods: Pick<FloodGuard, 'giveBack'>
  readonly failpoints: Failpoints
  readonly log: Logger
  readonly recorder: Pick<HitRecorder, 'knownUrl'>
  readonly urlOf: (hit: Hit) => Promise<string | undefined>
}): HitKeeper {
  const { spool, deadlines, floods, log } = deps
  // A disk that fails does so for every hit.
  const spoolFailed = createSummedLog({ log, level: 'error', message: 'tracking.spool_failed' })

  /** Rejects when it takes too long; then it may be in a file all the same. */
  function append(hit: Hit, o?: { readonly isTried: boolean }): Promise<void> {
    return new Promise((resolve, reject) => {
      const deadline = deadlines.add(() => reject(new Error('no flush in time')))
      const appended = spool.append(hit, o).finally(() => deadlines.delete(deadline))
      appended.then(resolve, reject)
    })
  }

  return {
    async keepFirst(hit, token, record) {
      try {
        const url = hit.kind === 'click' ? await deps.urlOf(hit) : undefined
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
        return await record()
      }
    },
    async keep(hit, token) {
      const url = hit.kind === 'click' ? deps.recorder.knownUrl(hit) : undefined
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
    },
  }
}

export function unavailable(cause?: unknown): ApiError {
  const retryAfterS = RETRY_S + Math.floor(Math.random() * RETRY_S)
  return new ApiError('unavailable', { retryAfterS, ...(cause === undefined ? {} : { cause }) })
}

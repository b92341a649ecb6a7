/**
 * Attempts leased recipients, each in a place of its own, and writes what came of it.
 *
 * An attempt that lasts longer than a second gives its place up: slow servers do not delay others.
 */
import { createGroupCommit, type Db, planByIndex } from '../../platform/db/index.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { Tracing } from '../../platform/tracing/span.ts'
import type { Claim, ReadMailer } from '../attempt/attempt.ts'
import { idsOf, logAttempt } from '../attempt/attempt-log.ts'
import { createReturnPathTokens } from '../attempt/return-path-tokens.ts'
import { type RunAttemptDeps, runAttempt } from '../attempt/run-attempt.ts'
import type { Ending } from '../results/ending.ts'
import type { FinishAttempts } from '../results/finish-attempts.ts'
import type { LargeBudget } from './claim/large-email-budget.ts'
import type { LeasedRecipients } from './claim/leased-recipients.ts'
import { RELOAD_WAIT_MS, undone } from './claim/load-rows.ts'
import { type LeasedRecipient, type MailerQueue, noteFinished, noteSlow } from './mailer-queue.ts'
import { mailerOf } from './queue-mailer.ts'
import { markCommitted } from './queue-store.ts'

export interface RecipientAttempts {
  /** How many attempts have a place. */
  readonly places: number
  /** Resolves when the connection is free again; what came of it is written afterwards. */
  attempt(row: LeasedRecipient): Promise<void>
}

export interface RecipientAttemptsDeps extends RunnerDeps {
  readonly finishes: FinishAttempts
  readonly observe: (o: { outcome: string; durationMs: number }) => void
  readonly tracing?: Tracing | undefined
  readonly large: Pick<LargeBudget, 'begin'>
  readonly track: (task: Promise<unknown>) => void
  /** An attempt of the queue has ended, or has given its place up. */
  readonly onChange: (queue: MailerQueue) => void
  readonly onResult: (row: LeasedRecipient, ending: Ending, begunMs: number) => void
  /** What came of it is written, and the recipient is no longer held. */
  readonly onWritten: () => void
}

interface RunnerDeps extends Omit<RunAttemptDeps, 'markCommitted' | 'returnPaths'> {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly held: LeasedRecipients
  readonly monotonicMs: () => number
}

const SLOW_MS = 1_000

export function createRecipientAttempts(deps: RecipientAttemptsDeps): RecipientAttempts {
  const { held, monotonicMs } = deps
  const run = createRunner(deps)
  let places = 0

  /** `onSlow` is called once, when the attempt has lasted too long for its place. */
  function takePlace(onSlow: () => void): { leave(): void } {
    let holdsPlace = true
    places += 1
    const leave = () => {
      clearTimeout(slow)
      if (holdsPlace) places -= 1
      holdsPlace = false
    }
    const slow = setTimeout(() => {
      leave()
      onSlow()
    }, SLOW_MS)
    return { leave }
  }

  async function attempt(row: LeasedRecipient): Promise<void> {
    const { queue } = row
    const use = deps.large.begin(row)
    let isSlow = false
    queue.inFlight += 1
    queue.begun += 1
    const place = takePlace(() => {
      isSlow = true
      use.slow()
      noteSlow(queue)
      deps.onChange(queue)
    })
    const startedMs = monotonicMs()
    const ending = await run(row)
    place.leave()
    use.end()
    noteFinished(queue, isSlow)
    if (ending === undefined) {
      held.delete(row)
    } else {
      deps.onResult(row, ending, startedMs)
      // The connection is free: the next message does not wait for this one's commit.
      deps.track(finish(row, ending, monotonicMs() - startedMs))
    }
    deps.onChange(queue)
  }

  async function finish(row: LeasedRecipient, ending: Ending, durationMs: number): Promise<void> {
    const endedMs = monotonicMs()
    try {
      const ended = await deps.finishes.end(ending)
      deps.failpoints.hit('send.after_finish')
      const { queue, loaded } = row
      const { email, traceparent } = loaded
      const endedAgoMs = monotonicMs() - endedMs
      const attempt = { ending, durationMs, endedAgoMs, email, traceparent, mailer: queue.mailer }
      logAttempt(deps, attempt, ended)
    } catch (error) {
      deps.log.error({ err: error, ...idsOf(ending.claim) }, 'attempt.not_written')
    }
    held.delete(row)
    deps.onWritten()
  }

  return {
    attempt,
    get places() {
      return places
    },
  }
}

/** Runs an attempt; the answer is undefined when nothing is to be written. */
function createRunner(deps: RunnerDeps) {
  const { db, held, log } = deps
  const committed = createGroupCommit<Claim, boolean>({
    db,
    itemsMax: 128,
    parallel: 1,
    async run(tx, claims) {
      const [, held] = await Promise.all([planByIndex(tx), markCommitted(tx, claims)])
      return held
    },
  })
  const attemptDeps: RunAttemptDeps = {
    ...deps,
    markCommitted: committed.add,
    returnPaths: createReturnPathTokens(deps.keyRing),
  }

  /** Undefined when it cannot be read now. */
  async function freshMailer(queue: MailerQueue): Promise<ReadMailer | undefined> {
    try {
      return await mailerOf(deps, queue)
    } catch (error) {
      log.warn({ err: error, mailer_id: queue.mailerId }, 'mailer.not_read')
      return undefined
    }
  }

  return async (row: LeasedRecipient): Promise<Ending | undefined> => {
    const { claim: claimed } = row.loaded
    const mailer = await freshMailer(row.queue)
    if (mailer === undefined) return undone(claimed, RELOAD_WAIT_MS)
    if (!held.isValid(row)) {
      // Nothing was begun, so nothing was interrupted.
      log.warn(idsOf(claimed), 'claim.ran_out')
      return undone(claimed, 0)
    }
    try {
      return await runAttempt(attemptDeps, { ...row.loaded, mailer })
    } catch (error) {
      // A defect. Its claim runs out, and it counts as interrupted.
      log.error({ err: error, ...idsOf(claimed) }, 'attempt.crashed')
      return undefined
    }
  }
}

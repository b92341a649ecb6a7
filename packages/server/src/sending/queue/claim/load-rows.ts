/** From claims to rows that this process holds, and back where they are not begun. */
import type { Logger } from '../../../platform/log.ts'
import type { Claim } from '../../attempt/attempt.ts'
import { idsOf } from '../../attempt/attempt-log.ts'
import type { Ending } from '../../results/ending.ts'
import type { FinishAttempts } from '../../results/finish-attempts.ts'
import type { LeasedRecipient, MailerQueue } from '../mailer-queue.ts'
import type { LeasedRecipients } from './leased-recipients.ts'
import { type LoadAttemptsDeps, loadAttempts } from './load-attempts.ts'

export interface RowLoader {
  /** The rows that are held from now on; none when all is being closed. */
  load(
    queue: MailerQueue,
    claimed: readonly Claim[],
    validUntilMs: number,
  ): Promise<LeasedRecipient[]>
  /** They are due at once: a slow queue claims no more of them than it can begin, one that pauses none. */
  giveBack(rows: readonly LeasedRecipient[]): void
}

/** A claim that could not be followed up is given back for this long. */
export const RELOAD_WAIT_MS = 1_000
const ORPHAN_WAIT_MS = 3_600_000

export function createRowLoader(
  deps: Omit<LoadAttemptsDeps, 'prepareOf'> & {
    readonly held: LeasedRecipients
    readonly finishes: FinishAttempts
    readonly log: Logger
    readonly track: (task: Promise<unknown>) => void
    readonly isClosed: () => boolean
  },
): RowLoader {
  const { held, log } = deps

  function undo(claimed: Claim, waitMs: number): void {
    deps.track(
      deps.finishes.end(undone(claimed, waitMs)).catch((error: unknown) => {
        log.warn({ err: error, ...idsOf(claimed) }, 'claim.not_given_back')
      }),
    )
  }

  function giveBack(rows: readonly LeasedRecipient[]): void {
    for (const row of rows) {
      held.delete(row)
      undo(row.loaded.claim, 0)
    }
  }

  return {
    giveBack,
    async load(queue, claimed, validUntilMs) {
      try {
        const loaded = await loadAttempts({ ...deps, prepareOf: held.prepareOf }, queue, claimed)
        for (const orphan of loaded.orphans) {
          log.error(idsOf(orphan), 'sender_email.missing')
          undo(orphan, ORPHAN_WAIT_MS)
        }
        const rows = loaded.attempts.map((attempt) => ({ loaded: attempt, queue, validUntilMs }))
        held.add(rows)
        if (!deps.isClosed()) return rows
        giveBack(rows)
        return []
      } catch (error) {
        // Nothing was begun, so nothing was interrupted.
        for (const one of claimed) undo(one, RELOAD_WAIT_MS)
        throw error
      }
    },
  }
}

export function undone(claim: Claim, waitMs: number): Ending {
  return { kind: 'undone', claim, undo: { kind: 'undone', waitMs } }
}

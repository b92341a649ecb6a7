/**
 * Finishes attempts: attempt row, recipient status, event and next step in one transaction, shared
 * by all attempts that end while a commit is in flight.
 *
 * A finish takes effect only while its claim holds the row (the fence); one that comes too late
 * writes nothing. While the database is away it is tried again: the server's answer is known here
 * and nowhere else, and a process that ends before it is written leaves the attempt uncertain.
 */

import { pause } from '@postrider/runtime/timeout'
import {
  type Deactivated,
  type MailerError,
  type NoteDeactivated,
  noteErrors,
  type ReturnedPermission,
  returnPermissions,
} from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { addCounterChanges } from '../../platform/counters/counter-store.ts'
import {
  createGroupCommit,
  DatabaseUnavailableError,
  type Db,
  type GroupCommit,
  planByIndex,
  type Tx,
} from '../../platform/db/index.ts'
import { dayOfUlid, isTestId } from '../../platform/ids.ts'
import { recordEvents, type TouchedStream, type Wakeups } from '../../webhooks/index.ts'
import type { AttemptFailed, AttemptResult, Claim } from '../attempt/attempt.ts'
import {
  type AttemptRow,
  insertAttempts,
  isToldByRecipient,
  type StatusChange,
  setStatuses,
} from '../attempt/attempt-store.ts'
import {
  type FinishedClaim,
  finishClaims,
  postponeClaims,
  undoClaims,
} from '../queue/queue-store.ts'
import { withReason } from '../record/counter-groups.ts'
import { insertSentCopies } from '../sent-copies/insert-store.ts'
import type { NextStep } from './decide-next-step.ts'
import type { Ending, Finish, Stop } from './ending.ts'
import { settleRejections } from './settle-rejections.ts'
import { settleReportedEndings } from './settle-reported.ts'

/** `lost`: another claim holds the row, so nothing was written. */
export interface Ended {
  readonly isLost: boolean
  readonly touched: readonly TouchedStream[]
  readonly deactivated: readonly Deactivated[]
}

export interface FinishAttempts {
  /** Resolves when it is committed, however long the database is away; rejects when stopped. */
  end(ending: Ending): Promise<Ended>
  /** Gives up on what cannot be written. */
  abandon(): void
}

const GROUP_MAX = 128
const RETRY_MS = 250
/** For what the database refuses rather than cannot do: about a minute in all. */
const REFUSALS_MAX = 15
const REFUSAL_WAIT_MS_MAX = 5_000

export function createFinishAttempts(deps: {
  readonly db: Db
  readonly clock: Clock
  readonly wakeups: Wakeups
  readonly noteDeactivated: NoteDeactivated
  readonly refusalsMax?: number
  /** Of the first wait for another try; it doubles. */
  readonly retryMs?: number
}): FinishAttempts {
  const { refusalsMax = REFUSALS_MAX, retryMs = RETRY_MS } = deps
  const group: GroupCommit<Ending, Ended> = createGroupCommit({
    db: deps.db,
    itemsMax: GROUP_MAX,
    // One at a time: nobody waits for a finish, and larger groups cost the database less.
    parallel: 1,
    run: (tx, endings) => endGroup(tx, deps.clock, endings),
  })
  const abandoned = new AbortController()

  return {
    async end(decided) {
      let ending = decided
      for (let refusals = 0; ; ) {
        try {
          const ended = await group.add(ending)
          deps.wakeups.wake(ended.touched)
          for (const one of ended.deactivated) deps.noteDeactivated(one)
          return ended
        } catch (error) {
          const isRefusal = !(error instanceof DatabaseUnavailableError)
          if (isRefusal && ++refusals > refusalsMax) throw error
          const waitMs = isRefusal
            ? Math.min(retryMs * 2 ** refusals, REFUSAL_WAIT_MS_MAX)
            : retryMs
          await pause(waitMs, abandoned.signal)
          if (abandoned.signal.aborted) throw error
          // A commit whose answer was lost has deleted or moved the row: the repetition finds the
          // fence gone and writes nothing. One that was refused is stamped anew: a leap of the clock
          // may have given it a day for which there is no partition.
          if (isRefusal) ending = restamp(ending, deps.clock.nowMicros())
        }
      }
    },
    abandon() {
      abandoned.abort()
    },
  }
}

function restamp(ending: Ending, eventAtMicros: bigint): Ending {
  if (ending.kind === 'undone' || ending.event === undefined) return ending
  const stamped = { ...ending, event: { ...ending.event, eventAtMicros } }
  if (stamped.kind === 'stopped' || stamped.rejection === undefined) return stamped
  const { ifDoubted } = stamped.rejection
  const doubtedEvent = { ...ifDoubted.event, eventAtMicros }
  const rejection = { ...stamped.rejection, ifDoubted: { ...ifDoubted, event: doubtedEvent } }
  return { ...stamped, rejection }
}

async function endGroup(tx: Tx, clock: Clock, decided: readonly Ending[]): Promise<Ended[]> {
  const { endings: judged, events, deactivated } = await settleRejections(tx, clock, decided)
  const endings = await settleReportedEndings(tx, judged)
  const finishes = endings.flatMap((e, i) => (e.kind === 'finished' ? [{ ...e, i }] : []))
  const stops = endings.flatMap((e, i) => (e.kind === 'stopped' ? [{ ...e, i }] : []))
  const undone = endings.flatMap((e) =>
    e.kind === 'undone' ? [{ ...e.claim, waitMs: e.undo.waitMs }] : [],
  )
  const final = finishes.filter((f) => f.next?.kind !== 'retry')
  const retried = finishes.filter((f) => f.next?.kind === 'retry')
  const [, finalClaims, stoppedClaims, retriedClaims, undoneClaims] = await Promise.all([
    planByIndex(tx),
    finishClaims(
      tx,
      final.map((f) => f.claim),
    ),
    finishClaims(
      tx,
      stops.map((s) => s.claim),
    ),
    postponeClaims(
      tx,
      retried.map((f) => ({ ...f.claim, waitMs: f.next?.kind === 'retry' ? f.next.waitMs : 0 })),
    ),
    undoClaims(tx, undone),
  ])
  const written = [
    ...final.map((f, k) => ({ ...f, finished: finalClaims[k] })),
    ...retried.map((f, k) => ({ ...f, finished: retriedClaims[k] })),
  ].flatMap((f) => {
    const { finished } = f
    return finished === undefined ? [] : [{ ...f, finished, attempt: toAttemptRow(f, finished) }]
  })

  const stopped = stops.flatMap((stop, k) => {
    const finished = stoppedClaims[k]
    return finished === undefined ? [] : [{ ...stop, finished }]
  })
  const changes = [...written.map(toStatusChange), ...stopped.map(toStopped)]
  const ended = [...written, ...stopped]

  const [recorded] = await Promise.all([
    recordEvents(tx, [...[...written, ...stopped].flatMap(({ event }) => event ?? []), ...events]),
    // Before the attempts: those that were written earlier are seen.
    insertSentCopies(
      tx,
      written.flatMap(({ claim, sentCopyId }) =>
        sentCopyId === undefined ? [] : [{ claim, messageId: sentCopyId }],
      ),
    ),
    insertAttempts(
      tx,
      written.flatMap(({ attempt }) => (isToldByRecipient(attempt) ? [] : [attempt])),
    ),
    setStatuses(tx, changes),
    addCounterChanges(
      tx,
      ended.map(({ claim: { tenantId, mailerId: subject, groups, email = '' }, finished }, k) => {
        const { status: name = '', failedReason = '' } = changes[k] ?? {}
        const counted = withReason(groups, failedReason, email)
        return { tenantId, subject, name, at: finished.finishedAt, n: 1, ...counted }
      }),
    ),
    noteErrors(
      tx,
      written.flatMap((f) => toMailerError(f, f.finished)),
    ),
    returnPermissions(
      tx,
      [
        ...undone.filter((_, k) => undoneClaims[k] === true),
        ...stopped.map((s) => s.claim),
        ...written.filter((f) => f.claim.isExpired).map((f) => f.claim),
      ].flatMap(toReturned),
    ),
  ])
  const held = new Set([...written, ...stopped].map((f) => f.i))
  return endings.map((ending, i) => ({
    isLost: ending.kind !== 'undone' && !held.has(i),
    // The group shares one wake-up, and its deactivations: the first of it passes them on.
    touched: i === 0 ? recorded.touched : [],
    deactivated: i === 0 ? deactivated : [],
  }))
}

/** Nothing was sent by it, so its mailer may send another one instead. */
function toReturned({ tenantId, mailerId, permittedMs }: Claim): ReturnedPermission[] {
  return permittedMs === undefined ? [] : [{ tenantId, mailerId, atMs: permittedMs }]
}

function toMailerError({ claim, result }: Finish, { finishedAt }: FinishedClaim): MailerError[] {
  if (result.kind !== 'failed' || isTestId(claim.mailerId)) return []
  const { tenantId, mailerId, refId } = claim
  const { category, failedReason, providerError } = result
  return [{ tenantId, mailerId, refId, category, failedReason, providerError, at: finishedAt }]
}

function toAttemptRow({ claim, result, next }: Finish, finished: FinishedClaim): AttemptRow {
  const failure = result.kind === 'failed' ? result : undefined
  return {
    tenantId: claim.tenantId,
    refId: claim.refId,
    n: claim.n,
    attempt: claim.attempt,
    day: dayOfUlid(claim.refId),
    mailerId: claim.mailerId,
    maxAttempts: claim.maxAttempts,
    startedAt: finished.startedAt,
    finishedAt: finished.finishedAt,
    outcome: outcomeOf(failure, next),
    category: failure?.category ?? null,
    failedReason: failure?.failedReason ?? '',
    providerError: failure?.providerError ?? '',
    retryScheduled: next?.kind === 'retry',
    nextAttemptAt: finished.nextAttemptAt,
  }
}

function outcomeOf(
  failure: AttemptFailed | undefined,
  next: NextStep | undefined,
): AttemptRow['outcome'] {
  if (failure === undefined) return 'accepted'
  if (failure.isUncertain) return 'uncertain'
  return next?.kind === 'retry' ? 'deferred' : 'failed'
}

function toStatusChange({
  claim,
  result,
  next,
  messageId,
  attempt,
}: Finish & { readonly attempt: AttemptRow }): StatusChange {
  return {
    tenantId: claim.tenantId,
    refId: claim.refId,
    n: claim.n,
    day: dayOfUlid(claim.refId),
    status: statusOf(result, next),
    attempt: claim.attempt,
    failedReason: result.kind === 'failed' ? result.failedReason : '',
    ...(messageId === undefined ? {} : { messageId }),
    ...(isToldByRecipient(attempt) ? { firstStartedAt: attempt.startedAt } : {}),
  }
}

/** The attempt that was claimed for it did not happen. */
function toStopped({ claim, status, failedReason }: Stop): StatusChange {
  const { tenantId, refId, n } = claim
  const attempt = claim.attempt - 1
  const change = { tenantId, refId, n, day: dayOfUlid(refId), status, attempt, failedReason }
  // Nothing was ever made for it.
  return attempt === 0 ? { ...change, messageId: '' } : change
}

/** docs/reference/statuses.md#recipients. */
function statusOf(result: AttemptResult, next: NextStep | undefined): string {
  if (result.kind === 'accepted') return 'delivered'
  if (result.kind === 'sent') return 'sent'
  if (next?.kind === 'retry') return 'deferred'
  return result.category === 'expired' ? 'expired' : 'failed'
}

/**
 * Ends messages that were read, in one transaction: what their reports say of our own emails, the events,
 * that they were reported, and that they wait no longer. One that somebody else has taken meanwhile
 * changes nothing.
 *
 * A report on an email whose attempt is not over is looked at later: the message then waits on, and is
 * reported already.
 */

import type { UserAgent } from '@postrider/mail'
import {
  applyReports,
  type LoggedBounce,
  type RecipientReport,
  type Report,
  type ReportOutcome,
} from '../../feedback/index.ts'
import { planByIndex, type Tx } from '../../platform/db/index.ts'
import { type NewEvent, recordEvents, type TouchedStream } from '../../webhooks/index.ts'
import { type MessageSummary, markReported } from '../messages/message-store.ts'
import {
  type ClaimedMessage,
  endMessages,
  type FencedMessage,
  holdClaims,
  type MessageKey,
  putOffMessages,
} from './queue-store.ts'

export interface FinishedMessage {
  readonly claim: ClaimedMessage
  /** False: it was reported before, and its reports alone are looked at once more. */
  readonly isFirst: boolean
  /** Undefined: it was recorded before, or is a report that came back to a return path. */
  readonly event: NewEvent | undefined
  readonly reports: readonly Report[]
  readonly problem: string | undefined
  /** Undefined: it was reported before. */
  readonly summary: MessageSummary | undefined
  /** How long it waits when a report cannot be applied yet; undefined: no longer. */
  readonly lookAgainMs: number | undefined
}

export interface FinishResult {
  /** False: somebody else has it. */
  readonly isFinished: boolean
  readonly outcomes: readonly ReportOutcome[]
  /** To be woken after the commit; with the first of a group. */
  readonly touched: readonly TouchedStream[]
  /** To be logged after the commit; with the first of a group. */
  readonly bounces: readonly LoggedBounce[]
  /** To be counted after the commit; with the first of a group. */
  readonly recipientReports: readonly RecipientReport[]
}

export interface FinishDeps {
  readonly readUserAgent: (header: string | undefined) => UserAgent
}

export async function finishMessages(
  tx: Tx,
  deps: FinishDeps,
  finished: readonly FinishedMessage[],
): Promise<readonly FinishResult[]> {
  const claims = finished.map(({ claim }) => claim)
  const [, held] = await Promise.all([planByIndex(tx), holdClaims(tx, claims)])
  const isHeld = new Set(held.map(claimOf))
  const mine = finished.filter(({ claim }) => isHeld.has(claimOf(claim)))
  const applied = await applyAll(tx, deps, mine)
  const events = mine.flatMap(({ event }) => event ?? [])
  const recorded = await recordEvents(tx, events)
  const waiting = mine.filter(({ claim, lookAgainMs }) => {
    const isOpen = applied.outcomes.get(keyOf(claim))?.includes('under_way') ?? false
    return isOpen && lookAgainMs !== undefined
  })
  const isWaiting = new Set(waiting)
  await Promise.all([
    markReported(
      tx,
      mine
        .filter(({ isFirst }) => isFirst)
        .map(({ claim: { tenantId, inboundId }, problem, summary }) => ({
          ...{ tenantId, inboundId, problem, summary },
        })),
    ),
    endMessages(
      tx,
      mine.filter((one) => !isWaiting.has(one)).map(({ claim }) => claim),
    ),
    putOffMessages(
      tx,
      waiting.map(({ claim, lookAgainMs = 0 }) => ({
        ...claim,
        waitMs: lookAgainMs,
        isTry: false,
      })),
    ),
  ])
  return finished.map(({ claim }, i) => {
    const isFinished = isHeld.has(claimOf(claim))
    return {
      isFinished,
      outcomes: isFinished ? (applied.outcomes.get(keyOf(claim)) ?? []) : [],
      touched: i === 0 ? [...applied.touched, ...recorded.touched] : [],
      bounces: i === 0 ? applied.bounces : [],
      recipientReports: i === 0 ? applied.recipientReports : [],
    }
  })
}

/**
 * Before anything else is recorded, and in the order in which everyone locks recipients. Most messages
 * have none.
 */
async function applyAll(tx: Tx, deps: FinishDeps, finished: readonly FinishedMessage[]) {
  const outcomes = new Map<string, ReportOutcome[]>()
  const touched: TouchedStream[] = []
  const bounces: LoggedBounce[] = []
  const recipientReports: RecipientReport[] = []
  const all = finished.flatMap(({ claim, reports }) => reports.map((report) => ({ claim, report })))
  const byTenant = Map.groupBy(all, ({ claim }) => claim.tenantId)
  for (const [tenantId, some] of [...byTenant].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const sorted = some.toSorted((a, b) => (orderOf(a.report) < orderOf(b.report) ? -1 : 1))
    const applied = await applyReports(tx, deps, {
      tenantId,
      reports: sorted.map(({ report }) => report),
    })
    touched.push(...applied.touched)
    bounces.push(...applied.bounces)
    recipientReports.push(...applied.recipientReports)
    for (const [i, { claim }] of sorted.entries()) {
      const own = outcomes.get(keyOf(claim)) ?? []
      own.push(applied.outcomes[i] ?? 'ignored')
      outcomes.set(keyOf(claim), own)
    }
  }
  return { outcomes, touched, bounces, recipientReports }
}

function orderOf({ fact: { ref } }: Report): string {
  return `${ref?.refId ?? '~'} ${String(ref?.n ?? 0).padStart(5, '0')}`
}

/** Of a message that this process has taken again, an older claim may be among the given ones. */
function claimOf(claim: FencedMessage): string {
  return `${keyOf(claim)} ${claim.fence}`
}

function keyOf({ tenantId, inboundId }: MessageKey): string {
  return `${tenantId} ${inboundId}`
}

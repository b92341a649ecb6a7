/**
 * What follows for one recipient from reports that have not been heard before: where it stands, which of
 * them are told, and what is counted. Pure.
 *
 * Each report is an event of its own, with three exceptions: a recipient is delivered to once, has
 * unsubscribed once for as long as nobody lets the address in again, and of one who bounced already a
 * mail server that reports it by mail says nothing new.
 */
import type { RecipientStatus, StatisticName } from '@postrider/contract'
import { failedReasonOf as sentenceOf } from '@postrider/mail'
import type { RelayFactKind } from '../../relays/index.ts'
import type { ReportedRecipient, ReportedStatus } from '../../sending/index.ts'
import { decideStatus } from './decide-status.ts'
import type { MatchedReport } from './fact-store.ts'
import { answeredIdOf } from './match-reports.ts'
import { failedReasonOf, isTold, type ToldReport } from './report-events.ts'

export interface FreshReports {
  readonly recipient: ReportedRecipient
  /** In any order. */
  readonly fresh: readonly MatchedReport[]
  /** Of unsubscriptions: whether anything has changed by it. */
  readonly isNews: (report: MatchedReport) => boolean
}

export interface Count {
  readonly name: StatisticName
  readonly n: number
  readonly at: Date
  /** Of a failure. */
  readonly reason: string
}

export interface Judgement {
  /** Undefined: the row stays as it is. */
  readonly change: ReportedStatus | undefined
  readonly told: readonly ToldReport[]
  readonly counted: readonly Count[]
}

/** What the last attempt of a recipient says who failed for want of an answer alone. */
const DOUBT = sentenceOf('uncertain')

export function judgeReports({ recipient, fresh, isNews }: FreshReports): Judgement {
  const { refId, n, status, lastOutcome, messageId: knownId } = recipient
  const told: ToldReport[] = []
  const counted: Count[] = []
  const wasUncertain = lastOutcome === 'uncertain'
  // None came, or none yet: a report may be quicker than the end of the attempt that it is about.
  const hasNoAnswer = wasUncertain || status === 'sending' || knownId === ''
  let standing = {
    status,
    isInDoubt: status === 'failed' && wasUncertain && recipient.failedReason === DOUBT,
  }
  let { failedReason } = recipient
  let deliveredAt: Date | undefined
  let messageId: string | undefined
  for (const one of inOrder(fresh)) {
    const { fact } = one.report
    const at = new Date(Number(one.atMicros / 1000n))
    const had = standing.status
    const next = decideStatus(standing, fact.kind)
    if (next !== standing) {
      const before = { status: standing.status, failedReason }
      failedReason = failedReasonOf(fact)
      counted.push(...countEnds(before, { status: next.status, failedReason }, at))
      standing = next
    }
    if (hasNoAnswer) messageId ??= answeredIdOf(fact)
    if (!isTold(fact.kind)) continue
    if (fact.kind === 'unsubscribed' && !isNews(one)) continue
    if (fact.kind === 'bounced' && one.report.relay === undefined && had === 'bounced') continue
    if (fact.kind === 'delivered') {
      if (recipient.deliveredAt !== null || deliveredAt !== undefined) continue
      deliveredAt = at
    }
    const name = COUNTED[fact.kind]
    if (name !== undefined) counted.push({ name, n: 1, at, reason: '' })
    // After what it follows upon, where the provider's second is the same.
    const lastMicros = told.at(-1)?.atMicros ?? 0n
    const atMicros = one.atMicros > lastMicros ? one.atMicros : lastMicros + 1n
    told.push({
      recipient,
      messageId: messageId ?? knownId,
      fact: { ...fact, kind: fact.kind },
      atMicros,
    })
  }
  const isSame =
    standing.status === status &&
    failedReason === recipient.failedReason &&
    deliveredAt === undefined &&
    messageId === undefined
  const change = { refId, n, status: standing.status, failedReason, deliveredAt, messageId }
  return { change: isSame ? undefined : change, told, counted }
}

/** Oldest first; of one moment, in the order in which such things happen. */
function inOrder(reports: readonly MatchedReport[]): MatchedReport[] {
  const rankOf = ({ report }: MatchedReport) => WITHIN_A_SECOND[report.fact.kind]
  return reports.toSorted((a, b) => Number(a.atMicros - b.atMicros) || rankOf(a) - rankOf(b))
}

const WITHIN_A_SECOND: Readonly<Record<RelayFactKind, number>> = {
  other: 0,
  processed: 0,
  deferred: 1,
  delivered: 2,
  bounced: 3,
  policy_rejected: 3,
  generation_failed: 3,
  generation_rejected: 3,
  complained: 4,
  unsubscribed: 4,
}

const COUNTED: Readonly<Partial<Record<ToldReport['fact']['kind'], StatisticName>>> = {
  delivered: 'delivered',
  complained: 'complained',
  unsubscribed: 'unsubscribed',
}

const ENDS = ['bounced', 'failed', 'rejected'] as const

/** Nobody is counted under two ends. */
function countEnds(from: Standing, to: Standing, at: Date): Count[] {
  if (from.status === to.status) return []
  return ENDS.flatMap((name) => [
    ...(to.status === name ? [{ name, n: 1, at, reason: to.failedReason }] : []),
    ...(from.status === name ? [{ name, n: -1, at, reason: from.failedReason }] : []),
  ])
}

interface Standing {
  readonly status: RecipientStatus
  readonly failedReason: string
}

/**
 * Applies reports of providers, and parks those of which it is not known yet whom they are about, or
 * whose attempt is not over: for up to a day. They are looked at again after growing waits, and at once
 * when another report names whom they are about. Then they are kept, unmatched, as long as emails are.
 */
import type { RelayKind } from '@postrider/contract'
import type { Tx } from '../../platform/db/index.ts'
import { isUlid, timeOfUlid } from '../../platform/ids.ts'
import type { TouchedStream } from '../../webhooks/index.ts'
import { type AppliedReports, type ApplyReportsDeps, applyReports } from './apply-reports.ts'
import { answeredIdOf } from './match-reports.ts'
import type { LoggedBounce, RecipientReport } from './note-reports.ts'
import { messageKeyOf, type ReportOutcome } from './report.ts'
import {
  boundUnmatched,
  type DueReport,
  deleteUnmatched,
  insertUnmatched,
  postponeUnmatched,
  type RelayReport,
  type UnmatchedRow,
} from './unmatched-store.ts'

export const handledOutcomes = [
  'applied',
  'repeated',
  'ignored',
  'bounded',
  'other_recipient',
  'parked',
  'unmatched',
] as const
export type HandledOutcome = (typeof handledOutcomes)[number]

export interface Handled {
  readonly outcomes: readonly {
    readonly tenantId: string
    readonly relay: RelayKind
    readonly outcome: HandledOutcome
  }[]
  /** Streams, to be woken after the commit. */
  readonly touched: readonly TouchedStream[]
  /** When unmatched reports are due, as far as these have changed that. */
  readonly lookAgainMs: number
  /** Unmatched reports that were dropped beyond the bound of their tenant. */
  readonly dropped: number
  readonly bounces: readonly LoggedBounce[]
  readonly recipientReports: readonly RecipientReport[]
}

export interface HandleReportsDeps extends ApplyReportsDeps {
  /** For how long emails are known. */
  readonly retentionMs: number
}

const SLICE = 500
export const MATCHING_MS = 24 * 3_600_000
/** Of one tenant, with those that nobody looks at any more. */
const UNMATCHED_MAX = 10_000
/** Before the first look, the second, …; the last repeats. */
const WAITS_MS = [250, 1_000, 2_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000]

/** Of one tenant. */
export async function handleReports(
  tx: Tx,
  deps: HandleReportsDeps,
  { tenantId, reports }: { readonly tenantId: string; readonly reports: readonly RelayReport[] },
): Promise<Handled> {
  const sorted = inOrder(reports, (report) => report)
  const applied: AppliedReports[] = []
  for (let from = 0; from < sorted.length; from += SLICE)
    applied.push(
      await applyReports(tx, deps, { tenantId, reports: sorted.slice(from, from + SLICE) }),
    )
  const oldestMs = Date.now() - deps.retentionMs
  const outcomes = applied.flatMap((slice) => slice.outcomes)
  const settled = sorted.map((report, i) => settle(report, outcomes[i] ?? 'ignored', oldestMs))
  const unmatched = settled.flatMap(({ report, waitMs }) =>
    waitMs === undefined ? [] : [{ report, messageKey: messageKeyOf(report), waitMs }],
  )
  await insertUnmatched(tx, inOrderOfKeys(unmatched))
  const dropped = unmatched.length === 0 ? 0 : await boundUnmatched(tx, tenantId, UNMATCHED_MAX)
  return sumUp(applied, settled, dropped)
}

/** Tries unmatched reports again. */
export async function handleUnmatched(
  tx: Tx,
  deps: HandleReportsDeps,
  due: readonly DueReport[],
): Promise<Handled> {
  const applied: AppliedReports[] = []
  const settled: Settled[] = []
  for (const [tenantId, some] of Map.groupBy(due, ({ report }) => report.tenantId)) {
    const sorted = inOrder(some, ({ report }) => report)
    const reports = sorted.map(({ report }) => report)
    const slice = await applyReports(tx, deps, { tenantId, reports })
    applied.push(slice)
    for (const [i, { report, tries, ageMs }] of sorted.entries()) {
      const outcome = slice.outcomes[i] ?? 'ignored'
      const waitMs = ageMs >= MATCHING_MS ? null : waitOf(tries + 1)
      settled.push(
        isOpen(outcome)
          ? { report, outcome: waitMs === null ? 'unmatched' : 'parked', waitMs }
          : { report, outcome, waitMs: undefined },
      )
    }
  }
  await Promise.all([
    deleteUnmatched(
      tx,
      settled.flatMap(({ report, waitMs }) => (waitMs === undefined ? [report] : [])),
    ),
    postponeUnmatched(
      tx,
      settled.flatMap(({ report, waitMs }) => (waitMs === undefined ? [] : [{ report, waitMs }])),
    ),
  ])
  return sumUp(applied, settled, 0)
}

interface Settled {
  readonly report: RelayReport
  readonly outcome: HandledOutcome
  /** Undefined: it is not stored. Null: it is stored, and not tried again. */
  readonly waitMs: number | null | undefined
}

/**
 * All who apply reports of a tenant lock its recipients in this order. Those without a reference come
 * last: others may have told by then whose they are.
 */
function inOrder<T>(all: readonly T[], reportOf: (one: T) => RelayReport): T[] {
  const orderOf = ({ fact: { ref } }: RelayReport) => `${ref?.refId ?? '~'} ${ref?.n ?? ''}`
  return all
    .map((one) => ({ one, order: orderOf(reportOf(one)) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ one }) => one)
}

/** Two callbacks may hold the same reports. */
function inOrderOfKeys(unmatched: readonly UnmatchedRow[]): UnmatchedRow[] {
  const keyOf = ({ report: { relay, fact } }: UnmatchedRow) => `${relay} ${fact.factId}`
  return unmatched.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function isOpen(outcome: ReportOutcome): outcome is 'unknown' | 'under_way' {
  return outcome === 'unknown' || outcome === 'under_way'
}

function settle(report: RelayReport, outcome: ReportOutcome, oldestMs: number): Settled {
  if (!isOpen(outcome)) return { report, outcome, waitMs: undefined }
  const waitMs = outcome === 'under_way' ? waitOf(0) : firstWaitOf(report, oldestMs)
  if (waitMs === undefined) return { report, outcome: 'ignored', waitMs }
  return { report, outcome: waitMs === null ? 'unmatched' : 'parked', waitMs }
}

function firstWaitOf({ fact }: RelayReport, oldestMs: number): number | null | undefined {
  // Nothing would follow from it once it were known.
  if (fact.kind === 'processed' || fact.kind === 'deferred') return undefined
  const { ref, providerMessageId, email } = fact
  // It names nobody.
  if (email === undefined) return undefined
  // Of an email that is no longer kept, or never was.
  if (ref !== undefined && isUlid(ref.refId) && timeOfUlid(ref.refId).getTime() < oldestMs)
    return undefined
  const isJoinable =
    ref !== undefined || providerMessageId !== undefined || answeredIdOf(fact) !== undefined
  return isJoinable ? waitOf(0) : null
}

function waitOf(tries: number): number {
  return WAITS_MS[Math.min(tries, WAITS_MS.length - 1)] ?? 0
}

function sumUp(
  applied: readonly AppliedReports[],
  settled: readonly Settled[],
  dropped: number,
): Handled {
  const isWoken = applied.some(({ wokenUnmatched }) => wokenUnmatched > 0)
  const waits = settled.flatMap(({ waitMs }) => waitMs ?? [])
  return {
    outcomes: settled.map(({ report: { tenantId, relay }, outcome }) => ({
      tenantId,
      relay,
      outcome,
    })),
    touched: applied.flatMap(({ touched }) => touched),
    lookAgainMs: isWoken ? 0 : Math.min(...waits),
    dropped,
    bounces: applied.flatMap(({ bounces }) => bounces),
    recipientReports: applied.flatMap((slice) => slice.recipientReports),
  }
}

/**
 * Applies reports on a tenant's emails in one transaction: the report, the status of the recipient,
 * suppression, event and counts. A report that was applied before changes nothing: reports have ids.
 *
 * A report on a recipient who waits for another attempt is the end of that: its provider has the mail.
 * A rescue is waited for: what is reported of the series before it is not to end it.
 *
 * A report counts only where the address that it names is the recipient's, too: an id alone may be
 * another's (docs/reference/suppressions.md#whose-report-it-is).
 *
 * What a mail server reports by mail is believed less than what a provider's account does: nothing of it
 * ends an attempt (docs/reference/inbound.md#reports-by-mail).
 */
import type { SuppressionSource } from '@postrider/contract'
import { addressKeyOf, parseAddress, type UserAgent } from '@postrider/mail'
import { addCounterChanges } from '../../platform/counters/counter-store.ts'
import type { Tx } from '../../platform/db/index.ts'
import { isTestId, timeOfUlid } from '../../platform/ids.ts'
import {
  groupsOfRecipient,
  lockReported,
  type RecipientKey,
  type ReportedRecipient,
  reportStatuses,
  settleReported,
  withReason,
} from '../../sending/index.ts'
import { suppressAddress } from '../../suppressions/index.ts'
import { recordEvents, type TouchedStream } from '../../webhooks/index.ts'
import {
  countFacts,
  factKey,
  insertFacts,
  type MatchedReport,
  markComplained,
  markUnsubscribed,
  recipientKeyText,
} from './fact-store.ts'
import { judgeBounces } from './judge-provider-bounces.ts'
import { type Judgement, judgeReports } from './judge-reports.ts'
import { matchReports } from './match-reports.ts'
import { type LoggedBounce, type RecipientReport, recipientReportOf } from './note-reports.ts'
import { messageKeyOf, type Report, type ReportOutcome } from './report.ts'
import { reportEvent, suppressingEvent } from './report-events.ts'
import { wakeUnmatched } from './unmatched-store.ts'

export interface ApplyReportsDeps {
  readonly readUserAgent: (header: string | undefined) => UserAgent
}

export interface AppliedReports {
  /** In the order of the given. */
  readonly outcomes: readonly ReportOutcome[]
  /** To be woken after the commit. */
  readonly touched: readonly TouchedStream[]
  /** Unmatched reports that may have become known by these. */
  readonly wokenUnmatched: number
  /** To be logged after the commit. */
  readonly bounces: readonly LoggedBounce[]
  /** To be counted after the commit: those that were not heard before. */
  readonly recipientReports: readonly RecipientReport[]
}

/** Of one recipient: a provider that goes on trying says so for days. */
const DEFERRALS_MAX = 100
const FACTS_MAX = 500

/** A few hundred at once; after `planByIndex`. */
export async function applyReports(
  tx: Tx,
  deps: ApplyReportsDeps,
  { tenantId, reports }: { readonly tenantId: string; readonly reports: readonly Report[] },
): Promise<AppliedReports> {
  const recipientKeys = await matchReports(tx, tenantId, reports)
  const recipients = await openRecipients(tx, tenantId, recipientKeys)
  const outcomes: ReportOutcome[] = []
  const toApply: { readonly i: number; readonly one: MatchedReport }[] = []
  for (const [i, report] of reports.entries()) {
    const recipientKey = recipientKeys[i]
    const recipient = recipientKey && recipients.get(recipientKeyText(recipientKey))
    outcomes[i] = outcomeOf(report, recipient)
    if (recipientKey !== undefined && outcomes[i] === 'repeated')
      toApply.push({ i, one: { recipientKey, report, atMicros: timeOf(report, recipientKey) } })
  }
  const matched = await judgeBounces(toApply.map(({ one }) => one))
  const fresh = await insertFresh(tx, tenantId, matched)
  for (const [at, one] of matched.entries()) {
    const i = toApply[at]?.i
    if (i !== undefined && fresh.has(one)) outcomes[i] = 'applied'
  }
  const judged = await judgeAll(tx, tenantId, recipients, [...fresh])
  const [{ touched }, wokenUnmatched] = await Promise.all([
    recordEvents(
      tx,
      judged.flatMap(({ told }) =>
        told.map((one) => reportEvent(tenantId, one, deps.readUserAgent(one.fact.userAgent))),
      ),
    ),
    wakeUnmatched(tx, tenantId, [
      ...new Set([...fresh].flatMap(({ report }) => messageKeyOf(report) ?? [])),
    ]),
    endWaiting(tx, tenantId, judged),
    addCounterChanges(
      tx,
      judged.flatMap(({ recipient: { mailerId: subject, email, campaignId }, counted }) => {
        const groups = groupsOfRecipient(email, campaignId)
        return counted.map(({ reason, ...one }) => {
          return { ...one, tenantId, subject, ...withReason(groups, reason, email) }
        })
      }),
    ),
  ])
  const bounces = bouncesOf(judged, fresh)
  const recipientReports = [...fresh].flatMap(({ report }) => recipientReportOf(report.fact) ?? [])
  return { outcomes, touched, wokenUnmatched, bounces, recipientReports }
}

interface Recipient extends ReportedRecipient {
  /** How many are known of it, as far as that matters. */
  readonly facts: number
}

type Recipients = ReadonlyMap<string, Recipient>

/** Those that there are, locked to the end of the transaction. */
async function openRecipients(
  tx: Tx,
  tenantId: string,
  recipientKeys: readonly (RecipientKey | undefined)[],
): Promise<Recipients> {
  const once = new Map(
    recipientKeys.flatMap((recipientKey) =>
      recipientKey ? [[recipientKeyText(recipientKey), recipientKey] as const] : [],
    ),
  )
  const locked = await lockReported(tx, tenantId, [...once.values()])
  const counts = await countFacts(tx, tenantId, locked, FACTS_MAX)
  return new Map(locked.map((one, i) => [recipientKeyText(one), { ...one, facts: counts[i] ?? 0 }]))
}

/** `repeated`: it is to be applied, unless it was. */
function outcomeOf(report: Report, recipient: Recipient | undefined): ReportOutcome {
  const { fact } = report
  if (fact.kind === 'other') return 'ignored'
  if (recipient === undefined) return 'unknown'
  const { status, lastOutcome, facts, isBeingClaimed } = recipient
  const refused = refusalOf(report, recipient)
  if (refused !== undefined) return refused
  // Applied now, it would be followed by another copy.
  if (isBeingClaimed) return 'under_way'
  if (status === 'scheduled' || (status === 'queued' && lastOutcome !== undefined))
    return 'under_way'
  return facts >= (fact.kind === 'deferred' ? DEFERRALS_MAX : FACTS_MAX) ? 'bounded' : 'repeated'
}

const IS_OPEN: ReadonlySet<string> = new Set(['queued', 'scheduled', 'sending', 'deferred', 'held'])

/** Undefined: it counts. Who has had one copy of an email knows what the others are called. */
function refusalOf(report: Report, recipient: Recipient): ReportOutcome | undefined {
  const { fact, relay, isReturned } = report
  if (isReturned !== true && !isAbout(fact, recipient.email))
    return fact.email === undefined ? 'ignored' : 'other_recipient'
  return relay === undefined ? refusalByMail(recipient) : undefined
}

function refusalByMail({ status, lastOutcome }: Recipient): ReportOutcome | undefined {
  // One without an answer may have been taken after all.
  const mayBeTaken = status === 'deferred' && lastOutcome === 'uncertain'
  if (IS_OPEN.has(status)) return mayBeTaken ? undefined : 'under_way'
  const wasCancelled = status === 'rejected' && lastOutcome === undefined
  return wasCancelled || status === 'suppressed' || status === 'blocked' ? 'ignored' : undefined
}

function isAbout({ email: named }: Report['fact'], email: string): boolean {
  return named !== undefined && keyOf(named) === keyOf(email)
}

/** A copy that was forwarded tells of another address, which says nothing of its recipient's. */
function mayCount({ report: { fact, isReturned } }: MatchedReport, email: string): boolean {
  return isReturned !== true || isAbout(fact, email)
}

function keyOf(email: string): string | undefined {
  const parsed = parseAddress(email)
  return parsed.ok ? addressKeyOf(parsed.address.address) : undefined
}

/**
 * Not before the email, and not after it was told: clocks of others may be wrong. Providers know whole
 * seconds, and an event has its microsecond for itself: recipients of one email have one each.
 */
function timeOf({ fact, receivedAtMicros }: Report, { refId, n }: RecipientKey): bigint {
  const acceptedAt = BigInt(timeOfUlid(refId).getTime()) * 1000n
  const { atMicros = receivedAtMicros } = fact
  const told = atMicros < receivedAtMicros ? atMicros : receivedAtMicros
  return (told > acceptedAt ? told : acceptedAt) + BigInt(n)
}

/** Those that were not heard before. */
async function insertFresh(
  tx: Tx,
  tenantId: string,
  matched: readonly MatchedReport[],
): Promise<ReadonlySet<MatchedReport>> {
  const byKey = new Map<string, MatchedReport>()
  for (const one of matched) {
    const key = factKey(one)
    if (!byKey.has(key)) byKey.set(key, one)
  }
  const inserted = await insertFacts(tx, tenantId, [...byKey.values()])
  return new Set([...byKey].flatMap(([key, one]) => (inserted.has(key) ? [one] : [])))
}

function bouncesOf(
  judged: readonly JudgedRecipient[],
  fresh: ReadonlySet<MatchedReport>,
): LoggedBounce[] {
  const recipients = new Map(
    judged.map(({ recipient }) => [recipientKeyText(recipient), recipient]),
  )
  return [...fresh].flatMap((one) => {
    const { fact, relay, tenantId } = one.report
    const recipient = recipients.get(recipientKeyText(one.recipientKey))
    if (fact.kind !== 'bounced' || recipient === undefined) return []
    const { refId, n, email, mailerId, traceparent } = recipient
    const suppresses = mayCount(one, email) && !isTestId(mailerId) ? fact.suppresses : undefined
    const { classified, isHard } = fact
    return {
      tenantId,
      refId,
      n,
      email,
      mailerId,
      traceparent,
      relay,
      isHard,
      suppresses,
      classified,
    }
  })
}

interface JudgedRecipient extends Judgement {
  readonly recipient: Recipient
}

async function judgeAll(
  tx: Tx,
  tenantId: string,
  recipients: Recipients,
  fresh: readonly MatchedReport[],
): Promise<JudgedRecipient[]> {
  const news = await markAndSuppress(tx, tenantId, recipients, fresh)
  const isNews = (one: MatchedReport) => news.has(one)
  return [...Map.groupBy(fresh, ({ recipientKey }) => recipientKeyText(recipientKey))].flatMap(
    ([key, all]) => {
      const recipient = recipients.get(key)
      if (recipient === undefined) return []
      return { recipient, ...judgeReports({ recipient, fresh: all, isNews }) }
    },
  )
}

/** Answers the reports by which anything has changed: the unsubscriptions among them are told. */
async function markAndSuppress(
  tx: Tx,
  tenantId: string,
  recipients: Recipients,
  fresh: readonly MatchedReport[],
): Promise<ReadonlySet<MatchedReport>> {
  const news = new Set<MatchedReport>()
  const marked = fresh
    .filter(({ report: { fact } }) => fact.suppresses !== undefined || MARKED.has(fact.kind))
    .map((one) => ({ one, ...addressOf(recipients.get(recipientKeyText(one.recipientKey))) }))
    // In one order, as others suppress the same addresses.
    .sort((a, b) => (a.key < b.key ? -1 : 1))
  await Promise.all(
    marked.map(async ({ one, email, address, isTest }) => {
      const { kind, suppresses: reason } = one.report.fact
      const [isFirst, isNew] = await Promise.all([
        kind === 'unsubscribed' && markUnsubscribed(tx, tenantId, one),
        reason !== undefined &&
          !isTest &&
          mayCount(one, email) &&
          suppressAddress(tx, { tenantId, address, email, reason, source: sourceOf(one) }),
        kind === 'complained' && markComplained(tx, tenantId, one),
      ])
      if (isFirst || isNew) news.add(one)
    }),
  )
  return news
}

/** Of a suppression: the event of which email, and who reported it. */
function sourceOf({
  recipientKey: { refId },
  report: { fact, relay },
}: MatchedReport): SuppressionSource {
  const event = suppressingEvent(fact.kind)
  return {
    ...(event === undefined ? {} : { event }),
    ref_id: refId,
    ...(relay === undefined ? {} : { relay }),
  }
}

const MARKED: ReadonlySet<string> = new Set(['complained', 'unsubscribed'])

function addressOf(recipient: Recipient | undefined) {
  const { email = '', mailerId = '' } = recipient ?? {}
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error('an accepted email has a recipient without an address')
  const { address } = parsed.address
  // What is reported of test mail says nothing of a real address.
  return { email, address, key: addressKeyOf(address), isTest: isTestId(mailerId) }
}

async function endWaiting(
  tx: Tx,
  tenantId: string,
  judged: readonly JudgedRecipient[],
): Promise<void> {
  const waiting = judged.filter(({ recipient }) => recipient.status === 'deferred')
  await settleReported(
    tx,
    tenantId,
    waiting.map(({ recipient }) => recipient),
  )
  await reportStatuses(
    tx,
    tenantId,
    judged.flatMap(({ change }) => change ?? []),
  )
}

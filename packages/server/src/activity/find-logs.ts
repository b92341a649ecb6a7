/**
 * A page of the record of recipients, newest first, by whatever it is filtered
 * (docs/reference/statuses.md#log-filters).
 *
 * A page is one bounded piece of work: it looks at a bounded number of rows, in pieces that grow
 * while little fits. Where the bound is met first the page is short, or even empty, and says from
 * where to go on. The key of a recipient is its (ref_id, n), which never changes: pages neither repeat
 * nor leave out what was there when the first of them was read, whatever is accepted meanwhile.
 */
import type { RecipientFact } from '@postrider/contract'
import { findInactive } from '../mailers/index.ts'
import type { Tx } from '../platform/db/index.ts'
import { dayOfUlid, isTestId, ulidAtTime } from '../platform/ids.ts'
import { dayAt } from '../platform/values/date-time.ts'
import {
  domainFirst,
  havingReason,
  mayHaveStatus,
  type Piece,
  type RecipientFilters,
  type RecipientIndex,
  type RecipientKey,
  type RecordedEmail,
  type RecordedRecipient,
  type RecordRange,
  readCampaignEnds,
  readEmailIndex,
  readEmails,
  readRecipientIndex,
  readRecipients,
  readShownOwn,
  walkRecipients,
  walkRecipientsOf,
} from '../sending/index.ts'
import { type Engagement, readEngagement } from '../tracking/index.ts'
import { decideSource, type LogSource } from './decide-source.ts'
import type { LogSelection } from './read-logs-query.ts'
import { createFactCheck, walkFact } from './walk-facts.ts'

export interface FoundLog {
  readonly recipient: RecordedRecipient
  readonly email: RecordedEmail
  /** Undefined: the recipient did nothing. */
  readonly engagement: Engagement | undefined
}

export interface FoundLogs {
  readonly logs: readonly FoundLog[]
  /** Where the next page begins, below this recipient; undefined: there is none. */
  readonly next: RecipientKey | undefined
}

/** Rows that a page looks at, and how many of them at once. */
export interface LogBounds {
  readonly looksMax: number
  readonly pieceMax: number
}

/** Less than fifty milliseconds of work on a small machine, whatever is in the rows. */
const BOUNDS: LogBounds = { looksMax: 2_500, pieceMax: 2_000 }
/** What is found by something else is looked up one by one, which takes three times as long. */
const INDEX_BOUNDS: LogBounds = { looksMax: 1_200, pieceMax: 1_000 }

/** By how much the clocks that made an email's id and a delivery's time may differ. */
const CLOCKS_MS = 5 * 60_000
const GROWTH = 4
const SMALLINT_MAX = 32_767

export interface LogRequest {
  readonly tenantId: string
  readonly selection: LogSelection
  /** Undefined: from the newest on. */
  readonly below: RecipientKey | undefined
  readonly pageSize: number
  readonly bounds?: LogBounds
}

export async function findLogs(tx: Tx, o: LogRequest): Promise<FoundLogs> {
  const { pageSize, selection, tenantId } = o
  const source = decideSource(selection)
  const bounds = o.bounds ?? (source.kind === 'index' ? INDEX_BOUNDS : BOUNDS)
  const filters = filtersOf(selection, await findInactive(tx, tenantId))
  const found: FoundLog[] = []
  let range = await rangeOf(tx, o, source)
  const next = nextPieceOf(tx, source, { selection, filters })
  for (let looks = 0; range !== undefined; ) {
    const piece = await next(range)
    found.push(...(await toLogs(tx, tenantId, selection, piece.recipients)))
    if (found.length > pageSize) {
      const logs = found.slice(0, pageSize)
      return { logs, next: logs.at(-1)?.recipient }
    }
    looks += range.limit
    if (piece.reached === undefined) return { logs: found, next: undefined }
    if (looks >= bounds.looksMax) return { logs: found, next: piece.reached }
    const limit = Math.min(range.limit * GROWTH, bounds.pieceMax, bounds.looksMax - looks)
    range = { ...range, below: piece.reached, limit }
  }
  return { logs: found, next: undefined }
}

function filtersOf(s: LogSelection, inactiveMailers: readonly string[]): RecipientFilters {
  return {
    refId: s.refId,
    addressKey: s.emailKey === undefined ? undefined : domainFirst(s.emailKey),
    domain: s.domain,
    type: s.type,
    campaignId: s.campaignId,
    status: s.status,
    delivered: s.delivered,
    withReason: s.failedReason !== undefined,
    inactiveMailers,
  }
}

/** Undefined: nothing can fit. Ids carry the time of the acceptance, and with it their day. */
async function rangeOf(tx: Tx, o: LogRequest, source: LogSource): Promise<RecordRange | undefined> {
  const { tenantId, selection: s, pageSize } = o
  if (s.failedReason !== undefined && (s.status === 'sent' || s.status === 'delivered'))
    return undefined
  const fromMs = toMillis(s.created.from)
  const toMs = Math.min(
    toMillis(s.created.to),
    // Delivered after it was accepted.
    s.delivered === undefined ? Number.POSITIVE_INFINITY : toMillis(s.delivered.to) + CLOCKS_MS,
  )
  let refIdMin = ulidAtTime(fromMs)
  let below: RecipientKey = { refId: ulidAtTime(toMs), n: 0 }
  const cutTo = (first: string, last: string) => {
    if (first > refIdMin) refIdMin = first
    below = lowerOf(below, { refId: last, n: SMALLINT_MAX })
  }
  if (s.refId !== undefined) cutTo(s.refId, s.refId)
  if (source.kind === 'index' && s.campaignId !== undefined) {
    const days = { from: dayAt(fromMs), to: dayAt(toMs) }
    const ends = await readCampaignEnds(tx, { tenantId, days }, s.campaignId)
    if (ends === undefined) return undefined
    cutTo(ends.first, ends.last)
  }
  if (o.below !== undefined) below = lowerOf(below, o.below)
  const limit = Math.min(pageSize + 1, o.bounds?.pieceMax ?? INDEX_BOUNDS.pieceMax)
  const days = { from: dayOfUlid(refIdMin), to: dayOfUlid(below.refId) }
  return refIdMin > below.refId ? undefined : { tenantId, days, refIdMin, below, limit }
}

type NextPiece = (range: RecordRange) => Promise<Piece>

function nextPieceOf(
  tx: Tx,
  source: LogSource,
  o: { readonly selection: LogSelection; readonly filters: RecipientFilters },
): NextPiece {
  const { filters, selection } = o
  switch (source.kind) {
    case 'recipients':
      return (range) => walkRecipients(tx, source.by, range, filters)
    case 'index':
      return (range) => atPlaces(tx, source.of, range, filters)
    case 'emails':
      return (range) => ofEmails(tx, range, selection, filters)
    case 'delivered':
      return byDelivery(tx, filters)
    case 'fact':
      return (range) => withFact(tx, source.fact, range, filters)
    default:
      return source satisfies never
  }
}

async function atPlaces(
  tx: Tx,
  of: RecipientIndex,
  range: RecordRange,
  filters: RecipientFilters,
): Promise<Piece> {
  // Nothing is held.
  if (filters.status === 'held' && filters.inactiveMailers.length === 0)
    return { recipients: [], reached: undefined }
  const keys = await readRecipientIndex(tx, of, range)
  const last = keys.length < range.limit ? undefined : keys.at(-1)
  // A first attempt has no reason yet. A recipient who failed twice is one log.
  const able = keys.filter(
    (key) =>
      mayHaveStatus(key, filters.status) && !(filters.withReason && key.isDeferrable === false),
  )
  const once = [...new Map(able.map((key) => [`${key.refId}.${key.n}`, key])).values()]
  return { recipients: await readRecipients(tx, once, range, filters), reached: last }
}

/** Of emails of the campaign, of test mode, with the subject, by the mailer, or all of these. */
async function ofEmails(
  tx: Tx,
  range: RecordRange,
  selection: LogSelection,
  filters: RecipientFilters,
): Promise<Piece> {
  const emails = await readEmailIndex(tx, range, selection)
  const last = emails.length < range.limit ? undefined : emails.at(-1)
  const fitting = emails.filter((email) => isSought(email, selection))
  const end = last && { refId: last.refId, n: 0 }
  return await walkRecipientsOf(tx, fitting, range, filters, end)
}

async function withFact(
  tx: Tx,
  fact: RecipientFact,
  range: RecordRange,
  filters: RecipientFilters,
): Promise<Piece> {
  const { keys, reached } = await walkFact(tx, fact, range)
  return { recipients: await readRecipients(tx, keys, range, filters), reached }
}

/** First those of the days that are asked for, then those who were delivered on a later day. */
function byDelivery(tx: Tx, filters: RecipientFilters): NextPiece {
  const dayFrom = ulidAtTime(
    Date.parse(`${dayAt(toMillis(filters.delivered?.from ?? 0n))}T00:00:00Z`),
  )
  const border: RecipientKey = { refId: dayFrom, n: 0 }
  return async (range) => {
    if (lowerOf(range.below, border) === range.below)
      return await atPlaces(tx, 'late', range, filters)
    const refIdMin = dayFrom > range.refIdMin ? dayFrom : range.refIdMin
    const piece = await walkRecipients(tx, 'ref_id', { ...range, refIdMin }, filters)
    return { ...piece, reached: piece.reached ?? (refIdMin === dayFrom ? border : undefined) }
  }
}

async function toLogs(
  tx: Tx,
  tenantId: string,
  selection: LogSelection,
  fitting: readonly RecordedRecipient[],
): Promise<FoundLog[]> {
  const recipients = await havingReason(fitting, selection)
  if (recipients.length === 0) return []
  const [emails, engaged, hasFact] = await Promise.all([
    readEmails(tx, tenantId, recipients),
    readEngagement(tx, tenantId, recipients),
    createFactCheck(tx, { tenantId, fact: selection.fact, recipients }),
  ])
  const having = recipients.filter(({ refId }) => emails.get(refId)?.hasOwn === true)
  const own = having.length === 0 ? undefined : await readShownOwn(tx, tenantId, having)
  const engagements = new Map(engaged.map((one) => [`${one.refId}.${one.n}`, one]))
  return recipients.flatMap((recipient) => {
    const email = emails.get(recipient.refId)
    const engagement = engagements.get(`${recipient.refId}.${recipient.n}`)
    if (email === undefined || !isSought(email, selection)) return []
    if (!hasFact(recipient, engagement)) return []
    const { subject = email.subject } = own?.get(`${recipient.refId}.${recipient.n}`) ?? {}
    return [{ recipient, email: { ...email, subject }, engagement }]
  })
}

function isSought(
  email: { readonly subject: string; readonly mailerId: string },
  { subject, mailerId, isTest }: LogSelection,
): boolean {
  if (isTest !== undefined && isTestId(email.mailerId) !== isTest) return false
  if (mailerId !== undefined && email.mailerId !== mailerId) return false
  return subject === undefined || email.subject.toLowerCase().includes(subject)
}

function lowerOf(a: RecipientKey, b: RecipientKey): RecipientKey {
  return a.refId < b.refId || (a.refId === b.refId && a.n <= b.n) ? a : b
}

/** The first whole one at or after it. */
function toMillis(micros: bigint): number {
  return Number((micros + 999n) / 1000n)
}

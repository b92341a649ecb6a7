/**
 * rescueEmails (docs/reference/sending.md#rescue): recipients whose series of attempts failed are queued
 * again. The numbers go on, and the new series ends in one terminal event of its own.
 *
 * A call walks from the newest failure to older ones, looks at a bounded number of them and takes a
 * bounded number; where a bound is met first, its token goes on from there. It is one transaction.
 * Days that retention may be about to drop are left out: their emails' content is going.
 */
import { type RescueEmailsBody, rescuedMax } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { findMailers, noMailer } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { dayAt } from '../../platform/date-time.ts'
import { bucketOf, type Db, type Tx } from '../../platform/db/index.ts'
import type { DiskGuard } from '../../platform/disk-guard.ts'
import { ApiError } from '../../platform/errors.ts'
import { pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import { readTime } from '../accept/accept-store.ts'
import type { QueueWakeups } from '../queue/queue-wakeups.ts'
import { type RescueSelection, readRescue } from './read-rescue.ts'
import {
  type FailedSeries,
  loadRescuable,
  lockRescues,
  type NewPlace,
  queueAgain,
  type Rescuable,
  type SeriesPlace,
  takeRescuable,
  walkFailed,
} from './rescue-store.ts'

export interface RescueDeps {
  readonly db: Db
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly wakeups: QueueWakeups
  readonly disk: Pick<DiskGuard, 'admit'>
  readonly limiter: ConcurrencyLimiter
  readonly retentionMs: number
  /** Smaller ones, for tests. */
  readonly bounds?: RescueBounds
}

interface RescueBounds {
  /** Failures looked at in one call. */
  readonly walkedMax: number
  readonly matchedMax: number
  readonly pieceMax: number
}

export interface Rescued {
  readonly matched: number
  readonly rescued: number
  readonly nextPageToken?: string
}

/** A second or two of work. */
const BOUNDS: RescueBounds = { walkedMax: 50_000, matchedMax: rescuedMax, pieceMax: 1_000 }
const HOUR_MS = 3_600_000
/** By how much the clocks that made an email's id and its time may differ. */
const CLOCKS_MS = 5 * 60_000
const ROW_BYTES = 1_024
const SMALLINT_MAX = 32_767
const PLACE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.\d{1,5}\.\d{1,9}$/

export async function rescueEmails(
  deps: RescueDeps,
  tenantId: string,
  body: RescueEmailsBody,
): Promise<Rescued> {
  const { bounds = BOUNDS } = deps
  const selection = readRescue(body)
  const { before, mark } = readPage(body, 'rescue', PLACE)
  const range = rangeOf(deps, selection, before)
  const isDry = body.dry_run === true
  const woken = new Set<string>()

  async function rescue(tx: Tx): Promise<Rescued> {
    const [now] = await Promise.all([
      readTime(tx),
      checkMailer(tx, tenantId, body.mailer_id),
      isDry ? undefined : lockRescues(tx, tenantId),
    ])
    let { below } = range
    let walked = 0
    let matched = 0
    let rescued = 0
    for (;;) {
      const limit = Math.min(bounds.pieceMax, bounds.walkedMax - walked)
      const piece = await walkFailed(tx, { ...range, tenantId, below, limit }, selection.refIds)
      walked += piece.length
      const found = await matching(tx, { tenantId, piece, selection })
      const taken = found.slice(0, bounds.matchedMax - matched)
      matched += taken.length
      if (!isDry && taken.length > 0) {
        const places = await requeue(tx, { tenantId, taken, selection, now, to: body.mailer_id })
        rescued += places.length
        for (const { mailerId } of places) woken.add(mailerId)
      }
      const isCut = taken.length < found.length
      const last = isCut ? taken.at(-1)?.series : piece.at(-1)
      if (last !== undefined) below = last
      if (!isCut && piece.length < limit) return { matched, rescued }
      if (matched >= bounds.matchedMax || walked >= bounds.walkedMax)
        return { matched, rescued, nextPageToken: pageTokenAfter({ mark }, placeText(below)) }
    }
  }

  const bytes = isDry ? 0 : bounds.matchedMax * ROW_BYTES
  const result = await deps.limiter.run(tenantId, () =>
    deps.disk.admit(bytes, () => deps.db.transaction(rescue)),
  )
  deps.wakeups.wake(
    [...woken].map((mailerId) => ({
      tenantId,
      mailerId,
      bucket: bucketOf(mailerId),
      isBulk: true,
    })),
  )
  const { matched, rescued } = result
  if (!isDry) deps.log.info({ tenant_id: tenantId, matched, rescued }, 'emails.rescued')
  return result
}

interface Found {
  readonly series: FailedSeries
  readonly rescuable: Rescuable
}

/** In the order of the walk. */
async function matching(
  tx: Tx,
  o: {
    readonly tenantId: string
    readonly piece: readonly FailedSeries[]
    readonly selection: RescueSelection
  },
): Promise<Found[]> {
  const { piece, selection, tenantId } = o
  if (piece.length === 0) return []
  const { statuses } = selection
  const withSubject = selection.subject !== undefined
  const loaded = await loadRescuable(tx, tenantId, piece, { statuses, withSubject })
  const byRecipient = new Map(loaded.map((one) => [`${one.refId}.${one.n}`, one]))
  return piece.flatMap((series) => {
    const rescuable = byRecipient.get(`${series.refId}.${series.n}`)
    if (rescuable === undefined || !fits(rescuable, selection)) return []
    // Once, although an earlier series of the same recipient failed, too.
    byRecipient.delete(`${series.refId}.${series.n}`)
    return [{ series, rescuable }]
  })
}

function fits(one: Rescuable, selection: RescueSelection): boolean {
  const { created, emailKey, domain, subject, campaignId, type } = selection
  const createdMicros = BigInt(one.createdAt.getTime()) * 1000n
  if (createdMicros < created.from || createdMicros >= created.to) return false
  if (type !== undefined && one.type !== type) return false
  if (campaignId !== undefined && one.campaignId !== campaignId) return false
  if (subject !== undefined && one.subject?.toLowerCase().includes(subject) !== true) return false
  if (emailKey === undefined && domain === undefined) return true
  const parsed = parseAddress(one.email)
  if (!parsed.ok) return false
  if (domain !== undefined && parsed.address.domain !== domain) return false
  return emailKey === undefined || addressKeyOf(parsed.address.address) === emailKey
}

/** Answers the places of those that this call was the first to take. */
async function requeue(
  tx: Tx,
  o: {
    readonly tenantId: string
    readonly taken: readonly Found[]
    readonly selection: RescueSelection
    readonly now: Date
    readonly to: string | undefined
  },
): Promise<NewPlace[]> {
  const { tenantId, taken, now } = o
  const series = taken.map((one) => one.series)
  const won = await takeRescuable(tx, tenantId, series, o.selection.statuses)
  const isWon = new Set(won.map(({ refId, n }) => `${refId}.${n}`))
  const places = taken
    .filter((one) => isWon.has(`${one.series.refId}.${one.series.n}`))
    .map(({ series: { refId, n, attempt, maxAttempts, mailerId }, rescuable }) => ({
      tenantId,
      refId,
      n,
      mailerId: o.to ?? mailerId,
      bucket: bucketOf(o.to ?? mailerId),
      dueAt: now,
      attempt: attempt + 1,
      maxAttempts: Math.min(maxAttempts + rescuable.budget, SMALLINT_MAX),
      expiresAt: new Date(now.getTime() + rescuable.expiresInMs),
      contentBytes: rescuable.contentBytes,
      fence: now.getTime(),
    }))
  await queueAgain(tx, places)
  return places
}

async function checkMailer(tx: Tx, tenantId: string, mailerId: string | undefined): Promise<void> {
  if (mailerId === undefined) return
  const [mailer] = await findMailers(tx, [{ tenantId, mailerId }])
  if (mailer === undefined) throw noMailer({ mailerId })
  if ('problem' in mailer) throw noMailer({ mailerId }, mailer)
  if (mailer.state !== 'active') throw new ApiError('mailer_inactive')
}

function rangeOf(
  { clock, retentionMs }: RescueDeps,
  { created }: RescueSelection,
  before: string | undefined,
) {
  const fromMs = Number(created.from / 1000n) - CLOCKS_MS
  const toMs = Number(created.to / 1000n) + CLOCKS_MS
  const oldest = dayAt(clock.now().getTime() - retentionMs + HOUR_MS)
  const end = { refId: ulidAtTime(toMs), n: 0, attempt: 0 }
  const below = before === undefined ? end : readPlace(before)
  return {
    days: { from: laterOf(dayAt(fromMs), oldest), to: dayAt(toMs) },
    refIdMin: ulidAtTime(Math.max(fromMs, 0)),
    below: below.refId > end.refId ? end : below,
  }
}

function laterOf(a: string, b: string): string {
  return a > b ? a : b
}

function placeText({ refId, n, attempt }: SeriesPlace): string {
  return `${refId}.${n}.${attempt}`
}

function readPlace(text: string): SeriesPlace {
  const [refId = '', n, attempt] = text.split('.')
  return { refId, n: Math.min(Number(n), SMALLINT_MAX), attempt: Number(attempt) }
}

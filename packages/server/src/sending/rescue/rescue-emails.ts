/**
 * rescueEmails (docs/reference/sending.md#rescue): recipients whose series of attempts failed are queued
 * again. The numbers go on, and the new series ends in one terminal event of its own.
 *
 * A call is one transaction. Emails whose content retention has dropped, or may be about to, are left out. Where
 * all that a call names are such, it says so.
 */
import { type RescueEmailsBody, rescuableStatuses } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { findMailers, inactiveMailer, noMailer } from '../../mailers/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { bucketOf, type Db, type Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { dayOfUlid, isTestId, ulidAtTime } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { chargeQueued, checkSender, overQuotaError, type UsageCounts } from '../../tenants/index.ts'
import { readTime } from '../accept/accept-store.ts'
import { type BulkSelection, fits, idTimesOf, readSelection } from '../bulk/read-selection.ts'
import {
  BULK_BOUNDS,
  BULK_ROW_BYTES,
  type BulkBounds,
  walkInPieces,
} from '../bulk/walk-in-pieces.ts'
import type { QueueWakeups } from '../queue/queue-wakeups.ts'
import { havingReason } from '../record/read-filters.ts'
import {
  type FailedSeries,
  findEmails,
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
  readonly contentRetentionMs: number
  readonly usageCounts: UsageCounts
  /** Smaller ones, for tests. */
  readonly bounds?: BulkBounds
}

export interface Rescued {
  readonly matched: number
  readonly rescued: number
  readonly uncertain: number
  readonly nextPageToken?: string
}

const HOUR_MS = 3_600_000
const SMALLINT_MAX = 32_767
const PLACE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.\d{1,5}\.\d{1,9}$/

export async function rescueEmails(
  deps: RescueDeps,
  tenantId: string,
  body: RescueEmailsBody,
): Promise<Rescued> {
  const { bounds = BULK_BOUNDS } = deps
  const selection = readSelection(body, rescuableStatuses)
  const { before, mark } = readPage(body, 'rescue', PLACE)
  const range = rangeOf(deps, selection, before)
  const isKept = keptBy(deps)
  const isDry = body.dry_run === true
  const woken = new Set<string>()
  let uncertain = 0
  /** Test mail is in no quota. */
  let charged = 0

  async function rescue(tx: Tx) {
    uncertain = 0
    charged = 0
    const [now, limited] = await Promise.all([
      readTime(tx),
      checkSender(tx, tenantId),
      checkMailer(tx, tenantId, body.mailer_id),
      isDry ? undefined : lockRescues(tx, tenantId),
    ])
    const walk = await walkInPieces<SeriesPlace, Found>({
      bounds,
      below: range.below,
      placeOf: ({ series }) => series,
      async step({ below, limit, take }) {
        const walked = await walkFailed(tx, { ...range, tenantId, below, limit }, selection.refIds)
        const found = await matching(tx, { tenantId, piece: walked, selection, isKept })
        const taken = take(found)
        uncertain += taken.filter(({ series }) => series.isUncertain).length
        if (isDry || taken.length === 0) return { walked, found, changed: 0 }
        const places = await requeue(tx, { tenantId, taken, selection, now, to: body.mailer_id })
        for (const { mailerId } of places) woken.add(mailerId)
        charged += places.filter(({ mailerId }) => !isTestId(mailerId)).length
        return { walked, found, changed: places.length }
      },
    })
    if (limited === undefined || charged === 0 || (await chargeQueued(tx, tenantId, charged)))
      return walk
    const max = limited.quotas.queued_max ?? 0
    throw overQuotaError({ quota: 'queued_max', max, asked: charged, retryAfterS: 60 })
  }

  /** Mail may have left the queue since it was counted. */
  async function rescueAnew(error: unknown) {
    const isOver = error instanceof ApiError && error.code === 'quota_exceeded'
    if (isOver && (await deps.usageCounts.freshen(tenantId))) return deps.db.transaction(rescue)
    throw error
  }

  const bytes = isDry ? 0 : bounds.matchedMax * BULK_ROW_BYTES
  const {
    matched,
    changed: rescued,
    next,
  } = await deps.limiter.run(tenantId, () =>
    deps.disk.admit(bytes, () => deps.db.transaction(rescue).catch(rescueAnew)),
  )
  deps.wakeups.wake(
    [...woken].map((mailerId) => ({
      tenantId,
      mailerId,
      bucket: bucketOf(mailerId),
      isBulk: true,
    })),
  )
  if (!isDry) deps.log.info({ tenant_id: tenantId, matched, rescued }, 'emails.rescued')
  // A page behind others ends them, whatever those have matched.
  if (matched === 0 && next === undefined && before === undefined)
    await refuseRemoved(deps.db, { tenantId, refIds: selection.refIds, isKept })
  const more = next && { nextPageToken: pageTokenAfter({ mark }, placeText(next)) }
  return { matched, rescued, uncertain, ...more }
}

interface Found {
  readonly series: FailedSeries
  readonly rescuable: Rescuable
}

/** Throws where an email is named that is there, and whose content is gone or may be going. */
async function refuseRemoved(
  db: Db,
  o: {
    readonly tenantId: string
    readonly refIds: readonly string[] | undefined
    readonly isKept: IsKept
  },
): Promise<void> {
  const { refIds = [] } = o
  const named = refIds.length === 0 ? [] : await findEmails(db, o.tenantId, refIds)
  const removed = named.find((one) => !one.hasContent || !o.isKept(one))
  if (removed !== undefined)
    throw new ApiError('content_removed', {
      message: `The content of the email ${removed.refId} was removed, or is about to be, so it cannot be sent again: content is kept for POSTRIDER_CONTENT_RETENTION only`,
    })
}

/** In the order of the walk. */
async function matching(
  tx: Tx,
  o: {
    readonly tenantId: string
    readonly piece: readonly FailedSeries[]
    readonly selection: BulkSelection
    readonly isKept: IsKept
  },
): Promise<readonly Found[]> {
  const { piece, selection, tenantId } = o
  if (piece.length === 0) return []
  const { statuses } = selection
  const withSubject = selection.subject !== undefined
  const loaded = await loadRescuable(tx, tenantId, piece, { statuses, withSubject })
  const byRecipient = new Map(loaded.map((one) => [`${one.refId}.${one.n}`, one]))
  const fitting = piece.flatMap((series) => {
    const rescuable = byRecipient.get(`${series.refId}.${series.n}`)
    if (rescuable === undefined || !o.isKept(rescuable) || !fits(rescuable, selection)) return []
    // Once, although an earlier series of the same recipient failed, too.
    byRecipient.delete(`${series.refId}.${series.n}`)
    const { email, failedReason } = rescuable
    return [{ series, rescuable, email, failedReason }]
  })
  return await havingReason(fitting, selection)
}

/** Answers the places of those that this call was the first to take. */
async function requeue(
  tx: Tx,
  o: {
    readonly tenantId: string
    readonly taken: readonly Found[]
    readonly selection: BulkSelection
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
      ...placeOf(mailerId, o.to),
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

/** Test mail goes by no other mailer: nothing of it is sent. */
function placeOf(mailerId: string, to: string | undefined) {
  const next = isTestId(mailerId) ? mailerId : (to ?? mailerId)
  return { mailerId: next, bucket: bucketOf(next) }
}

async function checkMailer(tx: Tx, tenantId: string, mailerId: string | undefined): Promise<void> {
  if (mailerId === undefined) return
  const [mailer] = await findMailers(tx, [{ tenantId, mailerId }])
  if (mailer === undefined) throw noMailer({ mailerId })
  if ('problem' in mailer) throw noMailer({ mailerId }, mailer)
  if (mailer.state !== 'active') throw inactiveMailer(mailer)
}

type IsKept = (email: Pick<Rescuable, 'refId' | 'queuedAt'>) => boolean

/** Whether the content stays for an hour at least: it counts from when the email was queued (retention-days.ts). */
function keptBy({ clock, contentRetentionMs }: RescueDeps): IsKept {
  const sinceMs = clock.now().getTime() - contentRetentionMs + HOUR_MS
  const oldest = dayAt(sinceMs)
  return ({ refId, queuedAt }) =>
    dayOfUlid(refId) >= oldest || (queuedAt !== null && queuedAt.getTime() > sinceMs)
}

function rangeOf(
  { clock, retentionMs }: RescueDeps,
  selection: BulkSelection,
  before: string | undefined,
) {
  const { fromMs, toMs } = idTimesOf(selection)
  const end = { refId: ulidAtTime(toMs), n: 0, attempt: 0 }
  const below = before === undefined ? end : readPlace(before)
  return {
    days: {
      from: laterOf(dayAt(fromMs), dayAt(clock.now().getTime() - retentionMs + HOUR_MS)),
      to: dayAt(toMs),
    },
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

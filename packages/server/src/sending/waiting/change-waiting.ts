/**
 * retryEmails and cancelEmails (docs/reference/sending.md#many-at-once): recipients who wait are due now, or
 * are not sent to any more. What an attempt has in hand is left alone; it ends as if nobody had asked.
 *
 * Each piece is read in one short transaction and changed in another, so that no sender and no other call
 * waits for more than a piece. The change looks at each row anew.
 */
import {
  type CancelEmailsBody,
  cancellableStatuses,
  type RetryEmailsBody,
  retriableStatuses,
} from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { findInactive } from '../../mailers/index.ts'
import { addCounterChanges } from '../../platform/counters/counter-store.ts'
import {
  bucketOf,
  type Db,
  readInOrder,
  type Tx,
  transactByIndex,
} from '../../platform/db/index.ts'
import { pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { dayOfUlid, ulidAtTime } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import type { DiskGuard } from '../../platform/process/disk-guard.ts'
import { readTime } from '../accept/accept-store.ts'
import { loadForSend, setStatuses } from '../attempt/attempt-store.ts'
import { type BulkSelection, fits, idTimesOf, readSelection } from '../bulk/read-selection.ts'
import {
  BULK_BOUNDS,
  BULK_ROW_BYTES,
  type BulkBounds,
  walkInPieces,
} from '../bulk/walk-in-pieces.ts'
import type { QueueWakeups } from '../queue/queue-wakeups.ts'
import { groupsOfRecipient } from '../record/counter-groups.ts'
import { havingReason } from '../record/read-filters.ts'
import type { RecipientKey } from '../record/recipient-store.ts'
import {
  dropWaiting,
  loadWaiting,
  retryWaiting,
  type WaitingPlace,
  type WaitingRange,
  walkWaiting,
} from './waiting-store.ts'

export interface ChangeWaitingDeps {
  readonly db: Db
  readonly log: Logger
  readonly wakeups: QueueWakeups
  readonly disk: Pick<DiskGuard, 'admit'>
  readonly limiter: ConcurrencyLimiter
  /** Smaller ones, for tests. */
  readonly bounds?: BulkBounds
}

export interface ChangedWaiting {
  readonly matched: number
  readonly changed: number
  readonly nextPageToken?: string
}

const REJECTED = 'rejected'
const SMALLINT_MAX = 32_767
const PLACE = /^[0-7][0-9A-HJKMNP-TV-Z]{25}\.\d{1,5}$/

export async function retryEmails(
  deps: ChangeWaitingDeps,
  tenantId: string,
  body: RetryEmailsBody,
): Promise<ChangedWaiting> {
  const woken = new Set<string>()
  const result = await changeWaiting(deps, tenantId, body, {
    what: 'retry',
    statuses: retriableStatuses,
    async change(tx, keys) {
      const mailerIds = await retryWaiting(tx, tenantId, keys)
      for (const mailerId of mailerIds) woken.add(mailerId)
      return mailerIds.length
    },
  })
  deps.wakeups.wake(
    [...woken].map((mailerId) => {
      const bucket = bucketOf(mailerId)
      return { tenantId, mailerId, bucket, isBulk: true }
    }),
  )
  return result
}

export function cancelEmails(
  deps: ChangeWaitingDeps,
  tenantId: string,
  body: CancelEmailsBody,
): Promise<ChangedWaiting> {
  return changeWaiting(deps, tenantId, body, {
    what: 'cancel',
    statuses: cancellableStatuses,
    change: (tx, keys) => cancel(tx, tenantId, keys),
  })
}

async function cancel(tx: Tx, tenantId: string, keys: readonly RecipientKey[]): Promise<number> {
  const dropped = await dropWaiting(tx, tenantId, keys)
  const [at, { emails, recipients }] = await Promise.all([
    readTime(tx),
    loadForSend(tx, tenantId, dropped, []),
  ])
  await setStatuses(
    tx,
    dropped.map(({ refId, n, attempts: attempt }) => ({
      ...{ tenantId, refId, n, day: dayOfUlid(refId), status: REJECTED, attempt },
      failedReason: '',
      // Nothing was ever made for it.
      ...(attempt === 0 ? { messageId: '' } : {}),
    })),
  )
  const campaignOf = new Map(emails.map((one) => [one.ref_id, one.campaign_id]))
  const addressOf = new Map(recipients.map((one) => [`${one.ref_id}.${one.n}`, one.email]))
  await addCounterChanges(
    tx,
    dropped.map(({ mailerId: subject, refId, n }) => {
      const campaignId = campaignOf.get(refId) ?? null
      const groups = groupsOfRecipient(addressOf.get(`${refId}.${n}`) ?? '', campaignId)
      return { tenantId, subject, name: REJECTED, at, n: 1, groups }
    }),
  )
  return dropped.length
}

async function changeWaiting(
  { bounds = BULK_BOUNDS, ...deps }: ChangeWaitingDeps,
  tenantId: string,
  body: RetryEmailsBody | CancelEmailsBody,
  o: {
    readonly what: 'retry' | 'cancel'
    readonly statuses: readonly string[]
    readonly change: (tx: Tx, keys: readonly RecipientKey[]) => Promise<number>
  },
): Promise<ChangedWaiting> {
  const selection = readSelection(body, o.statuses)
  const { before, mark } = readPage(body, o.what, PLACE)
  const { fromMs, toMs } = idTimesOf(selection)
  const refIdMin = ulidAtTime(Math.max(fromMs, 0))
  const isDry = body.dry_run === true
  const walk = () =>
    walkInPieces<RecipientKey, WaitingPlace>({
      bounds,
      below: belowOf(before, ulidAtTime(toMs)),
      placeOf: (place) => place,
      async step({ below, limit, take }) {
        const range = { tenantId, refIdMin, below, limit }
        const piece = await readPiece(deps.db, o.what, range, selection)
        const taken = isDry ? [] : take(piece.found)
        if (taken.length === 0) return { ...piece, changed: 0 }
        const changed = await transactByIndex(deps.db, (tx) => o.change(tx, taken))
        return { ...piece, changed }
      },
    })
  const bytes = isDry ? 0 : bounds.matchedMax * BULK_ROW_BYTES
  const { next, ...counts } = await deps.limiter.run(tenantId, () => deps.disk.admit(bytes, walk))
  if (!isDry) deps.log.info({ tenant_id: tenantId, what: o.what, ...counts }, 'emails.changed')
  const token = next && { nextPageToken: pageTokenAfter({ mark }, `${next.refId}.${next.n}`) }
  return { ...counts, ...token }
}

function readPiece(
  db: Db,
  what: 'retry' | 'cancel',
  range: WaitingRange,
  selection: BulkSelection,
): Promise<{ readonly walked: WaitingPlace[]; readonly found: readonly WaitingPlace[] }> {
  const { tenantId } = range
  return readInOrder(db, async (tx) => {
    const walked = await walkWaiting(tx, what, range, selection.refIds)
    const open = walked.filter(({ isOpen }) => isOpen)
    const inactive = new Set(await findInactive(tx, tenantId))
    const loaded = await loadWaiting(tx, tenantId, open, selection.subject !== undefined)
    const byKey = new Map(loaded.map((one) => [`${one.refId}.${one.n}`, one]))
    const fitting = open.flatMap((place) => {
      const one = byKey.get(`${place.refId}.${place.n}`)
      if (one === undefined || !fits(one, selection)) return []
      const isHeld = !place.isScheduled && inactive.has(place.mailerId)
      const isSought = selection.statuses.includes(isHeld ? 'held' : one.status)
      return isSought ? [{ ...place, email: one.email, failedReason: one.failedReason }] : []
    })
    return { walked, found: await havingReason(fitting, selection) }
  })
}

function belowOf(before: string | undefined, endRefId: string): RecipientKey {
  const end = { refId: endRefId, n: 0 }
  if (before === undefined) return end
  const [refId = '', n] = before.split('.')
  return refId > endRefId ? end : { refId, n: Math.min(Number(n), SMALLINT_MAX) }
}

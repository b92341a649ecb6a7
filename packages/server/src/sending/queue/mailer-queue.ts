/**
 * The queue of one mailer: the mail that this process is sending for it.
 *
 * It claims a few rows at a time, ahead of its connections, and keeps at most as many attempts under
 * way as its mailer may have connections; one whose server cannot be reached is tried by one attempt
 * at a time. One whose attempts under way are all slow, and one whose mailer has a rate, holds
 * nothing but them.
 *
 * Bulk mail (`email.ts`) lets other mail of the queue go first, but has every fourth place in claims
 * and on connections. A queue that pauses claims nothing: its mailer's limits permit no more now, or
 * its server was sent too much, or its mailer is not active.
 */
import type { FailureCategory } from '@postrider/mail'
import type { LoadedClaim, ReadMailer } from '../attempt/attempt.ts'
import type { Ending } from '../results/ending.ts'
import type { Slowing } from './decide-throttle.ts'
import type { WokenQueue } from './queue-wakeups.ts'

/** A row whose claim is held by this process. */
export interface LeasedRecipient {
  readonly loaded: LoadedClaim
  readonly queue: MailerQueue
  /** By the monotonic clock. Past it another process may have the row. */
  validUntilMs: number
}

/** Why a queue pauses. */
export type PauseReason = 'limited' | 'paused' | 'inactive'

export interface MailerQueue extends Omit<WokenQueue, 'isBulk' | 'isChanged'> {
  readonly id: string
  /** Claimed and not begun, in the order of their claim. */
  readonly waiting: LeasedRecipient[]
  inFlight: number
  /** How many were begun, for the share of bulk mail. */
  begun: number
  /** What bulk mail has of its share from earlier claims: a fraction of a row. */
  bulkCredit: number
  /** Of those in flight, how many have lasted so long that they gave their place up. */
  slow: number
  /** Everything under way was slow, and nothing has ended quickly since. */
  isSlow: boolean
  connectionsMax: number
  /** Its mailer has a rate: what is claimed is begun at once, or it would not be that rate. */
  hasRateLimit: boolean
  slowing: Slowing | undefined
  pause: PauseReason | undefined
  /** See `queue-mailer.ts`. */
  mailer: ReadMailer | undefined
  mailerReadMs: number
  mailerReading: Promise<ReadMailer> | undefined
  /** The server could not be reached at the last try. */
  isFailing: boolean
  isClaiming: boolean
  /** Mail that is not bulk became due, or may have, since it was last claimed; */
  hasSmall: boolean
  /** and bulk mail. */
  hasBulk: boolean
}

const CLAIMED_AHEAD = 4
const BULK_EVERY = 4

export function queueIdOf({
  tenantId,
  mailerId,
}: Pick<WokenQueue, 'tenantId' | 'mailerId'>): string {
  return `${tenantId} ${mailerId}`
}

export function createMailerQueue({ tenantId, mailerId, bucket }: WokenQueue): MailerQueue {
  return {
    id: queueIdOf({ tenantId, mailerId }),
    tenantId,
    mailerId,
    bucket,
    waiting: [],
    inFlight: 0,
    begun: 0,
    bulkCredit: 0,
    slow: 0,
    isSlow: false,
    connectionsMax: 1,
    hasRateLimit: false,
    slowing: undefined,
    pause: undefined,
    mailer: undefined,
    mailerReadMs: 0,
    mailerReading: undefined,
    isFailing: false,
    isClaiming: false,
    hasSmall: false,
    hasBulk: false,
  }
}

/**
 * Ahead of the connections, so that none of them waits for a round trip, and several at once: a
 * claim for each connection that comes free would cost a commit per mail. A slow queue claims nothing
 * ahead: what it holds would be held for long, and nobody else could.
 */
export function claimableBy(queue: MailerQueue): number {
  if (queue.isClaiming || queue.pause !== undefined) return 0
  if (isLow(queue) && (queue.hasSmall || queue.hasBulk))
    return aheadOf(queue) - queue.waiting.length
  return claimsPastBulk(queue) ? limitOf(queue) : 0
}

/** Of a queue's mail. */
export interface Classes {
  readonly small: boolean
  readonly bulk: boolean
}

/** What the next claim is for. It says itself what may be left. */
export function takeClasses(queue: MailerQueue): Classes {
  const { hasSmall: small, hasBulk } = queue
  const bulk = hasBulk && isLow(queue)
  queue.hasSmall = false
  if (bulk) queue.hasBulk = false
  return { small, bulk }
}

export function classesOf(rows: readonly LeasedRecipient[]): Classes {
  const small = rows.some(({ loaded }) => !loaded.claim.isBulk)
  return { small, bulk: rows.some(({ loaded }) => loaded.claim.isBulk) }
}

export function noteClasses(queue: MailerQueue, { small, bulk }: Classes): void {
  queue.hasSmall ||= small
  queue.hasBulk ||= bulk
}

/** How many of `limit` rows are for bulk mail where there is other mail as well. */
export function bulkShareOf(queue: MailerQueue, limit: number): number {
  const credit = queue.bulkCredit + limit / BULK_EVERY
  queue.bulkCredit = credit % 1
  return Math.floor(credit)
}

/** What was claimed ahead is all bulk, and there is other mail: that does not wait behind it. */
function claimsPastBulk(queue: MailerQueue): boolean {
  if (!queue.hasSmall || queue.isSlow || queue.hasRateLimit) return false
  return queue.waiting.every(({ loaded }) => loaded.claim.isBulk)
}

function isLow(queue: MailerQueue): boolean {
  return queue.waiting.length <= aheadOf(queue) / 2
}

function aheadOf(queue: MailerQueue): number {
  return queue.isSlow || queue.hasRateLimit ? freeOf(queue) : limitOf(queue) * CLAIMED_AHEAD
}

/** The first to go: every fourth place is for bulk mail. */
export function firstOf({ waiting, begun }: MailerQueue): LeasedRecipient | undefined {
  const isBulkTurn = begun % BULK_EVERY === BULK_EVERY - 1
  return waiting.find(({ loaded }) => loaded.claim.isBulk === isBulkTurn) ?? waiting[0]
}

/** Takes out of a slow queue what was claimed ahead. */
export function takeSurplus(queue: MailerQueue): LeasedRecipient[] {
  return queue.isSlow ? queue.waiting.splice(freeOf(queue)) : []
}

export function canStart(queue: MailerQueue): boolean {
  return queue.waiting.length > 0 && queue.inFlight < limitOf(queue)
}

export function isIdle(queue: MailerQueue): boolean {
  return (
    !queue.hasSmall &&
    !queue.hasBulk &&
    !queue.isClaiming &&
    queue.pause === undefined &&
    queue.inFlight === 0 &&
    queue.waiting.length === 0
  )
}

/** To be called when an attempt has lasted so long that it is slow. */
export function noteSlow(queue: MailerQueue): void {
  queue.slow += 1
  if (queue.slow === queue.inFlight) queue.isSlow = true
}

/** To be called when an attempt is over. */
export function noteFinished(queue: MailerQueue, wasSlow: boolean): void {
  queue.inFlight -= 1
  if (wasSlow) queue.slow -= 1
  else queue.isSlow = false
}

/** How many attempts can begin at once. */
export function freeOf(queue: MailerQueue): number {
  return Math.max(0, limitOf(queue) - queue.inFlight)
}

function limitOf({ isFailing, connectionsMax, slowing }: MailerQueue): number {
  return isFailing ? 1 : Math.min(connectionsMax, slowing?.connections ?? connectionsMax)
}

/** A server that cannot be reached is not worth more than one connection at a time. */
export function isUnreachable(ending: Ending): boolean {
  if (ending.kind !== 'finished' || ending.result.kind !== 'failed') return false
  return UNREACHABLE.has(ending.result.category)
}

const UNREACHABLE: ReadonlySet<FailureCategory> = new Set([
  'network',
  'host_not_found',
  'address_refused',
  'tls_unavailable',
  'tls_certificate',
  'tls_certificate_expired',
  'tls_wrong_port',
  'auth_rejected',
  'auth_required',
  'auth_temporary',
  'auth_not_offered',
  'auth_throttled',
  'oauth_revoked',
  'oauth_app',
  'oauth_unavailable',
])

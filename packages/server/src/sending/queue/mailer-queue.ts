/**
 * A lane: the mail of one mailer that this process is sending.
 *
 * It claims a few rows at a time, ahead of its connections, and keeps at most as many attempts under
 * way as its mailer may have connections; one whose server cannot be reached is tried by one attempt
 * at a time. One whose attempts under way are all slow, and one whose mailer has a rate, holds
 * nothing but them.
 *
 * Bulk mail (`email.ts`) lets other mail of the lane go first, but has every fourth place in claims
 * and on connections. A lane that rests claims nothing: its mailer's limits permit no more now, or
 * its server was sent too much, or its mailer is not active.
 */
import type { FailureCategory } from '../../mail/index.ts'
import type { LoadedClaim, ReadMailer } from '../attempt/attempt.ts'
import type { Ending } from '../results/ending.ts'
import type { Slowing } from './decide-throttle.ts'
import type { WokenLane } from './queue-wakeups.ts'

/** A row whose claim is held by this process. */
export interface Held {
  readonly loaded: LoadedClaim
  readonly lane: Lane
  /** By the monotonic clock. Past it another process may have the row. */
  validUntilMs: number
}

/** Why a lane rests. */
export type Rest = 'limited' | 'paused' | 'inactive'

export interface Lane extends Omit<WokenLane, 'isBulk' | 'isChanged'> {
  readonly id: string
  /** Claimed and not begun, in the order of their claim. */
  readonly waiting: Held[]
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
  isPaced: boolean
  slowing: Slowing | undefined
  rest: Rest | undefined
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

export function laneId({ tenantId, mailerId }: Pick<WokenLane, 'tenantId' | 'mailerId'>): string {
  return `${tenantId} ${mailerId}`
}

export function createLane({ tenantId, mailerId, bucket }: WokenLane): Lane {
  return {
    id: laneId({ tenantId, mailerId }),
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
    isPaced: false,
    slowing: undefined,
    rest: undefined,
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
 * claim for each connection that comes free would cost a commit per mail. A slow lane claims nothing
 * ahead: what it holds would be held for long, and nobody else could.
 */
export function claimableBy(lane: Lane): number {
  if (lane.isClaiming || lane.rest !== undefined) return 0
  if (isLow(lane) && (lane.hasSmall || lane.hasBulk)) return aheadOf(lane) - lane.waiting.length
  return claimsPastBulk(lane) ? limitOf(lane) : 0
}

/** Of a lane's mail. */
export interface Classes {
  readonly small: boolean
  readonly bulk: boolean
}

/** What the next claim is for. It says itself what may be left. */
export function takeClasses(lane: Lane): Classes {
  const { hasSmall: small, hasBulk } = lane
  const bulk = hasBulk && isLow(lane)
  lane.hasSmall = false
  if (bulk) lane.hasBulk = false
  return { small, bulk }
}

export function classesOf(rows: readonly Held[]): Classes {
  const small = rows.some(({ loaded }) => !loaded.claim.isBulk)
  return { small, bulk: rows.some(({ loaded }) => loaded.claim.isBulk) }
}

export function noteClasses(lane: Lane, { small, bulk }: Classes): void {
  lane.hasSmall ||= small
  lane.hasBulk ||= bulk
}

/** How many of `limit` rows are for bulk mail where there is other mail as well. */
export function bulkShareOf(lane: Lane, limit: number): number {
  const credit = lane.bulkCredit + limit / BULK_EVERY
  lane.bulkCredit = credit % 1
  return Math.floor(credit)
}

/** What was claimed ahead is all bulk, and there is other mail: that does not wait behind it. */
function claimsPastBulk(lane: Lane): boolean {
  if (!lane.hasSmall || lane.isSlow || lane.isPaced) return false
  return lane.waiting.every(({ loaded }) => loaded.claim.isBulk)
}

function isLow(lane: Lane): boolean {
  return lane.waiting.length <= aheadOf(lane) / 2
}

function aheadOf(lane: Lane): number {
  return lane.isSlow || lane.isPaced ? freeOf(lane) : limitOf(lane) * CLAIMED_AHEAD
}

/** The first to go: every fourth place is for bulk mail. */
export function firstOf({ waiting, begun }: Lane): Held | undefined {
  const isBulkTurn = begun % BULK_EVERY === BULK_EVERY - 1
  return waiting.find(({ loaded }) => loaded.claim.isBulk === isBulkTurn) ?? waiting[0]
}

/** Takes out of a slow lane what was claimed ahead. */
export function takeSurplus(lane: Lane): Held[] {
  return lane.isSlow ? lane.waiting.splice(freeOf(lane)) : []
}

export function canFly(lane: Lane): boolean {
  return lane.waiting.length > 0 && lane.inFlight < limitOf(lane)
}

export function isIdle(lane: Lane): boolean {
  return (
    !lane.hasSmall &&
    !lane.hasBulk &&
    !lane.isClaiming &&
    lane.rest === undefined &&
    lane.inFlight === 0 &&
    lane.waiting.length === 0
  )
}

/** To be called when an attempt has lasted so long that it is slow. */
export function noteSlow(lane: Lane): void {
  lane.slow += 1
  if (lane.slow === lane.inFlight) lane.isSlow = true
}

/** To be called when an attempt is over. */
export function noteLanded(lane: Lane, wasSlow: boolean): void {
  lane.inFlight -= 1
  if (wasSlow) lane.slow -= 1
  else lane.isSlow = false
}

/** How many attempts can begin at once. */
export function freeOf(lane: Lane): number {
  return Math.max(0, limitOf(lane) - lane.inFlight)
}

function limitOf({ isFailing, connectionsMax, slowing }: Lane): number {
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

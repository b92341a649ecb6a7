/**
 * A lane: the mail of one mailer that this process is sending.
 *
 * It claims a few rows at a time, ahead of its connections, and keeps at most as many attempts under
 * way as its mailer may have connections; one whose server cannot be reached is tried by one attempt
 * at a time. One whose attempts under way are all slow holds nothing but them.
 */
import type { FailureCategory } from '../mail/index.ts'
import type { LoadedClaim, ReadMailer } from './attempt.ts'
import type { Ending } from './finish-attempts.ts'
import type { WokenLane } from './lane-wakeups.ts'

/** A row whose claim is held by this process. */
export interface Held {
  readonly loaded: LoadedClaim
  readonly lane: Lane
  /** By the monotonic clock. Past it another process may have the row. */
  validUntilMs: number
}

export interface Lane extends WokenLane {
  readonly id: string
  /** Claimed and not begun, in the order of their claim. */
  readonly waiting: Held[]
  inFlight: number
  /** Of those in flight, how many have lasted so long that they gave their place up. */
  slow: number
  /** Everything under way was slow, and nothing has ended quickly since. */
  isSlow: boolean
  connectionsMax: number
  /** See `lane-mailer.ts`. */
  mailer: ReadMailer | undefined
  mailerReadMs: number
  mailerReading: Promise<ReadMailer> | undefined
  /** The server could not be reached at the last try. */
  isFailing: boolean
  isClaiming: boolean
  /** Something became due, or may have, since the last claim. */
  isWoken: boolean
}

const CLAIMED_AHEAD = 4

export function laneId({ tenantId, mailerId }: Omit<WokenLane, 'bucket'>): string {
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
    slow: 0,
    isSlow: false,
    connectionsMax: 1,
    mailer: undefined,
    mailerReadMs: 0,
    mailerReading: undefined,
    isFailing: false,
    isClaiming: false,
    isWoken: false,
  }
}

/**
 * Ahead of the connections, so that none of them waits for a round trip, and several at once: a
 * claim for each connection that comes free would cost a commit per mail. A slow lane claims nothing
 * ahead: what it holds would be held for long, and nobody else could.
 */
export function claimableBy(lane: Lane): number {
  const ahead = lane.isSlow ? freeOf(lane) : limitOf(lane) * CLAIMED_AHEAD
  const isLow = lane.waiting.length <= ahead / 2
  return lane.isWoken && !lane.isClaiming && isLow ? ahead - lane.waiting.length : 0
}

/** Takes out of a slow lane what was claimed ahead. */
export function takeSurplus(lane: Lane): Held[] {
  return lane.isSlow ? lane.waiting.splice(freeOf(lane)) : []
}

export function canFly(lane: Lane): boolean {
  return lane.waiting.length > 0 && lane.inFlight < limitOf(lane)
}

export function isIdle(lane: Lane): boolean {
  return !lane.isWoken && !lane.isClaiming && lane.inFlight === 0 && lane.waiting.length === 0
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

function freeOf(lane: Lane): number {
  return Math.max(0, limitOf(lane) - lane.inFlight)
}

function limitOf(lane: Lane): number {
  return lane.isFailing ? 1 : lane.connectionsMax
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
  'auth_throttled',
  'oauth_revoked',
  'oauth_app',
  'oauth_unavailable',
])

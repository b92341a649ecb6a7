/**
 * A lane: the mail of one mailer that this process is sending.
 *
 * It claims a few rows at a time, ahead of its connections, and keeps at most as many attempts under
 * way as its mailer may have connections; one whose server cannot be reached is tried by one attempt
 * at a time.
 */
import type { FailureCategory } from '../mail/index.ts'
import type { LoadedAttempt } from './attempt.ts'
import type { Ending } from './finish-attempts.ts'
import type { WokenLane } from './lane-wakeups.ts'

/** A row whose claim is held by this process. */
export interface Held {
  readonly loaded: LoadedAttempt
  readonly lane: Lane
  /** By the monotonic clock. Past it another process may have the row. */
  validUntilMs: number
}

export interface Lane extends WokenLane {
  readonly id: string
  /** Claimed and not begun, in the order of their claim. */
  readonly waiting: Held[]
  inFlight: number
  connectionsMax: number
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
    connectionsMax: 1,
    isFailing: false,
    isClaiming: false,
    isWoken: false,
  }
}

/**
 * Ahead of the connections, so that none of them waits for a round trip, and several at once: a
 * claim for each connection that comes free would cost a commit per mail.
 */
export function claimableBy(lane: Lane): number {
  const ahead = limitOf(lane) * CLAIMED_AHEAD
  const isLow = lane.waiting.length <= ahead / 2
  return lane.isWoken && !lane.isClaiming && isLow ? ahead - lane.waiting.length : 0
}

export function canFly(lane: Lane): boolean {
  return lane.waiting.length > 0 && lane.inFlight < limitOf(lane)
}

export function isIdle(lane: Lane): boolean {
  return !lane.isWoken && !lane.isClaiming && lane.inFlight === 0 && lane.waiting.length === 0
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
])

/**
 * When a domain is looked at again by itself. Pure.
 *
 * One that waits for its owner is looked at soon, then less and less often, and no more after about
 * 30 days; one that is verified once a day, and sooner while something about it is amiss or a new key
 * waits for its record.
 */
export interface CheckFacts {
  readonly isVerified: boolean
  /** A definite "no", or no answer at all, about something that was valid. */
  readonly isAmiss: boolean
  /** A new key waits for its record. */
  readonly isRotating: boolean
  /** Checks since somebody asked for something, this one included. */
  readonly tries: number
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const WAITING_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  DAY_MS,
] as const
const AMISS_MS = [15 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS] as const
/** The steps above take about a day and a half. */
const TRIES_MAX = WAITING_MS.length + 29
const JITTER = 0.1

/** @param random in [0, 1) */
export function decideNextCheck(facts: CheckFacts, random: number): number | undefined {
  const { isVerified, isAmiss, isRotating, tries } = facts
  const isWaiting = !isVerified || isRotating
  if (!isVerified && tries > TRIES_MAX) return undefined
  const waitMs = isWaiting ? step(WAITING_MS, tries) : isAmiss ? step(AMISS_MS, tries - 1) : DAY_MS
  return Math.round(waitMs * (1 - JITTER + 2 * JITTER * random))
}

function step(schedule: readonly number[], tries: number): number {
  return schedule[Math.min(Math.max(0, tries), schedule.length - 1)] ?? DAY_MS
}

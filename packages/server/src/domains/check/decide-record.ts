/**
 * What becomes of a record by what was seen of it. Pure.
 *
 * Name servers that do not answer change nothing. Of a domain that is verified, a definite "no" found
 * by the way counts only when it was heard several times over some hours: zones vanish for minutes
 * when they are moved, and a secondary server may be behind. A caller gets the present state at once.
 */

import type { Misses, ProviderState, RecordState } from '../domain.ts'
import type { Match } from './match-record.ts'

/** The first and the last of so many must be so far apart. */
export const MISSES_MIN = 4
export const MISSES_MS_MIN = 6 * 3_600_000

export interface Occasion {
  readonly now: Date
  /** Of a verified domain that nobody has asked about: what is valid stays so for a while. */
  readonly isGraced: boolean
}

export function decideRecord(
  before: RecordState | undefined,
  { dns, found, isMatch }: Match,
  occasion: Occasion,
): RecordState {
  if (dns === 'unknown') {
    const { status = 'pending', misses } = before ?? {}
    return { status, dns, found: [], ...(misses === undefined ? {} : { misses }) }
  }
  if (isMatch) return { status: 'valid', dns, found }
  const misses = countMiss(before?.misses, occasion.now)
  return { status: statusOf(before, found, misses, occasion), dns, found, misses }
}

function statusOf(
  before: RecordState | undefined,
  found: readonly string[],
  misses: Misses,
  occasion: Occasion,
): RecordState['status'] {
  const wasSeen = before !== undefined && before.status !== 'pending'
  if (before?.status === 'valid' && occasion.isGraced && !isConfirmed(misses, occasion.now))
    return 'valid'
  return wasSeen || found.length > 0 ? 'invalid' : 'pending'
}

/** What a provider says of a domain; undefined: nothing definite. */
export interface Verdict {
  readonly agrees: boolean | undefined
  readonly detail: string | undefined
}

export function decideProvider(
  before: ProviderState,
  { agrees, detail }: Verdict,
  { now, isGraced }: Occasion,
): ProviderState {
  const words = detail === undefined || detail === '' ? {} : { detail }
  if (agrees === true) return { agrees }
  if (agrees === undefined)
    return {
      agrees: before.agrees,
      ...words,
      ...(before.misses === undefined ? {} : { misses: before.misses }),
    }
  const misses = countMiss(before.misses, now)
  return { agrees: before.agrees && isGraced && !isConfirmed(misses, now), ...words, misses }
}

/** A definite "no" that no chance explains any more. */
export function isConfirmed(misses: Misses | undefined, now: Date): boolean {
  if (misses === undefined || misses.count < MISSES_MIN) return false
  return now.getTime() - Date.parse(misses.since) >= MISSES_MS_MIN
}

function countMiss(before: Misses | undefined, now: Date): Misses {
  return { count: (before?.count ?? 0) + 1, since: before?.since ?? now.toISOString() }
}

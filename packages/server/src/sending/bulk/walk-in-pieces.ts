/**
 * The walk of an operation on many recipients (docs/reference/sending.md#many-at-once), from the newest to
 * older ones, a piece at a time. A call looks at a bounded number of them and changes a bounded number;
 * where a bound is met first, it answers the place from which the next call goes on. So a call takes a second
 * or two whatever there is, and one that was cut off is simply made again.
 */
import { bulkChangedMax } from '@postrider/contract'

export interface BulkBounds {
  /** Recipients looked at in one call. */
  readonly walkedMax: number
  readonly matchedMax: number
  readonly pieceMax: number
}

export const BULK_BOUNDS: BulkBounds = {
  walkedMax: 50_000,
  matchedMax: bulkChangedMax,
  pieceMax: 1_000,
}
/** Of the disk, for each recipient that is changed. */
export const BULK_ROW_BYTES = 1_024

export interface WalkedPiece<Place, Found> {
  /** Everything that was looked at, in the order of the walk. */
  readonly walked: readonly Place[]
  /** What fits, in the same order. */
  readonly found: readonly Found[]
}

export interface Walk<Place, Found> {
  readonly bounds: BulkBounds
  /** It begins below this place. */
  readonly below: Place
  placeOf(found: Found): Place
  /** Reads a piece, and changes of what it found no more than `take` leaves. Answers how many changed. */
  step(o: {
    readonly below: Place
    readonly limit: number
    readonly take: (found: readonly Found[]) => readonly Found[]
  }): Promise<WalkedPiece<Place, Found> & { readonly changed: number }>
}

export interface Walked<Place> {
  readonly matched: number
  readonly changed: number
  /** Where a bound ended the walk. */
  readonly next?: Place
}

export async function walkInPieces<Place, Found>(o: Walk<Place, Found>): Promise<Walked<Place>> {
  const { bounds, placeOf, step } = o
  let { below } = o
  let looked = 0
  let matched = 0
  let changed = 0
  for (;;) {
    const limit = Math.min(bounds.pieceMax, bounds.walkedMax - looked)
    const left = bounds.matchedMax - matched
    const piece = await step({ below, limit, take: (found) => found.slice(0, left) })
    looked += piece.walked.length
    matched += Math.min(piece.found.length, left)
    changed += piece.changed
    const lastTaken = piece.found.length > left ? piece.found[left - 1] : undefined
    const last = lastTaken === undefined ? piece.walked.at(-1) : placeOf(lastTaken)
    if (last !== undefined) below = last
    if (lastTaken === undefined && piece.walked.length < limit) return { matched, changed }
    if (matched >= bounds.matchedMax || looked >= bounds.walkedMax)
      return { matched, changed, next: below }
  }
}

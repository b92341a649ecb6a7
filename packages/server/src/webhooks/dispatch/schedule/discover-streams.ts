/**
 * Finds what there is to do in buckets, a bounded number of streams in each. Where there were more,
 * the next look goes on behind the last one and comes round again, so that none is passed over for
 * ever, however many are always active.
 */
import type { Queryable } from '../../../platform/db/index.ts'
import {
  type BucketCursor,
  discoverActive,
  discoverOpen,
  type FoundStream,
} from './discover-store.ts'

export interface DueStream extends FoundStream {
  readonly waitMs: number
}

export type DiscoverStreams = (
  buckets: readonly number[],
  withinMs: number,
) => Promise<readonly DueStream[]>

const PER_BUCKET_MAX = 500

export function createDiscovery(db: Queryable, perBucketMax = PER_BUCKET_MAX): DiscoverStreams {
  const active = createCursors(perBucketMax)
  const open = createCursors(perBucketMax)
  return async (buckets, withinMs) => {
    if (buckets.length === 0) return []
    const found = await Promise.all([
      discoverActive(db, active.of(buckets), { withinMs, perBucketMax }),
      discoverOpen(db, open.of(buckets), { perBucketMax }),
    ])
    active.move(buckets, found[0])
    open.move(buckets, found[1])
    return found.flat().filter((stream): stream is DueStream => {
      return stream.waitMs !== null && stream.waitMs <= withinMs
    })
  }
}

/** How far each bucket has been looked at. */
function createCursors(perBucketMax: number) {
  const cursors = new Map<number, string>()
  return {
    of: (buckets: readonly number[]): BucketCursor[] =>
      buckets.map((bucket) => ({ bucket, after: cursors.get(bucket) ?? '' })),
    move(buckets: readonly number[], found: readonly FoundStream[]): void {
      for (const bucket of buckets) {
        const here = found.filter((stream) => stream.bucket === bucket)
        const last = here.at(-1)
        if (last === undefined || here.length < perBucketMax) cursors.delete(bucket)
        else cursors.set(bucket, last.webhookId)
      }
    },
  }
}

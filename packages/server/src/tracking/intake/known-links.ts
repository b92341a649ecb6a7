/**
 * What hits are about, looked up in memory first: whose copy of an email, and where a link leads to.
 *
 * A recipient who opens clicks as well, and opens again; a link is in the mail of thousands. Of a copy
 * only what was delivered does not change any more.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Queryable } from '../../platform/db/index.ts'
import { findLink, findTrackedCopies, type TrackedCopy } from '../../sending/index.ts'
import type { Hit } from './hit.ts'

export type LinkOffset = Pick<Hit, 'tenantId' | 'refId' | 'link'>

export interface KnownCopies {
  /** In the order of the given. Undefined where there is no such recipient, or no longer. */
  copiesOf(q: Queryable, hits: readonly KeyedHit[]): Promise<readonly (TrackedCopy | undefined)[]>
  /** Where a link leads to, as far as it was followed lately. */
  knownUrl(place: LinkOffset): string | undefined
  /** The same, asked of the database where it is not known. */
  urlOf(q: Queryable, place: LinkOffset): Promise<string | undefined>
}

export interface KeyedHit {
  readonly hit: Hit
  /** Of its recipient. */
  readonly key: string
}

/** The address of a link that was followed lately is needed while the database is away. */
const URLS_MAX = 20_000
/** Each may have 10 KiB of custom_args. */
const COPIES_MAX = 5_000
/**
 * Then it is asked for again: its tenant may have been deleted, which ends only when this time is over
 * (tenants/deletion/deletion-worker.ts).
 */
const COPY_MS = 60_000

export function createKnownCopies(monotonicMs = () => performance.now()): KnownCopies {
  const urls = createBoundedMap<string, string>(URLS_MAX)
  const copies = createBoundedMap<string, { copy: TrackedCopy; untilMs: number }>(COPIES_MAX)
  return {
    async copiesOf(q, hits) {
      const untilMs = monotonicMs() + COPY_MS
      const found = hits.map(({ key }) => {
        const known = copies.get(key)
        return known !== undefined && known.untilMs > monotonicMs() ? known.copy : undefined
      })
      const missing = new Map<string, Hit>()
      for (const [i, { key, hit }] of hits.entries())
        if (found[i] === undefined) missing.set(key, hit)
      if (missing.size === 0) return found
      const read = await findTrackedCopies(q, [...missing.values()])
      const news = new Map([...missing.keys()].map((key, i) => [key, read[i]]))
      for (const [key, copy] of news)
        if (copy !== undefined && copy.deliveredAt !== null) copies.set(key, { copy, untilMs })
      return hits.map(({ key }, i) => found[i] ?? news.get(key))
    },
    knownUrl: (place) => urls.get(urlKey(place)),
    async urlOf(q, place) {
      const key = urlKey(place)
      const url = urls.get(key) ?? (await findLink(q, place, place.link))
      // Also when it was known: what is used stays.
      if (url !== undefined) urls.set(key, url)
      return url
    },
  }
}

function urlKey({ tenantId, refId, link }: LinkOffset): string {
  return `${tenantId} ${refId} ${link}`
}

/** The canonical log line of a hit, and its outcome in metrics. Never an address. */
import type { Logger } from '../../platform/log.ts'
import type { Hit } from '../intake/hit.ts'
import { type TokenKind, tokenKinds } from '../tokens.ts'

/** What came of requests: `forged` had no token of ours, `unavailable` was refused, `refused` set aside. */
export const hitResults = [
  'recorded',
  'repeated',
  'spooled',
  'bounded',
  'gone',
  'forged',
  'unavailable',
  'refused',
] as const
export type HitResult = (typeof hitResults)[number]

/** Of what went well, the commit that many share has a line. */
const QUIET: ReadonlySet<HitResult> = new Set(['recorded', 'repeated', 'spooled', 'bounded'])

export interface HitObserver {
  /** One hit that was taken in, or not. */
  hit(hit: Hit, result: HitResult, startedAt: number): void
  result(kind: TokenKind, result: HitResult): void
  /** Those that were recorded together. */
  group(group: RecordedGroup): void
}

export interface RecordedGroup {
  readonly hits: number
  readonly opens: number
  readonly clicks: number
  readonly unsubscribed: number
  /** Of opens and clicks. */
  readonly bots: number
  readonly startedAt: number
}

export function createHitObserver(o: {
  readonly log: Logger
  /** A counter of both; made with zeros. */
  readonly count: (kind: TokenKind, result: HitResult, by: 0 | 1) => void
  readonly countGroup: (hits: number) => void
}): HitObserver {
  const { log, count } = o
  for (const kind of tokenKinds) for (const result of hitResults) count(kind, result, 0)
  return {
    hit(hit, result, startedAt) {
      const { tenantId, refId, n, kind, link } = hit
      count(kind, result, 1)
      const level = QUIET.has(result) ? 'debug' : 'info'
      if (!log.isLevelEnabled(level)) return
      log[level](
        {
          tenant_id: tenantId,
          ref_id: refId,
          n,
          kind,
          link: kind === 'click' ? link : undefined,
          hit_id: hit.hitId,
          result,
          duration_ms: millisSince(startedAt),
        },
        'hit.finished',
      )
    },
    result: (kind, result) => count(kind, result, 1),
    group({ startedAt, ...group }) {
      o.countGroup(group.hits)
      log.info({ ...group, duration_ms: millisSince(startedAt) }, 'hits.recorded')
    },
  }
}

function millisSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000
}

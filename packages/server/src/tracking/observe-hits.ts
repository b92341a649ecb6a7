/** The canonical log line of a hit, and its outcome in metrics. Never an address. */
import type { Logger } from '../platform/log.ts'
import type { Hit } from './hit.ts'
import type { TakenIn } from './hit-intake.ts'
import { type TokenKind, tokenKinds } from './tokens.ts'

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

const QUIET: ReadonlySet<HitResult> = new Set(['recorded', 'repeated', 'bounded'])

export interface HitObserver {
  /** Watches one hit until it is taken in. */
  hit(hit: Hit, work: () => Promise<TakenIn>): Promise<TakenIn>
  result(kind: TokenKind, result: HitResult): void
}

export function createHitObserver(o: {
  readonly log: Logger
  /** A counter of both; made with zeros. */
  readonly count: (kind: TokenKind, result: HitResult, by: 0 | 1) => void
}): HitObserver {
  for (const kind of tokenKinds) for (const result of hitResults) o.count(kind, result, 0)
  const finish = (hit: Hit, result: HitResult, startedAt: number) => {
    const { tenantId, refId, n, kind, link } = hit
    o.count(kind, result, 1)
    // Of what went well, request.finished has a line already.
    const level = QUIET.has(result) ? 'debug' : 'info'
    if (!o.log.isLevelEnabled(level)) return
    o.log[level](
      {
        tenant_id: tenantId,
        ref_id: refId,
        n,
        kind,
        link: kind === 'click' ? link : undefined,
        hit_id: hit.hitId,
        result,
        duration_ms: Math.round((performance.now() - startedAt) * 1000) / 1000,
      },
      'hit.finished',
    )
  }
  return {
    async hit(hit, work) {
      const startedAt = performance.now()
      try {
        const taken = await work()
        finish(hit, taken.kind, startedAt)
        return taken
      } catch (error) {
        finish(hit, 'unavailable', startedAt)
        throw error
      }
    },
    result: (kind, result) => o.count(kind, result, 1),
  }
}

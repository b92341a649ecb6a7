/**
 * Counts what a caller does against a limit, in this process: over it, 429 `rate_limited` with
 * `Retry-After` and the fields of draft-ietf-httpapi-ratelimit-headers (docs/reference/limits.md#rates).
 *
 * The window begins with a caller's first use. Several processes allow several times as much, which
 * is enough for what is limited here; a counter that all of them shared would be a write for each
 * use.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { rateLimited } from '../errors.ts'

export interface RateLimit {
  /** Counts one use, or so many; throws when that is too many, and counts none then. */
  use(caller: string, uses?: number): Promise<void>
  /** Counts one use from the start of the work on, and takes it back when the work succeeds. */
  useUnlessDone<T>(caller: string, work: () => Promise<T>): Promise<T>
}

export function createRateLimit(o: {
  /** Names the policy in the header fields: letters, digits and hyphens. */
  readonly name: string
  readonly usesMax: number
  readonly windowS: number
}): RateLimit {
  const limiter = new RateLimiterMemory({ points: o.usesMax, duration: o.windowS })
  /** Not below none: the window may have ended since the use. */
  async function giveBack(caller: string, uses: number): Promise<void> {
    const state = await limiter.get(caller)
    const given = Math.min(uses, state?.consumedPoints ?? 0)
    if (given > 0) await limiter.reward(caller, given)
  }

  const limit: RateLimit = {
    async use(caller, uses = 1) {
      try {
        await limiter.consume(caller, uses)
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        await giveBack(caller, uses)
        throw rateLimited({
          policy: o.name,
          quota: o.usesMax,
          windowS: o.windowS,
          left: o.usesMax - (refusal.consumedPoints - uses),
          retryAfterS: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
        })
      }
    },
    async useUnlessDone(caller, work) {
      await limit.use(caller)
      const result = await work()
      await giveBack(caller, 1)
      return result
    },
  }
  return limit
}

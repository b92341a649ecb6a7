/**
 * Counts what a caller does against a limit, in this process: over it, 429 `rate_limited` with
 * `Retry-After` and the fields of draft-ietf-httpapi-ratelimit-headers (contract §2).
 *
 * The window begins with a caller's first use. Several processes allow several times as much, which
 * is enough for what is limited here; a counter that all of them shared would be a write for each
 * use.
 */
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { ApiError } from './errors.ts'

export interface RateLimit {
  /** Counts one use; throws when it is one too many. */
  use(caller: string): Promise<void>
}

export function createRateLimit(o: {
  /** Names the policy in the header fields: letters, digits and hyphens. */
  readonly name: string
  readonly usesMax: number
  readonly windowS: number
}): RateLimit {
  const limiter = new RateLimiterMemory({ points: o.usesMax, duration: o.windowS })
  return {
    async use(caller) {
      try {
        await limiter.consume(caller)
      } catch (refusal) {
        if (!(refusal instanceof RateLimiterRes)) throw refusal
        const waitS = Math.max(1, Math.ceil(refusal.msBeforeNext / 1000))
        throw new ApiError('rate_limited', {
          retryAfterS: waitS,
          headers: {
            'ratelimit-policy': `"${o.name}";q=${o.usesMax};w=${o.windowS}`,
            ratelimit: `"${o.name}";r=0;t=${waitS}`,
          },
        })
      }
    },
  }
}

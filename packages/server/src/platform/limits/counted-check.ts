/**
 * Checks that reach out to a host that a tenant names: a bounded number at once, and of those that
 * fail in a while, so that nobody scans a network by them.
 */
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { RateLimit } from './rate-limit.ts'

export interface CheckBounds {
  /** Of checks that fail, per tenant. */
  readonly limit: RateLimit
  /** Of checks at once. */
  readonly limiter: ConcurrencyLimiter
}

export function countedCheck<T>(
  { checks }: { readonly checks: CheckBounds },
  tenantId: string,
  check: () => Promise<T>,
): Promise<T> {
  return checks.limiter.run(tenantId, () => checks.limit.useUnlessDone(tenantId, check))
}

/**
 * The memory of large requests under way. There are places for hundreds of requests, and an INCOMING_EMAIL
 * has megabytes: receivers that hang would hold more than a process has, and end it for everyone.
 *
 * A tenant has a quarter of the budget, or one request. A stream without memory comes again, and is not read before
 * there is some: nothing is kept in memory for it meanwhile.
 */

import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import type { StreamKey } from '../stream-store.ts'

export interface BodyBudget {
  /** Undefined: it does not fit now. Else a function that gives it back. */
  take(key: StreamKey, octets: number): (() => void) | undefined
  /** It did not fit, and would not fit now. */
  isCrowdedOut(key: StreamKey): boolean
}

/** Smaller ones are not counted: they always fit. */
const LARGE_OCTETS = 256 * 1024
const OCTETS_MAX = 128 * 1024 * 1024
const TENANT_SHARE = 1 / 4
const WAITING_MAX = 10_000

export function createBodyBudget(octetsMax = OCTETS_MAX): BodyBudget {
  const limiter = createByteLimiter({
    bytesMax: octetsMax,
    bytesOfCallerMax: octetsMax * TENANT_SHARE,
    letsLargeInAlone: true,
  })
  const waiting = createBoundedMap<string, number>(WAITING_MAX)

  return {
    take({ tenantId, webhookId }, octets) {
      if (octets < LARGE_OCTETS) return () => undefined
      if (!limiter.take(tenantId, octets)) {
        waiting.set(webhookId, octets)
        return undefined
      }
      waiting.delete(webhookId)
      return () => limiter.giveBack(tenantId, octets)
    },
    isCrowdedOut({ tenantId, webhookId }) {
      const octets = waiting.get(webhookId)
      return octets !== undefined && !limiter.hasRoom(tenantId, octets)
    },
  }
}
